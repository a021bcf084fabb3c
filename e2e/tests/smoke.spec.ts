// The least that must hold: the server answers with a page, its bundle is served as it should be and runs.
import { expect, hydrated, test } from "../support/test.ts";

test("the front page answers, has a title and comes alive", async ({ page }) => {
  const answer = await page.goto("/");
  expect(answer?.status()).toBe(200);
  await expect(page).toHaveTitle(/Domainscope/);
  await hydrated(page);
});

test("without scripts the page still has its content and its styles", async ({ browser, server }) => {
  const context = await browser.newContext({ javaScriptEnabled: false, baseURL: server.url });
  const page = await context.newPage();
  await page.goto("/");
  await expect(page.locator("h1")).toBeVisible();
  const canvas = await page.locator("body").evaluate((body) => getComputedStyle(body).backgroundColor);
  expect(canvas).toBe("rgb(248, 249, 250)");
  await context.close();
});

test("files with a hash in their name are compressed and kept for ever", async ({ request }) => {
  const document = await (await request.get("/")).text();
  const names = [...document.matchAll(/\/assets\/[^"' ]+\.(?:js|wasm|css)/g)].map(([name]) => name);
  expect(names.length, "hashed files named in the document").toBeGreaterThanOrEqual(3);
  for (const name of new Set(names)) {
    const answer = await request.get(name, { headers: { "accept-encoding": "br" } });
    expect(answer.status(), name).toBe(200);
    expect(answer.headers()["content-encoding"], name).toBe("br");
    expect(answer.headers()["cache-control"], name).toContain("immutable");
  }
});
