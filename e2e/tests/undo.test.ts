// A removal is undone whole: manual settings of a domain are not lost with it.
import type { APIRequestContext } from "@playwright/test";
import { expect, hydrated, test } from "../support/test.ts";

const said = { note: "paid by card", tags: ["undo"], manual_expires: "2031-05-06", auto_renew: false };

async function item(request: APIRequestContext, name: string) {
  const { item } = await (await request.get(`/api/v1/domains/${name}`)).json();
  const { note, tags, manual_expires, auto_renew } = item;
  return { note, tags, manual_expires, auto_renew };
}

for (const place of ["its own page", "the list"]) {
  test(`removed on ${place} and put back`, async ({ page, request }) => {
    // There already, unless an earlier test has emptied the inventory.
    expect((await request.post("/api/v1/domains", { data: { names: ["halcyon.example"] } })).status()).toBe(200);
    expect((await request.patch("/api/v1/domains/halcyon.example", { data: said })).status()).toBe(200);
    if (place === "the list") {
      await page.goto("/domains?q=halcyon.example");
      await hydrated(page);
      await page.locator("tbody tr").getByRole("checkbox").check();
      await page.getByRole("button", { name: "Remove", exact: true }).click();
    } else {
      await page.goto("/domains/halcyon.example");
      await hydrated(page);
      await page.getByLabel("More actions").click();
      await page.getByRole("button", { name: "Remove from the inventory" }).click();
      await expect(page).toHaveURL(/\/domains$/);
    }
    await expect(page.getByText("halcyon.example removed")).toBeVisible();
    expect((await request.get("/api/v1/domains/halcyon.example")).status()).toBe(404);
    await page.getByRole("button", { name: "Undo" }).click();
    await expect.poll(async () => (await request.get("/api/v1/domains/halcyon.example")).status()).toBe(200);
    expect(await item(request, "halcyon.example")).toEqual(said);
    if (place === "its own page") await expect(page).toHaveURL(/\/domains\/halcyon\.example$/);
  });
}
