// Features while they turn: the page follows a transition step by step without a reload, and what is open stays open.
import { start, type Server } from "../support/server.ts";
import { expect, expectAccessible, hydrated, test } from "../support/test.ts";

const feature = "alerts-webhook";

let own: Server;
test.beforeAll(async () => {
  own = await start("features");
});
test.afterAll(async () => own?.stop());
test.describe.configure({ mode: "serial" });

test("a transition is followed step by step, and a question that is open stays open", async ({ page }) => {
  test.setTimeout(120_000);
  const api = `${own.url}/api/v1`;
  const all = await (await page.request.get(`${api}/channels`)).json();
  for (const c of all) {
    if (c.kind === "webhook") await page.request.delete(`${api}/channels/${c.id}`);
  }
  const made = await (
    await page.request.post(`${api}/channels`, { data: { kind: "webhook", name: "Held", url: "https://192.0.2.1/hook" } })
  ).json();
  await page.goto(`${own.url}/settings/features?feature=${feature}`);
  await hydrated(page);
  await page.request.patch(`${api}/features/${feature}`, { data: { desired: "Off" } });

  // Without a reload: the steps appear, and the third waits for the channel.
  await expect(page.getByRole("heading", { name: `${feature} is turning off`, exact: true })).toBeVisible({ timeout: 20_000 });
  await expect(page.getByText("step 3 of 5")).toBeVisible({ timeout: 30_000 });
  await expect(page.getByText("1 left: Held.")).toBeVisible();
  await expect(page.getByText("In transition 1")).toBeVisible();
  await expectAccessible(page);

  // A question that is open stays open while the page would be read again.
  const question = page.getByRole("row").filter({ hasText: "doh-server" }).locator("details");
  await question.locator("summary").click();
  await page.waitForTimeout(7_000);
  await expect(question).toHaveAttribute("open", "");
  await question.locator("summary").click();

  await page.request.delete(`${api}/channels/${made.id}`);
  await expect(page.getByRole("heading", { name: `${feature} is turning off`, exact: true })).toBeHidden({ timeout: 30_000 });
  const row = page.getByRole("row").filter({ hasText: feature });
  await expect(row).toContainText("Off");
  await page.getByRole("button", { name: "Reset to default" }).click();
  await expect(page.getByRole("row").filter({ hasText: feature })).toContainText("On", { timeout: 30_000 });
});
