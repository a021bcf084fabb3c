// The check tool: a zone as it is delegated, and servers before the parent points at them.
import { expect, expectAccessible, hydrated, pictures, test } from "../support/test.ts";

test("a broken delegation is told worst first, and a level is an address", async ({ page }) => {
  await page.goto("/domains/alder.example/dns");
  await hydrated(page);
  await page.getByRole("link", { name: "Run all checks" }).click();
  const found = page.getByRole("region", { name: "Check of alder.example" });
  await expect(found.getByText(/test cases?, \d+ questions? in/)).toBeVisible({ timeout: 30_000 });
  await expect(found.getByText("IS_NOT_AUTHORITATIVE").first()).toBeVisible();
  await expectAccessible(page);
  await pictures(page, "check");
  await found.getByRole("navigation", { name: "Findings by level" }).getByRole("link", { name: /^All/ }).click();
  await expect(page).toHaveURL(/level=all/);
  await page.goBack();
  await expect(page).not.toHaveURL(/level=/);
});

test("before a move: servers that do not serve the zone are no place to switch to", async ({ page }) => {
  await page.goto("/tools/check?zone=q7.io&move=1");
  await hydrated(page);
  await page.getByLabel("Name servers", { exact: true }).fill("ns1.quarry-dns.example\nns2.quarry-dns.example");
  await page.getByRole("button", { name: "Check", exact: true }).click();
  const found = page.getByRole("region", { name: "Check of q7.io" });
  await expect(found.getByText(/Don’t switch yet: .*critical/)).toBeVisible({ timeout: 30_000 });
  await expect(page).toHaveURL(/ns=ns1\.quarry-dns\.example/);
  await page.getByLabel("Name servers", { exact: true }).fill("ns1.digitalocean.com\nns2.digitalocean.com\nns3.digitalocean.com");
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await expect(found.getByText(/can take over q7\.io|are ready to take over q7\.io/)).toBeVisible({ timeout: 30_000 });
  await expect(found.getByRole("heading", { name: /^(Critical|Error)/ })).toHaveCount(0);
  await expectAccessible(page);
  await pictures(page, "check-move");
});

test.describe("without script", () => {
  test.use({ javaScriptEnabled: false });
  test("the form is enough", async ({ page, complaints }) => {
    await page.goto("/tools/check");
    await page.getByRole("textbox", { name: "Zone" }).fill("sealed.example");
    await page.getByRole("button", { name: "Check", exact: true }).click();
    await expect(page.getByRole("region", { name: "Check of sealed.example" })).toBeVisible();
    await page.getByText("Before a move", { exact: true }).click();
    await page.getByLabel("Name servers", { exact: true }).fill("ns1.example/300.1.1.1");
    await page.getByRole("button", { name: "Check", exact: true }).click();
    await expect(page.getByRole("status").filter({ hasText: "300.1.1.1" })).toBeVisible();
    // A refused question is status 400, which the browser reports.
    complaints.length = 0;
  });
});
