// Cache vs authoritative: the authoritative servers first, then each resolver as it answers, the browser's own
// questions beside them; a name that does not exist asks no one; a watch ends by itself.
import { lab } from "../support/lab.ts";
import { expect, expectAccessible, hydrated, pictures, test } from "../support/test.ts";

const row = (name: RegExp) => ({ name });

test("each resolver is judged as it answers, and the browser asks for itself", async ({ page }) => {
  await page.goto("/tools/compare?name=orchard.example&type=A");
  await hydrated(page);
  const found = page.getByRole("region", { name: "Comparison of orchard.example A" });
  await expect(found.getByRole("heading", { name: "Authoritative", exact: true })).toBeVisible();
  await expect(found.getByText("14 of 14 answered")).toBeVisible({ timeout: 30_000 });
  const tile = (name: string) => found.getByRole("listitem").filter({ hasText: name });
  await expect(tile("Longshore")).toContainText("Stale");
  await expect(tile("Longshore")).toContainText(/expires \d\d:\d\d/);
  await expect(found.getByRole("status").filter({ hasText: "with the authoritative servers" })).toBeVisible();
  // The same judgement for what the browser was told.
  await expect(found.getByText(/\d+ of \d+ resolvers queried by your browser agree/)).toBeVisible();
  const odd = page.getByRole("region", { name: "Answers to your browser that differ, table" });
  await expect(odd.getByRole("row", row(/Longshore.*Stale/))).toBeVisible();
  await expect(odd.getByRole("row", row(/Clearwater/))).toHaveCount(0);
  await found.getByText("Every answer to your browser").click();
  await expect(found.getByRole("row", row(/Clearwater.*Same/)).first()).toBeVisible();
  await found.getByText("All answers as a table").click();
  await found.getByText("How to flush your own cache").click();
  await expectAccessible(page);
  await pictures(page, "compare");
});

test("what does not exist is asked of no one until a person confirms it", async ({ page }) => {
  const asked: string[] = [];
  page.on("request", (r) => asked.push(r.url()));
  await page.goto("/tools/compare?name=nothing.alder.example&type=A");
  await hydrated(page);
  await expect(page.getByRole("heading", { name: "Stopped: no resolver was queried" })).toBeVisible();
  await expect(page.getByText(/puts a negative answer into every cache/)).toBeVisible();
  await expectAccessible(page);
  await pictures(page, "compare-stopped");
  expect(asked.filter((u) => /live\/compare|type=A.*do=|[?&]name=nothing.*&type=A$/.test(u) && !u.includes("/tools/"))).toEqual([]);
  await page.getByRole("link", { name: "Query the resolvers anyway" }).click();
  await expect(page).toHaveURL(/force=1/);
  await expect(page.getByText("14 of 14 answered")).toBeVisible({ timeout: 30_000 });
  await expect(page.getByText("Queried although the authoritative servers deny")).toBeVisible();
});

test("a watch says how far it is, and can be stopped", async ({ page, server }) => {
  await lab(server, "resolver clearwater cache www.q7.io 20 A 198.51.100.99");
  await page.goto("/tools/compare?name=www.q7.io&type=A");
  await hydrated(page);
  await page.getByRole("link", { name: "Watch propagation" }).click();
  await expect(page).toHaveURL(/watch=1/);
  await expect(page.getByText(/resolvers have it; next check at \d\d:\d\d:\d\d UTC/)).toBeVisible({ timeout: 30_000 });
  await expect(page.getByText(/stops at \d\d:\d\d UTC/)).toBeVisible();
  await expectAccessible(page);
  await pictures(page, "compare-watch");
  await page.getByRole("link", { name: "Stop watching" }).click();
  await expect(page.getByText("The watch was stopped")).toBeVisible();
  await expect(page).not.toHaveURL(/watch=1/);
});

test("a watch ends by itself when the record is everywhere", async ({ page, server }) => {
  await lab(server, "resolver clearwater cache alder.example 12 A 198.51.100.99");
  await page.goto("/tools/compare?name=alder.example&type=A&watch=1");
  await hydrated(page);
  const tile = page.getByRole("listitem").filter({ hasText: "Clearwater" });
  await expect(tile).toContainText("198.51.100.99", { timeout: 20_000 });
  await expect(page.getByText("Propagated everywhere")).toBeVisible({ timeout: 40_000 });
  await expect(tile).toContainText("Same");
  await expect(page).toHaveTitle(/alder\.example is propagated/);
});

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false });

  test("the form gets all of it at once", async ({ page }) => {
    await page.goto("/tools/compare");
    await page.getByRole("textbox", { name: "Host name" }).fill("orchard.example");
    await page.getByRole("button", { name: "Compare" }).click();
    await expect(page).toHaveURL(/whole=1/);
    await expect(page.getByText("14 of 14 answered")).toBeVisible();
    await expect(page.getByRole("listitem").filter({ hasText: "Longshore" })).toContainText("Stale");
  });
});
