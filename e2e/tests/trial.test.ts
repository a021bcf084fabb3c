// What made new users stumble: lists imported without their columns, bulk work that lost its selection, a lost
// connection, lost notes, lost focus.
import { readFileSync } from "node:fs";
import { emptyInventory, lab, scanned } from "../support/lab.ts";
import { expect, expectAccessible, hydrated, pictures, test } from "../support/test.ts";

const five = ["q7.io", "alder.example", "kestrel-bank.example", "tidewater.example", "halcyon.example"];

test.describe.configure({ mode: "serial" });

test("a file is previewed line by line, and an export comes back as it was", async ({ page, request }) => {
  await emptyInventory(request);
  await page.goto("/domains");
  await hydrated(page);
  await page.keyboard.press("a");
  const dialog = page.getByRole("dialog", { name: "Add domains" });
  const text = dialog.getByLabel("Domains, one per line");
  await expect(text, "the dialog begins where one types").toBeFocused();
  const csv = [
    "Domain Name,Ownership,Tags,Note,Registrar",
    'q7.io,owned,"core, prod","paid by card, ask Mira",X',
    "alder.example,watched,,,",
    "tidewater.example,mine,,,",
    "kestrel-bank.example,,,,",
  ].join("\n");
  await text.fill(csv);
  await dialog.getByRole("button", { name: "Preview" }).click();
  const status = dialog.getByRole("status");
  await expect(status).toContainText("3 to add · 1 invalid");
  await expect(status).toContainText("“mine” is not an ownership: write owned or watched");
  await expect(status).toContainText("core, prod · note: paid by card, ask Mira");
  await expect(status).toContainText("Columns not read: Registrar.");
  await expectAccessible(page);
  await pictures(page, "add-preview");
  expect((await (await request.get("/api/v1/domains")).json()).total, "a preview adds nothing").toBe(0);
  await dialog.getByRole("button", { name: "Add 3 domains" }).click();
  await expect(dialog).toBeHidden();
  await expect(page.locator("tbody tr")).toHaveCount(3);

  const said = async () => {
    const all = [];
    for (const name of ["q7.io", "alder.example", "kestrel-bank.example"]) {
      const { ownership, tags, note } = (await (await request.get(`/api/v1/domains/${name}`)).json()).item;
      all.push({ name, ownership, tags, note });
    }
    return all;
  };
  const before = await said();
  expect(before[0]).toEqual({ name: "q7.io", ownership: "owned", tags: ["core", "prod"], note: "paid by card, ask Mira" });
  expect(before[1].ownership).toBe("watched");
  const file = await (await request.get("/domains.csv")).body();
  await emptyInventory(request);
  await page.goto("/domains/add");
  await hydrated(page);
  await page.getByLabel("Choose a file").setInputFiles({ name: "domains.csv", mimeType: "text/csv", buffer: file });
  await expect(page.getByRole("status").filter({ hasText: "3 to add" })).toBeVisible();
  await page.getByRole("button", { name: "Add 3 domains" }).click();
  await expect(page.getByText("3 domains added")).toBeVisible();
  expect(await said()).toEqual(before);
});

test("a selection lasts from page to page, and Enter in the tag field tags", async ({ page, request }) => {
  await emptyInventory(request);
  expect((await request.post("/api/v1/domains", { data: { names: five } })).status()).toBe(200);
  await scanned(request, five);
  await page.goto("/domains?sort=name&per_page=2");
  await hydrated(page);
  const bar = page.getByRole("form", { name: "Selected domains" });
  const rows = page.locator("tbody tr");
  await expect(bar).toBeHidden();
  await rows.nth(0).getByRole("checkbox").check();
  await expect(bar).toContainText("1 selected");
  await page.getByRole("link", { name: "Next" }).click();
  await expect(page).toHaveURL(/page=2/);
  await expect(rows.nth(0)).toContainText("kestrel-bank.example");
  await expect(bar, "on a page without a selected row").toContainText("1 selected");
  await rows.nth(1).getByRole("checkbox").check();
  await expect(bar).toContainText("2 selected");

  const asked: string[] = [];
  page.on("request", (r) => asked.push(new URL(r.url()).pathname));
  await bar.getByLabel("Tag", { exact: true }).fill("edge");
  await page.keyboard.press("Enter");
  await expect(page.getByText("2 domains tagged edge")).toBeVisible();
  expect(asked).not.toContain("/api/fn/rescan");
  const tags = async (name: string) => (await (await request.get(`/api/v1/domains/${name}`)).json()).item.tags;
  expect([await tags("alder.example"), await tags("q7.io"), await tags("halcyon.example")]).toEqual([["edge"], ["edge"], []]);

  await bar.getByRole("button", { name: "Select all 5" }).click();
  await expect(bar).toContainText("5 selected");
  await bar.getByLabel("Tag", { exact: true }).fill("edge");
  await bar.getByRole("button", { name: "Untag" }).click();
  await expect(page.getByText("2 domains untagged edge")).toBeVisible();
  expect(await tags("alder.example")).toEqual([]);
  const download = page.waitForEvent("download");
  await bar.getByRole("button", { name: "Export" }).click();
  const csv = readFileSync(await (await download).path(), "utf8");
  expect(csv.trim().split("\n")).toHaveLength(6);
  await bar.getByRole("button", { name: "Clear the selection" }).click();
  await expect(bar).toBeHidden();

  // A range with Shift, in both directions.
  await page.goto("/domains?sort=name");
  await hydrated(page);
  await rows.nth(3).getByRole("checkbox").click();
  await rows.nth(1).getByRole("checkbox").click({ modifiers: ["Shift"] });
  await expect(bar).toContainText("3 selected");
  await pictures(page, "selected");
  // Phones select too.
  await page.setViewportSize({ width: 390, height: 844 });
  await rows.nth(0).getByRole("checkbox").click();
  await expect(bar).toContainText("4 selected");
});

test("a lost connection keeps the rows, offers Retry, and ends by itself", async ({ page, complaints }) => {
  await page.goto("/domains?sort=name");
  await hydrated(page);
  await expect(page.locator("tbody tr")).toHaveCount(5);
  await page.route("**/api/fn/inventory*", (route) => route.abort());
  await page.getByRole("searchbox").fill("q7");
  await expect(page.getByText("The inventory could not be read")).toBeVisible();
  await expect(page.getByRole("link", { name: "Retry" })).toBeVisible();
  await page.unroute("**/api/fn/inventory*");
  await expect(page.locator("tbody tr")).toHaveCount(1);

  // The same list, read once before: its rows stay, and it recovers without a click.
  await page.route("**/api/fn/inventory*", (route) => route.abort());
  await page.locator("tbody tr").getByRole("checkbox").check();
  await page.getByRole("button", { name: "Mark as owned" }).click();
  await expect(page.getByText("The inventory could not be updated")).toBeVisible();
  await expect(page.locator("tbody tr")).toContainText("q7.io");
  await page.unroute("**/api/fn/inventory*");
  await expect(page.getByText("The inventory could not be updated")).toBeHidden();
  // The browser itself reports the requests that failed.
  complaints.length = 0;
});

test("focus follows navigation, titles tell tabs apart, Escape and a click elsewhere close menus", async ({ page }) => {
  await page.goto("/domains?sort=name");
  await hydrated(page);
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Events" }).click();
  await expect(page).toHaveURL(/\/events$/);
  await expect(page.locator("main")).toBeFocused();
  await page.goto("/domains/q7.io");
  await hydrated(page);
  const titles = [];
  for (const tab of ["History", "Event Log", "DNS", "Overview"]) {
    const link = page.getByRole("tab", { name: new RegExp(tab) });
    await link.click();
    await expect(link).toHaveAttribute("aria-selected", "true");
    await expect(link).toBeFocused();
    await expect(page).toHaveTitle(tab === "Overview" ? /^q7\.io · Domainscope$/ : new RegExp(`^q7\\.io · ${tab} ·`));
    titles.push(await page.title());
  }
  expect(new Set(titles).size).toBe(4);
  const more = page.getByLabel("More actions");
  const item = page.getByRole("button", { name: "Remove from the inventory" });
  await more.click();
  await expect(item).toBeVisible();
  await item.focus();
  await page.keyboard.press("Escape");
  await expect(item).toBeHidden();
  await expect(more).toBeFocused();
  await more.click();
  await page.getByRole("heading", { level: 1 }).click();
  await expect(item).toBeHidden();

  await page.goto("/tools/trace?name=www.alder.example&type=A");
  await expect(page).toHaveTitle("www.alder.example A · Trace · Domainscope");
  await page.setViewportSize({ width: 390, height: 844 });
  await hydrated(page);
  const button = page.getByRole("button", { name: "Navigation" });
  const nav = page.getByRole("navigation", { name: "Main" });
  await button.click();
  await expect(nav).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(nav).toBeHidden();
  await expect(button).toBeFocused();
  await button.click();
  await expect(nav).toBeVisible();
  await page.mouse.click(380, 600);
  await expect(nav).toBeHidden();
});

test("a note that was not saved is there after a look at another tab", async ({ page }) => {
  await page.goto("/domains/q7.io");
  await hydrated(page);
  const note = page.getByLabel("Note", { exact: true });
  await note.fill("ask Mira before the move");
  await expect(page.getByText("Not saved yet")).toBeVisible();
  await page.getByRole("tab", { name: /History/ }).click();
  await expect(page.locator("main")).toContainText("Snapshots");
  await page.getByRole("tab", { name: /Overview/ }).click();
  await expect(note).toHaveValue("ask Mira before the move");
  await page.reload();
  await hydrated(page);
  await expect(note).toHaveValue("ask Mira before the move");
  await page.getByRole("button", { name: "Save note" }).click();
  await expect(page.getByText("Not saved yet")).toBeHidden();
  await page.reload();
  await hydrated(page);
  await expect(note).toHaveValue("ask Mira before the move");
  await expect(page.getByText("Not saved yet")).toBeHidden();
});

test("the palette takes a record type for what it is", async ({ page }) => {
  await page.goto("/domains");
  await hydrated(page);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("q7.io MX");
  const dialog = page.getByRole("dialog", { name: /Jump to a domain/ });
  await expect(dialog).toContainText("Compare caches for q7.io");
  await expect(dialog).not.toContainText("q7.io MX without");
  await dialog.getByText("Trace q7.io from the root").click();
  await expect(page).toHaveURL(/\/tools\/trace\?name=q7\.io&type=MX$/);
});

test("the loss of the MX record is a badge, a figure and a filter", async ({ page, server, request }) => {
  test.setTimeout(120_000);
  // The first scan is the baseline.
  await scanned(request, ["q7.io"]);
  const before = await (await request.get("/domains/q7.io/dns")).text();
  expect(before, "the mail server of the baseline").toContain("mx1.post.example");
  await lab(server, "remove q7.io MX");
  expect((await request.post("/api/v1/domains/q7.io/rescan")).status()).toBe(200);
  await page.goto("/domains?sort=name");
  await hydrated(page);
  const row = page.getByRole("row", { name: /q7\.io/ });
  // A loss is confirmed by a second scan, some seconds after the first.
  await expect(row.getByRole("link", { name: "DNS changed" })).toBeVisible({ timeout: 60_000 });
  await page.getByRole("link", { name: /DNS changes, 7 d/ }).click();
  await expect(page).toHaveURL(/dns_changed=7d/);
  await expect(page.locator("tbody tr")).toHaveCount(1);
  await expectAccessible(page);
  await pictures(page, "dns-changed");
  await row.getByRole("link", { name: "DNS changed" }).click();
  await expect(page.locator("main")).toContainText("No MX record is left for q7.io");
});

test("what is compared behind an alias fits the screen, and history fits a phone", async ({ page }) => {
  await page.goto("/tools/compare?name=www.alder.example&type=A");
  await hydrated(page);
  for (const width of [1920, 1280, 390]) {
    await page.setViewportSize({ width, height: 900 });
    const table = page.getByRole("region", { name: "Authoritative servers, table" });
    const hidden = await table.evaluate((e) => e.scrollWidth - e.clientWidth);
    expect(hidden, `${width} px: every column is seen`).toBeLessThanOrEqual(0);
  }
  await pictures(page, "compare-alias");
  await page.goto("/domains/alder.example/history");
  await hydrated(page);
  await page.setViewportSize({ width: 390, height: 844 });
  const chart = page.getByRole("img", { name: /^From / });
  expect(await chart.evaluate((e) => e.scrollWidth - e.clientWidth)).toBeLessThanOrEqual(0);
  for (const bar of await chart.locator(".lane-bar").all()) {
    const over = await bar.evaluate((e) => e.getBoundingClientRect().right - e.parentElement!.getBoundingClientRect().right);
    expect(over, "no bar reaches beyond its lane").toBeLessThanOrEqual(1);
  }
  await pictures(page, "history-lanes");
});
