// Ownership of a domain, with the lab's name servers underneath: claim it, see what to publish at the provider, make the
// usual mistakes, prove it, and lose the proof again; by keyboard; and what two organisations see of one domain.
import type { Locator, Page } from "@playwright/test";
import { lab } from "../support/lab.ts";
import { start, type Server } from "../support/server.ts";
import { expect, expectAccessible, hydrated, pictures, test } from "../support/test.ts";

const domain = "q7.io";
const label = "_domainscope-challenge";

let own: Server;
test.beforeAll(async () => {
  own = await start("ownership");
});
test.afterAll(async () => own?.stop());
test.describe.configure({ mode: "serial" });

/** Opens the tab of a domain whose first scan has ended: the provider comes from it. */
async function ownership(page: Page, name: string): Promise<void> {
  await expect
    .poll(async () => (await (await page.request.get(`${own.url}/api/v1/domains/${name}`)).json()).row.last_scan_at, {
      timeout: 60_000,
    })
    .not.toBeNull();
  await page.goto(`${own.url}/domains/${name}/ownership`);
  await hydrated(page);
}

/** One row of the record to publish. */
const field = (page: Page, what: string) => page.locator(".rec > div").filter({ has: page.getByText(what, { exact: true }) });

async function value(page: Page): Promise<string> {
  const text = (await field(page, "Value").locator("dd").first().innerText()).trim();
  expect(text).toMatch(/^[a-z2-7]{32}$/);
  return text;
}

const state = (page: Page) => page.getByRole("status").filter({ has: page.getByRole("button", { name: /Check/ }) });

async function checkNow(page: Page): Promise<void> {
  const button = page.getByRole("button", { name: "Check now" });
  const asked = page.waitForResponse((response) => response.url().includes("/api/fn/check_claim"));
  await button.click();
  expect((await asked).status()).toBe(200);
  await expect(button).toBeEnabled({ timeout: 30_000 });
}

test("a claim shows what to publish, names mistakes, and is verified by every name server", async ({ page, context }) => {
  test.setTimeout(240_000);
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: own.url });
  await ownership(page, domain);
  await expect(page.getByRole("heading", { name: "Prove that q7.io is yours" })).toBeVisible();
  await expect(page.getByText("Covers the domain and the names below it")).toBeVisible();
  await expectAccessible(page);
  await pictures(page, "ownership-start");
  await page.getByRole("button", { name: "Start verification" }).click();

  // The provider's own words, and every value with a button to copy it.
  await expect(page.getByRole("heading", { name: "Record to create at Digital Ocean" })).toBeVisible();
  await expect(page.getByText(`At Digital Ocean, enter only “${label}” as the host name: .q7.io is added automatically.`)).toBeVisible();
  await expect(field(page, "Type")).toContainText("TXT");
  await expect(field(page, "Host")).toContainText(`full name: ${label}.q7.io`);
  const nonce = await value(page);
  await page.getByRole("button", { name: "Copy value" }).click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(nonce);
  await page.getByRole("button", { name: "Copy host" }).click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(label);
  await expect(state(page)).toContainText("Pending");

  // The next check is counted down, second by second.
  const next = page.getByText(/^Next check/).locator("time");
  await expect(next).toHaveText(/^in \d+ s$|^now$/);
  const first = await next.innerText();
  await expect(next).not.toHaveText(first);

  await checkNow(page);
  await expect(state(page)).toContainText(`Nothing is published at ${label}.q7.io yet.`);
  await expect(page.getByText(/Resolvers that queried it earlier may have cached its absence for up to/)).toBeVisible();
  await expectAccessible(page);
  await pictures(page, "ownership-pending");

  // The provider appended the domain once more.
  await lab(own, `txt ${label}.q7.io.q7.io ${nonce}`);
  await checkNow(page);
  await expect(state(page)).toContainText(`The record is at ${label}.q7.io.q7.io: Digital Ocean appended the domain`);
  await expect(state(page)).toContainText(`enter only “${label}” as the host name`);
  await pictures(page, "ownership-near-miss");
  await lab(own, `untxt ${label}.q7.io.q7.io`);

  // A value that was not copied whole, and one with quotation marks in it.
  await lab(own, `txt ${label}.q7.io ${nonce.slice(0, 20)}`);
  await checkNow(page);
  await expect(state(page)).toContainText("The value is incomplete, 12 characters missing");
  await expect(state(page).locator("dl")).toContainText(`Expected`);
  await expect(state(page).locator("dl")).toContainText(nonce);
  await expectAccessible(page);
  await lab(own, `untxt ${label}.q7.io`);
  await lab(own, `txt ${label}.q7.io "\\"${nonce}\\""`);
  await checkNow(page);
  await expect(state(page)).toContainText("The value holds quotation marks");
  await lab(own, `untxt ${label}.q7.io`);

  // Another method, with the same value.
  await page.getByRole("group", { name: "Method" }).getByRole("button", { name: "TXT at the domain" }).click();
  await expect(field(page, "Value")).toContainText(`domainscope-verification=${nonce}`);
  await expect(field(page, "Host").locator("dd").first()).toContainText("@");
  await page.getByRole("group", { name: "Method" }).getByRole("button", { name: "TXT", exact: true }).click();
  await expect(field(page, "Value").locator("dd").first()).toHaveText(nonce);

  await lab(own, `txt ${label}.q7.io ${nonce}`);
  await checkNow(page);
  await expect(state(page)).toContainText("Verified");
  const servers = page.getByRole("region", { name: "What each name server returns" });
  for (const name of ["ns1.digitalocean.com", "ns2.digitalocean.com", "ns3.digitalocean.com"]) {
    const rows = servers.getByRole("row").filter({ hasText: name });
    expect(await rows.count(), name).toBeGreaterThan(0);
    for (const row of await rows.all()) {
      await expect(row).toContainText("Holds the value");
      await expect(row).toContainText(`TXT ${nonce}`);
      await expect(row).toContainText(/\d{4,}/);
    }
  }
  await expect(page.getByText("All name servers that answered return the expected value.")).toBeVisible();
  await expectAccessible(page);
  await pictures(page, "ownership-verified");
  await page.goto(`${own.url}/domains?q=q7.io`);
  await expect(page.getByRole("row", { name: /q7\.io/ })).toContainText("Verified");
});

test("a proof that disappears begins the grace period, and what comes back ends it", async ({ page }) => {
  test.setTimeout(120_000);
  await ownership(page, domain);
  const nonce = await value(page);
  await lab(own, `untxt ${label}.q7.io`);
  // One denial is not enough; the schedule makes the second, and the page follows by itself.
  await checkNow(page);
  await expect(page.getByText("The expected value is not published.")).toBeVisible();
  await expect(state(page)).toContainText("Lapsing", { timeout: 60_000 });
  await expect(state(page)).toContainText(/The record is no longer published\. Publish it again before .*, or the claim lapses/);
  const servers = page.getByRole("region", { name: "What each name server returns" });
  await expect(servers.getByRole("row").filter({ hasText: "ns1.digitalocean.com" }).first()).toContainText("Value missing");
  await expectAccessible(page);
  await pictures(page, "ownership-grace");

  await lab(own, `txt ${label}.q7.io ${nonce}`);
  await checkNow(page);
  await expect(state(page)).toContainText("Verified");
  await page.goto(`${own.url}/domains/${domain}/events`);
  await expect(page.locator("main")).toContainText("lapses soon: the record is gone");
  await expect(page.locator("main")).toContainText("is verified again: the record is back");

  await page.goto(`${own.url}/domains/${domain}/ownership`);
  await hydrated(page);
  await page.getByText("Withdraw…").click();
  await page.getByRole("button", { name: "Withdraw the claim" }).click();
  await expect(page.getByRole("heading", { name: "Prove that q7.io is yours" })).toBeVisible();
});

/** Presses Tab until the element has the focus. */
async function tabTo(page: Page, to: Locator): Promise<void> {
  for (let n = 0; n < 80; n++) {
    if (await to.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not lead to ${to}`);
}

test("all of it works with the keyboard alone", async ({ page }) => {
  test.setTimeout(120_000);
  await ownership(page, "alder.example");
  await tabTo(page, page.getByRole("radio").first());
  await page.keyboard.press("ArrowDown");
  await expect(page.getByRole("radio", { name: /at the domain itself/ })).toBeChecked();
  await page.keyboard.press("ArrowUp");
  await tabTo(page, page.getByRole("button", { name: "Start verification" }));
  await page.keyboard.press("Enter");
  const nonce = await value(page);
  await lab(own, `txt ${label}.alder.example ${nonce}`);
  const check = page.getByRole("button", { name: "Check now" });
  await tabTo(page, check);
  await page.keyboard.press("Enter");
  await expect(state(page)).toContainText("Verified", { timeout: 30_000 });
  // The table scrolls by keyboard where it is wider than the window.
  await page.setViewportSize({ width: 390, height: 844 });
  await tabTo(page, page.getByRole("region", { name: "What each name server returns" }));
  await page.setViewportSize({ width: 1440, height: 900 });
  await tabTo(page, page.getByText("Withdraw…"));
  await page.keyboard.press("Enter");
  await tabTo(page, page.getByRole("button", { name: "Withdraw the claim" }));
  await page.keyboard.press("Enter");
  await expect(page.getByRole("button", { name: "Start verification" })).toBeVisible();
});

test("two organisations prove one domain, and neither learns who the other is", async ({ page }) => {
  test.setTimeout(120_000);
  await ownership(page, "copperline.example");
  await expect(state(page)).toContainText("Contested");
  await expect(state(page)).toContainText("Another organisation proved control of this domain.");
  await expect(page.locator("main")).not.toContainText("Quarry");
  await expectAccessible(page);
  await pictures(page, "ownership-contested");
  const nonce = await value(page);

  await page.getByLabel(/signed in as Mira Holt/).click();
  await page.getByRole("button", { name: "Switch to Quarry Hosting" }).click();
  await expect(page).toHaveURL(`${own.url}/domains`);
  await expect(page.getByRole("row", { name: /q7\.io/ })).toHaveCount(0);
  await ownership(page, "copperline.example");
  await expect(state(page)).toContainText("Waiting for the holder");
  await expect(page.locator("main")).not.toContainText("Alder");
  await pictures(page, "ownership-waiting");

  // The holder publishes the new value: the challenger is refused.
  await lab(own, `txt ${label}.copperline.example ${nonce}`);
  await page.getByLabel(/signed in as Mira Holt/).click();
  await page.getByRole("button", { name: "Switch to Alder Labs" }).click();
  await expect(page).toHaveURL(`${own.url}/domains`);
  await ownership(page, "copperline.example");
  await checkNow(page);
  await expect(state(page)).toContainText("Verified");
  await page.getByLabel(/signed in as Mira Holt/).click();
  await page.getByRole("button", { name: "Switch to Quarry Hosting" }).click();
  await expect(page).toHaveURL(`${own.url}/domains`);
  await ownership(page, "copperline.example");
  await expect(page.getByRole("tabpanel").getByText("Refused")).toBeVisible();
  await expect(page.getByText(/The present holder proved control again/)).toBeVisible();
});
