// The product on PostgreSQL: the same pages, and two processes over one database that tell each other what happened.
import { expect, hydrated, test } from "../support/test.ts";
import { cluster, type Cluster } from "../support/postgres.ts";
import { start, type Server } from "../support/server.ts";

test.describe("two replicas", () => {
  let database: Cluster;
  let replicas: Server[] = [];
  test.beforeAll(async () => {
    test.setTimeout(180_000);
    database = await cluster();
    for (const name of ["postgres-1", "postgres-2"]) {
      replicas.push(await start(name, ["--database", database.url]));
    }
  });
  test.afterAll(async () => {
    for (const replica of replicas) await replica.stop();
    await database?.stop();
  });

  test("what one changes the other shows, live and after a reload", async ({ page, request }) => {
    const [one, two] = replicas;
    await page.goto(`${one.url}/domains?q=q7`);
    await hydrated(page);
    await expect(page).toHaveTitle(/Domainscope/);
    const row = page.locator("tbody tr").filter({ hasText: "q7.io" });
    await expect(row).toContainText("NAMECHEAP INC", { timeout: 30_000 });

    const change = { tags: ["seen-by-both"], note: "said to the other one" };
    expect((await request.patch(`${two.url}/api/v1/domains/q7.io`, { data: change })).status()).toBe(200);
    await expect(row).toContainText("seen-by-both", { timeout: 15_000 });

    expect((await request.delete(`${one.url}/api/v1/domains/q7.io`)).status()).toBe(200);
    await expect(row).toHaveCount(0);
    expect((await request.get(`${two.url}/api/v1/domains/q7.io`)).status()).toBe(404);
    expect((await request.post(`${two.url}/api/v1/domains`, { data: { names: ["q7.io"] } })).status()).toBe(200);
    await page.reload();
    await expect(row).toHaveCount(1);
  });

  test("names added on one are shown as scanned on both, whichever scanned them", async ({ page, request, context }) => {
    test.setTimeout(180_000);
    const [one, two] = replicas;
    const names = Array.from({ length: 44 }, (_, i) => `herd-${i + 10}.example`);
    const other = await context.newPage();
    const pages = [page, other];
    for (const [i, replica] of replicas.entries()) {
      await pages[i].goto(`${replica.url}/domains?q=herd-`);
      await hydrated(pages[i]);
    }
    expect((await request.post(`${one.url}/api/v1/domains`, { data: { names } })).status()).toBe(200);
    for (const each of pages) {
      const rows = each.locator("tbody tr");
      await expect(rows).toHaveCount(names.length, { timeout: 30_000 });
      // No row is queued or being scanned any more, and none still says that it was never scanned.
      await expect(rows.locator(".pill-busy")).toHaveCount(0, { timeout: 90_000 });
      await expect(rows.filter({ hasText: "Not scanned yet" })).toHaveCount(0);
    }
    const shown = await Promise.all(pages.map((each) => each.locator("tbody tr td.c-status").allInnerTexts()));
    expect(shown[1]).toEqual(shown[0]);

    // A Rescan asked for on one: both pages follow it to its end, and offer the next.
    for (const [i, replica] of replicas.entries()) {
      await pages[i].goto(`${replica.url}/domains/${names[7]}`);
      await hydrated(pages[i]);
    }
    const button = (each: typeof page) => each.getByRole("button", { name: "Rescan", exact: true }).first();
    for (const asker of pages) {
      await button(asker).click();
      for (const each of pages) await expect(button(each)).toBeEnabled({ timeout: 30_000 });
    }
    for (const replica of [one, two]) {
      const { scan } = await (await request.get(`${replica.url}/api/v1/domains/${names[7]}`)).json();
      expect(scan === null || scan.result !== null).toBe(true);
    }
    await other.close();
  });

  test("the inventory is exported whole, and pages say what is stored", async ({ page, request }) => {
    const [, two] = replicas;
    const { domains } = await (await request.get(`${two.url}/domains.json`)).json();
    expect(domains.length).toBeGreaterThan(50);
    await page.goto(`${two.url}/domains/alder.example`);
    await hydrated(page);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("alder.example");
    await page.getByRole("tab", { name: /DNS/ }).click();
    await expect(page.locator("main")).toContainText("Delegation");
  });
});
