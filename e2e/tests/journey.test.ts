// A person's first ten minutes: adds domains, sorts, filters, opens one, sees every fact of it, changes it in the
// lab, rescans, and finds the change in the result, the event log, the history and the yellow row.
import { emptyInventory, lab, scanned } from "../support/lab.ts";
import { expect, expectAccessible, hydrated, pictures, test } from "../support/test.ts";

const five = ["q7.io", "alder.example", "kestrel-bank.example", "tidewater.example", "xn--bcherei-n2a.example"];

test.describe.configure({ mode: "serial" });

// The files after this one use the same lab.
test.afterAll(async ({ server }) => {
  await lab(server, "ns q7.io ns1.digitalocean.com ns2.digitalocean.com ns3.digitalocean.com");
  await lab(server, "status q7.io clientDeleteProhibited clientTransferProhibited clientUpdateProhibited");
});

test("an empty inventory starts the work, and a pasted list goes in line by line", async ({ page, request }) => {
  await emptyInventory(request);
  await page.goto("/domains");
  await hydrated(page);
  await expectAccessible(page);
  await pictures(page, "empty");

  await page.getByRole("link", { name: "Add domain" }).or(page.getByRole("button", { name: "Add domain" })).first().click();
  const dialog = page.getByRole("dialog", { name: /Add domain/ });
  await dialog
    .getByLabel("Domains, one per line")
    .fill("q7.io\nalder.example\nhttp://WWW.Kestrel-Bank.example/path\ntidewater.example.\nbücherei.example\nexa mple.com\nco.uk\nq7.io");
  await dialog.getByRole("button", { name: "Preview" }).click();
  const said = dialog.getByRole("status");
  await expect(said).toContainText("“exa mple.com” contains a space");
  await expect(said).toContainText("public suffix");
  await expect(said).toContainText("duplicate line");
  await pictures(page, "add-results");
  await dialog.getByRole("button", { name: "Add 5 domains" }).click();
  await expect(dialog).toBeHidden();

  // Scans end by themselves and their rows change without a reload.
  const rows = page.locator("tbody tr");
  await expect(rows).toHaveCount(5);
  await expect(page.getByRole("row", { name: /q7\.io/ })).toContainText("NAMECHEAP INC", { timeout: 30_000 });
  await expect(page.getByRole("row", { name: /q7\.io/ })).toContainText("Digital Ocean");
  await expect(page.getByRole("row", { name: /tidewater\.example/ })).toContainText("Critical");
  await expect(page.getByRole("row", { name: /kestrel-bank\.example/ })).toContainText("registry lock");
  await scanned(request, five);
});

test("sorting, filtering and searching stand in the address, and survive reload and the back button", async ({ page }) => {
  await page.goto("/domains");
  await hydrated(page);
  const names = () => page.locator("tbody th").allInnerTexts();
  const first = async () => (await names())[0]?.split("\n")[0]?.trim();
  await page.getByRole("columnheader", { name: "Domain Name" }).getByRole("link").or(
    page.getByRole("columnheader", { name: "Domain Name" }).getByRole("button"),
  ).click();
  await expect(page).toHaveURL(/sort=name/);
  await expect.poll(first).toContain("alder.example");
  await expect(page.getByRole("columnheader", { name: "Domain Name" })).toHaveAttribute("aria-sort", "ascending");
  await page.reload();
  await expect.poll(first).toContain("alder.example");

  await page.getByRole("group", { name: "Status" }).getByText("Critical").click();
  await expect(page).toHaveURL(/status=critical/);
  await expect(page.locator("tbody tr")).toHaveCount(1);
  await expect(page.locator("tbody tr")).toContainText("tidewater.example");
  await page.goBack();
  await expect(page.locator("tbody tr")).toHaveCount(5);

  await page.keyboard.press("/");
  await page.keyboard.type("q7");
  await expect(page.locator("tbody tr")).toHaveCount(1);
  await expect(page).toHaveURL(/q=q7/);
  await page.getByRole("searchbox").fill("nothing-like-this");
  await expect(page.locator("main")).toContainText(/No domain/i);
  await page.getByRole("searchbox").fill("");
  await expect(page.locator("tbody tr")).toHaveCount(5);
  await expectAccessible(page);
  await pictures(page, "inventory");
});

test("every fact of q7.io is on its page", async ({ page }) => {
  await page.goto("/domains");
  await hydrated(page);
  await page.getByRole("link", { name: "q7.io", exact: true }).click();
  await expect(page).toHaveURL(/\/domains\/q7\.io$/);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("q7.io");
  const main = page.locator("main");
  for (const fact of [
    "NAMECHEAP INC", "1068", "Jul 6, 2012", "Aug 17, 2019", "Jul 6, 2029", "Digital Ocean",
    "ns1.digitalocean.com", "ns2.digitalocean.com", "ns3.digitalocean.com",
    "clientDeleteProhibited", "clientTransferProhibited", "clientUpdateProhibited", "Authoritative",
  ]) {
    await expect(main, fact).toContainText(fact);
  }
  await expect(main).toContainText(/Resolvers cache that a name does not exist for/);
  await expect(main).toContainText(/unsigned/i);
  await expect(page.getByTitle("2029-07-06T13:58:57Z").first()).toBeVisible();
  await expectAccessible(page);
  await pictures(page, "detail");
  const tabs = page.getByRole("tablist");
  await tabs.getByRole("tab", { name: /DNS/ }).click();
  await expect(page).toHaveURL(/\/domains\/q7\.io\/dns$/);
  await expect(main).toContainText("192.0.2.7");
  await expectAccessible(page);
  await pictures(page, "dns");
});

test("a change in the world is seen by a rescan and told everywhere", async ({ page, server }) => {
  await page.goto("/domains/q7.io");
  await hydrated(page);
  await lab(server, "ns q7.io ns1.meridian-dns.example ns2.meridian-dns.example");
  await page.getByRole("button", { name: "Rescan" }).click();
  const result = page.locator("#scan-result");
  await expect(result).toContainText(/\d changes/, { timeout: 30_000 });
  await expect(result).toContainText("ns1.meridian-dns.example");
  await expect(page.locator("main")).toContainText("Meridian DNS");

  await page.getByRole("tab", { name: /Event Log/ }).click();
  await expect(page).toHaveURL(/\/events$/);
  await expect(page.locator("main")).toContainText("Nameservers changed");
  await expect(page.locator("main")).toContainText("ns1.digitalocean.com, ns2.digitalocean.com, ns3.digitalocean.com");
  await expectAccessible(page);
  await pictures(page, "events");

  await page.getByRole("tab", { name: /History/ }).click();
  await expect(page).toHaveURL(/\/history/);
  await expect(page.locator("main")).toContainText("What differs");
  const row = page.getByRole("row", { name: /^Nameservers/ });
  await expect(row).toContainText("ns1.digitalocean.com");
  await expect(row).toContainText("ns1.meridian-dns.example");
  await expectAccessible(page);
  await pictures(page, "history");

  await page.goto("/domains");
  await hydrated(page);
  const changed = page.getByRole("row", { name: /q7\.io/ });
  await expect(changed).toContainText("New change");
  const tint = await changed.evaluate((tr) => getComputedStyle(tr).backgroundColor);
  expect(tint, "yellow-50").toBe("rgb(254, 252, 232)");
  await pictures(page, "changed-row");
});

test("another window's scan updates the row without a reload", async ({ page, server, request }) => {
  await page.goto("/domains");
  await hydrated(page);
  await lab(server, "status q7.io clientTransferProhibited clientHold");
  expect((await request.post("/api/v1/domains/q7.io/rescan")).status()).toBe(200);
  await expect(page.getByRole("row", { name: /q7\.io/ })).toContainText("Critical", { timeout: 30_000 });
});

test("the command palette jumps to a domain", async ({ page }) => {
  await page.goto("/domains");
  await hydrated(page);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("kestrel");
  await expect(page.getByRole("dialog")).toContainText("kestrel-bank.example");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/kestrel-bank\.example$/);
});

test("without scripts the table and the detail read, and a domain can be added and removed", async ({ browser, server }) => {
  const context = await browser.newContext({ javaScriptEnabled: false, baseURL: server.url });
  const page = await context.newPage();
  await page.goto("/domains?sort=name");
  await expect(page.locator("tbody tr")).toHaveCount(5);
  await expect(page.locator("tbody")).toContainText("NAMECHEAP INC");
  await page.goto("/domains/add");
  await page.getByLabel("Domains, one per line").fill("halcyon.example\nnot a name");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await expect(page.locator("main")).toContainText("“not a name” contains a space");
  await page.goto("/domains/halcyon.example");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("halcyon.example");
  await page.goto("/domains/kestrel-bank.example/history");
  await expect(page.locator("main")).toContainText("Snapshots");
  await context.close();
});

test("what is not there says so and shows a way back", async ({ page, complaints }) => {
  const lost = await page.goto("/domains/never-added.example");
  expect(lost?.status()).toBe(404);
  await expect(page.locator("main")).toContainText("never-added.example");
  await page.goto("/no/such/page");
  await expect(page.getByRole("link", { name: /Domains/ }).first()).toBeVisible();
  // The browser itself reports both answers.
  complaints.length = 0;
});
