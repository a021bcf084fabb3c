// Objects of the resource API as YAML pages: reached from a domain and from the networks, copied, edited, refused with
// the field and the rule, changed by someone else meanwhile, and read by those who may not change them.
import { execFileSync } from "node:child_process";
import type { Locator, Page } from "@playwright/test";
import { start, type Server } from "../support/server.ts";
import { expect, expectAccessible, hydrated, pictures, test } from "../support/test.ts";

const api = "/apis/datumapis.com/v1alpha/namespaces/default";
const domain = "q7.io";
const claim = "ledger-pool";

let own: Server;
test.beforeAll(async () => {
  own = await start("objects");
  const body = JSON.stringify({
    apiVersion: "datumapis.com/v1alpha",
    kind: "NetworkClaim",
    metadata: { name: claim },
    spec: {
      addressSpace: [
        { prefix: "10.77.4.0/24", reference: { group: "apps", resource: claim }, description: "One address per shard" },
      ],
    },
  });
  const made = await fetch(`${own.url}${api}/networkclaims`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  expect(made.status, await made.text()).toBe(201);
});
test.afterAll(async () => own?.stop());
test.describe.configure({ mode: "serial" });

const text = (page: Page): Locator => page.locator("#yaml");

/** The object as the API has it. */
async function live(page: Page, path: string) {
  return (await page.request.get(`${own.url}${api}/${path}`)).json();
}

/** Puts labels into an object, as another client would. */
async function label(page: Page, path: string, labels: Record<string, string>): Promise<void> {
  const changed = await page.request.patch(`${own.url}${api}/${path}`, {
    headers: { "content-type": "application/merge-patch+json" },
    data: JSON.stringify({ metadata: { labels } }),
  });
  expect(changed.status(), await changed.text()).toBe(200);
}

/** Changes the text in the page's area. */
async function edit(page: Page, change: (yaml: string) => string): Promise<string> {
  const before = await text(page).inputValue();
  const after = change(before);
  expect(after, "the edit changes something").not.toBe(before);
  await text(page).fill(after);
  return after;
}

async function save(page: Page, name = "Save"): Promise<void> {
  const answered = page.waitForResponse((response) => response.request().method() === "POST");
  await page.getByRole("button", { name, exact: true }).click();
  await answered;
}

const labelled = (team: string) => (yaml: string) => yaml.replace("metadata:\n", `metadata:\n  labels:\n    team: ${team}\n`);

/** No rule is broken in light and dark, wide and on a phone; pictures of each. */
async function looked(page: Page, name: string): Promise<void> {
  await expectAccessible(page);
  await page.setViewportSize({ width: 390, height: 844 });
  await expectAccessible(page);
  await page.setViewportSize({ width: 1440, height: 900 });
  await pictures(page, name);
}

test("a domain is opened from its menu, copied and edited", async ({ page, context }) => {
  test.setTimeout(180_000);
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: own.url });
  // Every scan gives it another version; the edit below is about one that stays.
  await expect
    .poll(async () => (await (await page.request.get(`${own.url}/api/v1/domains/${domain}`)).json()).row.last_scan_at, {
      timeout: 60_000,
    })
    .not.toBeNull();
  await page.goto(`${own.url}/domains/${domain}`);
  await hydrated(page);
  // A tab among the others, by mouse and by the arrow keys.
  await page.getByRole("tab", { name: "Configuration" }).focus();
  await page.keyboard.press("ArrowRight");
  await expect(page.getByRole("tab", { name: "YAML" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(`${own.url}/objects/domains/${domain}`);
  await expect(page.getByRole("heading", { level: 1, name: domain })).toBeVisible();
  const views = page.getByRole("navigation", { name: "Views" });
  await expect(views.locator('[aria-current="page"]')).toHaveText("YAML");
  const { metadata } = await live(page, `domains/${domain}`);
  await expect(text(page)).toHaveValue(/kind: Domain\n/);
  await expect(text(page)).toHaveValue(new RegExp(`resourceVersion: ["']?${metadata.resourceVersion}["']?\n`));
  await expect(text(page)).toHaveValue(/type: Observed/);
  await looked(page, "object-domain");

  await page.getByRole("button", { name: "Copy" }).click();
  await expect(page.getByRole("button", { name: "Copied" })).toBeVisible();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(await text(page).inputValue());

  await edit(page, labelled("edge"));
  await save(page);
  await expect(page.getByRole("status").filter({ hasText: "Saved" })).toBeVisible();
  await expect(text(page)).toHaveValue(/team: edge/);
  expect((await live(page, `domains/${domain}`)).metadata.labels).toEqual({ team: "edge" });
  await expectAccessible(page);
  await views.getByRole("link", { name: "History" }).click();
  await expect(page).toHaveURL(`${own.url}/domains/${domain}/history`);
});

test("a claim is opened from the networks and edited; what breaks a rule is refused and kept", async ({ page, complaints }) => {
  test.setTimeout(180_000);
  await page.goto(`${own.url}/networks?block=10.77.0.0/16`);
  await hydrated(page);
  await page.getByRole("link", { name: `${claim} as YAML` }).click();
  await expect(page).toHaveURL(`${own.url}/objects/networkclaims/${claim}`);
  await expect(text(page)).toHaveValue(/status: allocated/);
  await looked(page, "object-claim");
  await edit(page, (yaml) => yaml.replaceAll("One address per shard", "Two addresses per shard"));
  await save(page);
  await expect(page.getByRole("status").filter({ hasText: "Saved" })).toBeVisible();
  expect((await live(page, `networkclaims/${claim}`)).spec.addressSpace[0].description).toBe("Two addresses per shard");

  const good = await text(page).inputValue();
  const saved = (await live(page, `networkclaims/${claim}`)).metadata.resourceVersion;
  const prefix = (other: string) => (yaml: string) => yaml.replace("10.77.4.0/24", other);
  const wrong: [string, (yaml: string) => string, (string | RegExp)[]][] = [
    ["unknown", (yaml) => yaml.replace("spec:\n", "spec:\n  colour: red\n"), ["unknown field", "spec.colour"]],
    ["host-bits", prefix("10.77.4.1/24"), ["spec.addressSpace[0].prefix", "host bits"]],
    ["type", (yaml) => yaml.replace(/spec:\n(.|\n)*?status:/, "spec: 7\nstatus:"), ["spec", /object/]],
    ["yaml", (yaml) => `${yaml}\n  - [`, ["not YAML"]],
  ];
  for (const [name, change, words] of wrong) {
    await text(page).fill(good);
    const sent = await edit(page, change);
    await save(page);
    const alert = page.getByRole("alert");
    await expect(alert).toContainText("Not saved");
    for (const word of words) await expect(alert).toContainText(word);
    await expect(text(page), "what was sent stays").toHaveValue(sent);
    await expect(page).toHaveTitle(/^Not saved/);
    expect((await live(page, `networkclaims/${claim}`)).metadata.resourceVersion).toBe(saved);
    if (name === "host-bits") await looked(page, "object-refused");
  }
  // The refusal is a status of the response, which the browser's console repeats.
  expect(complaints.every((words) => /status of 4\d\d/.test(words)), complaints.join("\n")).toBe(true);
  complaints.length = 0;
  // The text can be corrected where it stands.
  await text(page).fill(good);
  await edit(page, labelled("shop"));
  await save(page);
  await expect(page.getByRole("status").filter({ hasText: "Saved" })).toBeVisible();
  await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Networks" }).click();
  await expect(page).toHaveURL(`${own.url}/networks?q=${claim}`);
  await expect(page.getByRole("heading", { name: `Claims that match “${claim}”` })).toBeVisible();
});

test("a change by someone else is shown beside the text, which is saved over it or discarded", async ({ page, complaints }) => {
  test.setTimeout(180_000);
  const path = `networkclaims/${claim}`;
  const open = async () => page.goto(`${own.url}/objects/${path}`);
  await open();
  const sent = await edit(page, (yaml) => yaml.replace("team: shop", "team: mine"));
  await label(page, path, { team: "theirs" });
  await save(page);
  await expect(page.getByRole("alert")).toContainText("The object was changed after you opened it.");
  await expect(text(page)).toHaveValue(sent);
  await expect(page.getByLabel("The object as it is now")).toHaveValue(/team: theirs/);
  await looked(page, "object-conflict");
  expect((await live(page, path)).metadata.labels.team).toBe("theirs");

  // Changed once more: only what was shown may be overwritten.
  await label(page, path, { team: "later" });
  await save(page, "Save over the newer version");
  await expect(page.getByLabel("The object as it is now")).toHaveValue(/team: later/);
  await expect(text(page)).toHaveValue(sent);
  await save(page, "Save over the newer version");
  await expect(page.getByRole("status").filter({ hasText: "Saved" })).toBeVisible();
  await expect(text(page)).toHaveValue(/team: mine/);
  expect((await live(page, path)).metadata.labels.team).toBe("mine");

  await open();
  await edit(page, (yaml) => yaml.replace("team: mine", "team: lost"));
  await label(page, path, { team: "theirs" });
  await save(page);
  await page.getByRole("link", { name: "Discard my text" }).click();
  await expect(text(page)).toHaveValue(/team: theirs/);
  await expect(page.getByRole("alert")).toHaveCount(0);
  complaints.length = 0;
});

test("an object that was deleted meanwhile leaves the text", async ({ page, complaints }) => {
  const path = "networkclaims/short-lived";
  const made = await page.request.post(`${own.url}${api}/networkclaims`, {
    data: {
      apiVersion: "datumapis.com/v1alpha",
      kind: "NetworkClaim",
      metadata: { name: "short-lived" },
      spec: { addressSpace: [{ prefix: "10.77.9.0/24", reference: { resource: "x" } }] },
    },
  });
  expect(made.status()).toBe(201);
  await page.goto(`${own.url}/objects/${path}`);
  const sent = await edit(page, labelled("shop"));
  expect((await page.request.delete(`${own.url}${api}/${path}`)).status()).toBe(200);
  await save(page);
  await expect(page.getByRole("alert")).toContainText("short-lived was deleted after you opened it");
  await expect(text(page)).toHaveValue(sent);
  await expectAccessible(page);
  complaints.length = 0;
});

test("a viewer reads and copies, and cannot change", async ({ browser }) => {
  const binary = process.env.DOMAINSCOPE_BIN ?? "../target/debug/domainscope";
  const token = execFileSync(binary, ["admin", "--data", own.data, "token", "reader", "--scope", "read"], { encoding: "utf8" });
  const headers = { authorization: `Bearer ${token.trim().split("\n").at(-1)}` };
  const context = await browser.newContext({ extraHTTPHeaders: headers });
  const page = await context.newPage();
  for (const path of [`domains/${domain}`, `networkclaims/${claim}`]) {
    await page.goto(`${own.url}/objects/${path}`);
    await expect(text(page)).toHaveAttribute("readonly");
    await expect(page.getByText("Your role can read this object but not change it.")).toBeVisible();
    await expect(page.getByRole("button", { name: "Save" })).toHaveCount(0);
    await expect(page.getByRole("button", { name: "Copy" })).toBeVisible();
    await expectAccessible(page);
    const refused = await page.request.post(`${own.url}/objects/${path}`, { form: { yaml: await text(page).inputValue() } });
    expect(refused.status()).toBe(403);
  }
  await pictures(page, "object-viewer");
  await context.close();
});

test.describe("without script", () => {
  test.use({ javaScriptEnabled: false });

  test("the text is edited and saved, and no Copy button is offered", async ({ page }) => {
    await page.goto(`${own.url}/objects/networkclaims/${claim}`);
    await expect(page.getByRole("button", { name: "Copy" })).toHaveCount(0);
    await edit(page, (yaml) => yaml.replace("team: theirs", "team: plain"));
    await save(page);
    await expect(page.getByRole("status").filter({ hasText: "Saved" })).toBeVisible();
    await expect(text(page)).toHaveValue(/team: plain/);
  });
});
