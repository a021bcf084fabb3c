// What a person expects of any result: the same name in the other tools, once more, a link to pass on, values to paste
// elsewhere; and a picture that keyboard and screen reader can go through.
import { emptyInventory, scanned } from "../support/lab.ts";
import { expect, expectAccessible, hydrated, pictures, test } from "../support/test.ts";

test("the delegation's servers are reached by keyboard and lead to their row", async ({ page, request }) => {
  await emptyInventory(request);
  expect((await request.post("/api/v1/domains", { data: { names: ["alder.example"] } })).status()).toBe(200);
  await scanned(request, ["alder.example"]);
  await page.goto("/domains/alder.example/dns");
  await hydrated(page);
  await expect(page.getByText(/^4 nameservers: 2 well, 1 slow, 1 lame$/)).toBeVisible();
  const picture = page.getByRole("group", { name: /^Delegation of alder\.example: root to example\. to alder\.example\.$/ });
  const servers = picture.getByRole("link");
  await expect(servers).toHaveCount(4);
  await expect(picture.getByRole("link", { name: /old-ns\.alder\.example: .* lame, refused.*only the parent lists it/ })).toBeVisible();
  const slow = picture.getByRole("link", { name: /ns3\.meridian-dns\.example: .* slow, \d+ ms/ });
  await slow.focus();
  await page.keyboard.press("Tab");
  await expect(picture.getByRole("link", { name: /old-ns/ })).toBeFocused();
  const row = page.getByRole("region", { name: "Nameservers, table" }).getByRole("row", { name: /old-ns\.alder\.example/ });
  await expect(row).toBeHidden();
  await page.keyboard.press("Enter");
  await expect(row).toBeVisible();
  await expect(page).toHaveURL(/#nameserver-\d$/);
  await expectAccessible(page);
  await pictures(page, "delegation");
  // The tall drawing has the same links.
  await page.setViewportSize({ width: 390, height: 844 });
  await expect(servers).toHaveCount(4);
  await expect(picture.getByRole("link", { name: /old-ns/ })).toBeVisible();
});

test("the outcome of a scan, once closed, stays closed", async ({ page, request }) => {
  await emptyInventory(request);
  expect((await request.post("/api/v1/domains", { data: { names: ["q7.io"] } })).status()).toBe(200);
  await scanned(request, ["q7.io"]);
  await page.goto("/domains/q7.io");
  await hydrated(page);
  const outcome = page.locator("#scan-result").getByText("Nothing changed");
  const rescan = async () => {
    await page.locator("header.card").getByRole("button", { name: "Rescan" }).click();
    await expect(outcome).toBeVisible({ timeout: 30_000 });
  };
  await rescan();
  // As the server renders it, too.
  await page.reload();
  await hydrated(page);
  await expect(outcome).toBeVisible();
  await page.getByRole("button", { name: "Dismiss" }).click();
  await expect(outcome).toHaveCount(0);
  await page.getByRole("tab", { name: /DNS/ }).click();
  await expect(page.getByRole("heading", { name: "Delegation" })).toBeVisible();
  await expect(outcome).toHaveCount(0);
  await rescan();
});

test("a scan that ends before the page hears of anything keeps no one waiting", async ({ page, request }) => {
  await emptyInventory(request);
  expect((await request.post("/api/v1/domains", { data: { names: ["alder.example"] } })).status()).toBe(200);
  await scanned(request, ["alder.example"]);
  // The stream comes only when all is over.
  let over = () => {};
  const end = new Promise<void>((resolve) => (over = resolve));
  await page.route("**/live*", async (route) => {
    await end;
    await route.continue();
  });
  const rescan = page.locator("header.card").getByRole("button", { name: "Rescan" });
  // One of its servers takes its time: the page is there before the scan has ended.
  await request.post("/api/v1/domains/alder.example/rescan");
  await page.goto("/domains/alder.example");
  await hydrated(page);
  await expect(rescan).toBeDisabled();
  await expect
    .poll(async () => (await (await request.get("/domains/alder.example")).text()).includes('aria-label="Dismiss"'), { timeout: 30_000 })
    .toBe(true);
  await expect(rescan).toBeDisabled();
  over();
  await expect(rescan).toBeEnabled();
  await expect(page.locator("#scan-result").getByText("Nothing changed")).toBeVisible();
});

test("an alias leads on, and a result leads to the other tools and back", async ({ page }) => {
  await page.goto("/tools/trace?name=www.alder.example&type=A");
  await hydrated(page);
  await page.getByRole("link", { name: "Trace alder-prod.edge.harborcdn.example" }).click();
  await expect(page).toHaveURL(/name=alder-prod\.edge\.harborcdn\.example&type=A/);
  await expect(page.getByText("alder-prod.edge.harborcdn.example A is answered")).toBeVisible();
  await page.goBack();
  await expect(page.getByText("www.alder.example A is answered")).toBeVisible();
  const tools = page.getByRole("navigation", { name: "Other tools for this name" });
  await tools.getByRole("link", { name: "Check" }).click();
  await expect(page).toHaveURL(/\/tools\/check\?zone=alder\.example$/);
  await expect(page.getByRole("region", { name: "Check of alder.example" })).toBeVisible({ timeout: 30_000 });
  await tools.getByRole("link", { name: "Scan" }).click();
  await expect(page.getByRole("heading", { name: "How long a missing name stays missing" })).toBeVisible();
  await expect(page.getByText("negative-cache TTL")).toBeVisible();
  await expect(page.getByText("EXTRA_NAME_PARENT")).toBeVisible();
  await expectAccessible(page);
  await pictures(page, "scan");
  const asked = page.waitForRequest(/\/api\/fn\/look_up/);
  await page.getByRole("link", { name: "Run again" }).click();
  await asked;
  await expect(page.getByRole("region", { name: "Scan of alder.example" })).toBeVisible({ timeout: 30_000 });
});

test("one server behind many findings is named, and what to type can be copied", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto("/tools/check?zone=alder.example");
  await hydrated(page);
  const found = page.getByRole("region", { name: "Check of alder.example" });
  await expect(found.getByText(/are about one server, old-ns\.alder\.example: mend it/)).toBeVisible();
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  await found.getByRole("button", { name: "Copy the command" }).first().click();
  await expect.poll(clipboard).toMatch(/^dig @127\.[\d.]+ alder\.example [A-Z]+ \+norecurse/);
  await expect(page.getByText("The command copied")).toBeVisible();
  await found.getByRole("button", { name: "Copy as text" }).click();
  await expect.poll(clipboard).toMatch(/^alder\.example: \S/);
  const report = await clipboard();
  expect(report).toMatch(/\n\d errors?, \d+ warnings\. /);
  expect(report).toContain("WARNING IS_NOT_AUTHORITATIVE (Delegation04)");
  expect(report).not.toContain("INFO");
  await found.getByRole("button", { name: "Copy link" }).click();
  await expect.poll(clipboard).toBe(page.url());
  await expect(found.getByRole("link", { name: "Delegation04" }).first()).toHaveAttribute("href", /zonemaster.*delegation04\.md$/);
});

const refusals = {
  "has no clipboard interface, as on a page without TLS": () => Object.defineProperty(Navigator.prototype, "clipboard", { get: () => undefined }),
  "refuses to write to the clipboard": () => (Clipboard.prototype.writeText = () => Promise.reject(new DOMException("no", "NotAllowedError"))),
};
for (const [what, refuse] of Object.entries(refusals)) {
  test(`copying works where the browser ${what}`, async ({ page }) => {
    await page.addInitScript(refuse);
    await page.addInitScript(() => {
      document.addEventListener("copy", () => ((window as any).copied = String(document.getSelection() || (document.activeElement as any)?.value)));
    });
    await page.goto("/tools/scan?name=q7.io");
    await hydrated(page);
    const button = page.getByRole("button", { name: "Copy q7.io" });
    await button.click();
    await expect(page.getByText("q7.io copied")).toBeVisible();
    expect(await page.evaluate(() => (window as any).copied)).toBe("q7.io");
    await expect(button).toBeFocused();
  });
}

test("answers that stop coming are said, and asked for again", async ({ page, complaints }) => {
  await page.route("**/live/compare**", (route) => route.abort());
  await page.goto("/tools/compare?name=orchard.example&type=A");
  await hydrated(page);
  const lost = page.getByText("The answers stopped coming");
  await expect(lost).toBeVisible();
  // What the authoritative servers said is kept.
  await expect(page.getByText(/All 3 authoritative servers say/)).toBeVisible();
  await page.unroute("**/live/compare**");
  await page.locator(".banner").getByRole("button", { name: "Query again" }).click();
  await expect(page.getByText("14 of 14 answered")).toBeVisible({ timeout: 30_000 });
  await expect(lost).toHaveCount(0);
  // The browser itself reports the stream that was cut.
  complaints.length = 0;
});

test.describe("without script", () => {
  test.use({ javaScriptEnabled: false });

  test("nothing is offered that needs one, and a result can be had once more", async ({ page }) => {
    await page.goto("/tools/scan?name=alder.example");
    await expect(page.getByRole("button", { name: /^Copy/ })).toHaveCount(0);
    await page.getByRole("link", { name: "Run again" }).click();
    await expect(page).toHaveURL(/\/tools\/scan\?name=alder\.example$/);
    await expect(page.getByText("negative-cache TTL")).toBeVisible();
    // The picture's links open the row also here.
    await page.getByRole("link", { name: /old-ns\.alder\.example: / }).first().click();
    await expect(page).toHaveURL(/#nameserver-\d$/);
  });
});
