// The page Networks: a claim is previewed and made, a conflict is told in words, a block is zoomed into, many small parts
// are folded, and all of it works on a phone and without script.
import type { Locator, Page } from "@playwright/test";
import { start, type Server } from "../support/server.ts";
import { expect, expectAccessible, hydrated, pictures, test } from "../support/test.ts";

const api = "/apis/datumapis.com/v1alpha/namespaces/default/networkclaims";
const block = "10.88.0.0/16";

let own: Server;
test.beforeAll(async () => {
  own = await start("numbers");
});
test.afterAll(async () => own?.stop());
test.describe.configure({ mode: "serial" });

const shows = (prefix: string): string => `${own.url}/networks?block=${encodeURIComponent(prefix)}`;
const claims = (page: Page): Locator => page.getByRole("region", { name: "Claims, table" });
const picture = (page: Page, prefix: string): Locator =>
  page.getByRole("group", { name: `Free and used space in ${prefix}` });
const part = (page: Page, label: string): Locator => page.locator(`#picture-wide svg a[aria-label="${label}"]`);

/** Fills the form; what is left out is emptied. A block is written, whether or not the list has it. */
async function fill(page: Page, { from, ...values }: Record<string, string>): Promise<void> {
  // An opened one is no longer among them.
  const folded = page.locator("#claim details:not([open]) > summary");
  while ((await folded.count()) > 0) await folded.first().click();
  await page.locator("input#other").fill(from ?? "");
  if (values.length) await page.locator("select#length").selectOption(values.length);
  for (const id of ["name", "prefix", "prefix2", "group", "resource", "description"]) {
    await page.locator(`input#${id}`).fill(values[id] ?? "");
  }
}

/** Presses a button of the form and waits for the page that follows. */
async function press(page: Page, name: string): Promise<void> {
  const loaded = page.waitForEvent("load");
  await page.getByRole("button", { name, exact: true }).click();
  await loaded;
}

/** No rule is broken in light and dark, wide and on a phone; pictures of each. */
async function looked(page: Page, name: string): Promise<void> {
  await expectAccessible(page);
  await page.setViewportSize({ width: 390, height: 844 });
  await expectAccessible(page);
  await page.setViewportSize({ width: 1440, height: 900 });
  await pictures(page, name);
}

test("a claim is previewed in the picture, then made", async ({ page }) => {
  test.setTimeout(180_000);
  await page.goto(shows(block));
  await hydrated(page);
  await expect(page.getByLabel("From block", { exact: true })).toHaveValue(block);
  const wanted = { name: "shop-pool", from: block, length: "18", group: "apps", resource: "shop" };
  await fill(page, wanted);
  await press(page, "Preview");
  await expect(page.getByRole("status").filter({ hasText: "You would get" })).toContainText("10.88.0.0/18");
  await expect(part(page, "10.88.0.0/18, preview of your claim")).toHaveCount(1);
  // The values stay, and nothing was reserved.
  await expect(page.getByLabel("Name of the claim")).toHaveValue("shop-pool");
  expect((await page.request.get(`${own.url}${api}/shop-pool`)).status()).toBe(404);
  // The form is an object, too, and back.
  await press(page, "YAML");
  await expect(page.locator("textarea#yaml")).toHaveValue(/name: "shop-pool"/);
  await expect(page.getByRole("button", { name: "Copy the YAML" })).toBeVisible();
  await looked(page, "numbers-yaml");
  await page.locator("#claim").getByRole("link", { name: "Form" }).click();
  await expect(page.getByLabel("Name of the claim")).toHaveValue("shop-pool");
  await hydrated(page);
  // And the block is a grid: the preview is not allocated.
  await expect(page.getByRole("img", { name: /^A column is a \/20, a cell a \/24\./ })).toBeVisible();
  await looked(page, "numbers-preview");

  await page.locator("input#description").fill("Shops");
  await expect(page.getByText("5 of 255")).toBeVisible();
  await press(page, "Preview");
  await press(page, "Claim 10.88.0.0/18");
  await expect(page.getByText("Claim saved; its state is in the list")).toBeVisible();
  await page.goto(shows(block));
  const row = claims(page).getByRole("row").filter({ hasText: "shop-pool" });
  await expect(row).toContainText("10.88.0.0/18");
  await expect(row).toContainText("Allocated");
  await expect(part(page, "10.88.0.0/18, shop-pool")).toHaveCount(1);
  const { status } = await (await page.request.get(`${own.url}${api}/shop-pool`)).json();
  expect(status.addressSpace[0].status).toBe("allocated");
});

test("a conflict names who holds the addresses, before and after the claim", async ({ page }) => {
  test.setTimeout(180_000);
  await page.goto(shows(block));
  await hydrated(page);
  await fill(page, { name: "shop-edge", prefix: "10.88.1.0/24", resource: "edge" });
  await press(page, "Preview");
  const words = "Overlaps 10.88.0.0/18, held by shop-pool since";
  await expect(page.getByRole("status").filter({ hasText: words })).toBeVisible();
  await press(page, "Claim");
  await page.goto(shows(block));
  // Refused ones are first, in the list and, with the reason, in the picture.
  await expect(picture(page, block)).toContainText("overlaps 10.88.0.0/18, held by shop-pool");
  const first = claims(page).locator("tbody tr").first();
  await expect(first).toContainText("shop-edge");
  await expect(first).toContainText("Unavailable");
  await expect(first).toContainText(words);
  await looked(page, "numbers-conflict");

  // In two steps: the second says what goes.
  await page.getByLabel("Release shop-edge", { exact: true }).click();
  await press(page, "Release shop-edge, which holds no prefix");
  await expect(page.getByText("Claim released")).toBeVisible();
  expect((await page.request.get(`${own.url}${api}/shop-edge`)).status()).toBe(404);
});

test("a claim that is refused keeps what was typed, with the reason", async ({ page }) => {
  await page.goto(shows(block));
  await hydrated(page);
  await fill(page, { name: "shop-pool", from: block, length: "20", resource: "again", description: "Once more" });
  await press(page, "Claim");
  const refusal = page.getByRole("alert").filter({ hasText: "Not claimed" });
  await expect(refusal).toContainText("A claim named shop-pool exists already.");
  await expect(page.locator("input#description")).toHaveValue("Once more");
  await expect(page.getByLabel("Name of the claim")).toHaveValue("shop-pool");
  await looked(page, "numbers-refused");
});

test("a claim is made from an edited text", async ({ page, complaints }) => {
  await page.goto(`${own.url}/networks?view=yaml`);
  await hydrated(page);
  const text = "apiVersion: datumapis.com/v1alpha\nkind: NetworkClaim\nmetadata: {name: shop-text}\nspec:\n  addressSpace:\n";
  await page.locator("textarea#yaml").fill(`${text}  - {prefix: 10.88.1.0/24, reference: {resource: text}, colour: red}\n`);
  await press(page, "Claim");
  await expect(page.getByRole("alert")).toContainText("colour");
  // The browser reports the status of the refusal.
  expect(complaints.splice(0)).toEqual([expect.stringContaining("status of 400")]);
  await page.locator("textarea#yaml").fill(`${text}  - {prefix: 10.89.1.0/24, reference: {resource: text}}\n`);
  await press(page, "Preview");
  await expect(page.getByRole("status").filter({ hasText: "10.89.1.0/24 would be allocated." })).toBeVisible();
  await looked(page, "numbers-new-object");
  await press(page, "Claim");
  await expect(page).toHaveURL(/networks\?q=shop-text/);
  await expect(claims(page)).toContainText("10.89.1.0/24");
  expect((await page.request.delete(`${own.url}${api}/shop-text`)).status()).toBe(200);
});

test("a block is zoomed into and left again", async ({ page }) => {
  await page.goto(shows(block));
  await hydrated(page);
  await expect(picture(page, block)).toBeVisible();
  await part(page, "10.88.0.0/18, shop-pool").click();
  await expect(picture(page, "10.88.0.0/18")).toBeVisible();
  const zoom = page.getByRole("navigation", { name: "Zoom" });
  await expect(zoom.locator('[aria-current="true"]')).toHaveText("10.88.0.0/18");
  await zoom.getByRole("link", { name: block }).click();
  await expect(picture(page, block)).toBeVisible();
  await hydrated(page);
  // By the keyboard alone, in a picture that the browser made: the page has been changed without a load.
  await part(page, "10.88.64.0/18, free").focus();
  await expect(part(page, "10.88.64.0/18, free")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(picture(page, "10.88.64.0/18")).toBeVisible();
  await expect(picture(page, "10.88.64.0/18"), "the next key goes to the picture").toBeFocused();
  await page.keyboard.press("Backspace");
  await expect(picture(page, block)).toBeVisible();
  await expect(picture(page, block)).toBeFocused();
  // First the quarters of the block, then its parts.
  for (let i = 0; i < 5; i++) await page.keyboard.press("ArrowRight");
  await expect(part(page, "10.88.0.0/18, shop-pool")).toBeFocused();
  await page.keyboard.press("ArrowRight");
  await expect(part(page, "10.88.64.0/18, free")).toBeFocused();
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await expect(picture(page, "10.88.128.0/17")).toBeVisible();
  // The address is that of the block, and the browser's way back works.
  await expect(page).toHaveURL(shows("10.88.128.0/17"));
  await page.goBack();
  await expect(picture(page, block)).toBeVisible();
  await expectAccessible(page);
});

test("claims are searched, limited to a state and exported", async ({ page }) => {
  test.setTimeout(180_000);
  const make = async (name: string, prefix: string): Promise<void> => {
    const made = await page.request.post(`${own.url}${api}`, {
      data: {
        apiVersion: "datumapis.com/v1alpha",
        kind: "NetworkClaim",
        metadata: { name },
        spec: { addressSpace: [{ prefix, reference: { group: "apps", resource: name }, description: `For ${name}` }] },
      },
    });
    expect(made.status(), await made.text()).toBe(201);
  };
  await make("mail-pool", "10.90.0.0/24");
  await make("late-pool", "10.90.0.128/25");
  await page.goto(shows(block));
  await hydrated(page);
  const attention = page.getByRole("heading", { name: "Needs attention" });
  await expect(attention).toBeVisible();
  await expect(page.getByRole("heading", { name: "late-pool is refused" })).toBeVisible();

  // A search covers every block.
  await page.getByRole("searchbox", { name: "Search by prefix, address, reference or description" }).fill("10.90.0.200");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Claims that match “10.90.0.200”" })).toBeVisible();
  await expect(claims(page).locator("tbody tr")).toHaveCount(2);
  const filters = page.getByRole("search", { name: "Filter claims" });
  await filters.getByRole("link", { name: "Allocated 1" }).click();
  await expect(claims(page).locator("tbody tr")).toHaveCount(1);
  await expect(claims(page)).toContainText("mail-pool");
  await expect(page).toHaveURL(/q=10\.90\.0\.200&state=allocated$/);
  await looked(page, "numbers-search");

  // What is exported is what is listed.
  const csv = await page.request.get(new URL((await page.getByRole("link", { name: "Export CSV" }).getAttribute("href"))!, own.url).href);
  const lines = (await csv.text()).trim().split(/\r?\n/);
  expect(lines).toHaveLength(2);
  expect(lines[1]).toMatch(/^10\.90\.0\.0\/24,mail-pool,apps\/mail-pool,allocated,/);
  const downloading = page.waitForEvent("download");
  await page.getByRole("link", { name: "Export JSON" }).click();
  expect((await downloading).suggestedFilename()).toBe("networks.json");
  await page.goBack();
  await expect(claims(page).locator("tbody tr")).toHaveCount(2);
});

test("a claim that changed since it was shown is not released", async ({ page }) => {
  const at = `${own.url}${api}/mail-pool`;
  await page.goto(shows("10.90.0.0/24"));
  await hydrated(page);
  const held = await (await page.request.get(at)).json();
  held.spec.addressSpace[0].description = "Changed meanwhile";
  const changed = await page.request.put(at, { data: held });
  expect(changed.status(), await changed.text()).toBe(200);
  const open = page.getByLabel("Release mail-pool", { exact: true });
  await open.click();
  await press(page, "Release mail-pool and its prefix");
  await expect(page.getByText("mail-pool was changed meanwhile, and nothing was released.")).toBeVisible();
  expect((await page.request.get(at)).status()).toBe(200);
});

test("a block is listed before any claim names it, and removed again", async ({ page }) => {
  await page.goto(shows(block));
  await hydrated(page);
  await page.getByRole("link", { name: "Add block" }).click();
  await page.getByLabel("Prefix", { exact: true }).fill("10.99.0.1/16");
  await page.locator("#add-block").getByLabel("Description").fill("Data centre west");
  await press(page, "Add block");
  const refusal = page.getByRole("alert").filter({ hasText: "Not listed" });
  await expect(refusal).toContainText("has host bits set: the prefix is 10.99.0.0/16");
  await expect(page.locator("#add-block").getByLabel("Description")).toHaveValue("Data centre west");
  // Below the bar on top, a button that is scrolled half under it has no size of its own.
  await page.evaluate(() => window.scrollTo(0, 0));
  await looked(page, "numbers-add-block");
  await page.getByLabel("Prefix", { exact: true }).fill("10.99.0.0/16");
  await press(page, "Add block");
  await expect(page.getByText("Block listed")).toBeVisible();
  const row = page.getByRole("region", { name: "Blocks, table" }).getByRole("row").filter({ hasText: "10.99.0.0/16" });
  await expect(row).toContainText("Data centre west");
  await expect(page.getByLabel("From block", { exact: true })).toHaveValue("10.99.0.0/16");
  await row.getByLabel("Remove 10.99.0.0/16 from the list").click();
  await press(page, "Remove; claims stay");
  await expect(page.getByText("Block removed from the list; its claims stay")).toBeVisible();
  await expect(row).toHaveCount(0);
});

test("names are listed of any prefix or address, with the claim that holds it", async ({ page }) => {
  await page.goto(shows(block));
  await hydrated(page);
  await page.getByRole("searchbox", { name: "Prefix or address" }).fill("10.88.0.7");
  await page.getByRole("button", { name: "Show names" }).click();
  await expect(page.getByRole("heading", { name: "Names that point into 10.88.0.7/32" })).toBeVisible();
  await expect(page.locator("#names")).toContainText("Claimed by shop-pool, allocated");
});

test("of many blocks the first are listed, and a search finds the others", async ({ page }) => {
  test.setTimeout(180_000);
  const entry = (i: number) => ({ prefix: `10.140.${i}.0/25`, reference: { resource: "many" } });
  const made = await page.request.post(`${own.url}${api}`, {
    data: {
      apiVersion: "datumapis.com/v1alpha",
      kind: "NetworkClaim",
      metadata: { name: "many-blocks" },
      spec: { addressSpace: Array.from({ length: 250 }, (_, i) => entry(i)) },
    },
  });
  expect(made.status(), await made.text()).toBe(201);
  await page.goto(shows(block));
  await hydrated(page);
  const blocks = page.getByRole("region", { name: "Blocks, table" });
  await expect(blocks.locator("tbody tr")).toHaveCount(200);
  await expect(page.getByText("more blocks are not listed.")).toBeVisible();
  await page.goto(`${own.url}/networks?q=10.140.249.7`);
  await expect(blocks.locator("tbody tr")).toHaveCount(1);
  await expect(blocks).toContainText("10.140.249.0/25");
  await expect(page.getByText("more blocks are not listed.")).toHaveCount(0);
  expect((await page.request.delete(`${own.url}${api}/many-blocks`)).status()).toBe(200);
});

test.describe("without script", () => {
  test.use({ javaScriptEnabled: false });

  test("the picture zooms, the list is searched, the preview works, and a wrong block says why", async ({ page }) => {
    await page.goto(shows(block));
    await part(page, "10.88.0.0/18, shop-pool").click();
    await expect(picture(page, "10.88.0.0/18")).toBeVisible();
    await page.getByRole("searchbox", { name: "Search by prefix, address, reference or description" }).fill("mail-pool");
    await page.getByRole("button", { name: "Search" }).click();
    await expect(page.getByRole("heading", { name: "Claims that match “mail-pool”" })).toBeVisible();
    await expect(claims(page).locator("tbody tr")).toHaveCount(1);
    await page.goto(shows(block));
    await fill(page, { name: "plain", from: block, length: "24", resource: "plain" });
    await press(page, "Preview");
    await expect(page.getByRole("status").filter({ hasText: "You would get" })).toContainText("10.88.64.0/24");
    await page.goto(shows("10.88.0.1/16"));
    await expect(page.getByText("has host bits set")).toBeVisible();
  });
});
