// The FQDN analyzer: the server's uncached view, the browser's own questions to public resolvers beside it, and the
// plan for a change.
import { lab } from "../support/lab.ts";
import { expect, expectAccessible, hydrated, pictures, test } from "../support/test.ts";

const place = (name: RegExp) => ({ name });

test("a name behind aliases: chain, addresses, the browser's own answers, a dated plan", async ({ page }) => {
  await page.goto("/tools/fqdn?name=www.alder.example");
  await hydrated(page);
  const found = page.getByRole("region", { name: "Analysis of www.alder.example" });
  await expect(found.getByText("pop-17.harborcdn.example", { exact: true }).first()).toBeVisible();
  await expect(found.getByText("3 steps, 2 zones, no loop")).toBeVisible();
  const table = page.getByRole("region", { name: "Vantage points, table" });
  await expect(table.getByRole("row", place(/This server.* (\d+\.){3}\d+/))).toBeVisible();
  await expect(table.getByRole("row", place(/Your browser via .* (\d+\.){3}\d+/))).toHaveCount(3);
  await expect(found.getByRole("status").first()).toContainText("All 5 places see the same.");
  await expect(found.getByText("Lower the TTL to 300")).toBeVisible();
  const web = page.getByRole("region", { name: "Responses of the web server from each place" });
  await expect(web.getByRole("row", place(/This server/))).toBeVisible();
  await expect(found.getByText(/UTC tomorrow or later/)).toBeVisible();
  await expect(found.getByRole("link", { name: /Remind me at \d\d:\d\d UTC tomorrow/ })).toHaveAttribute("download", /\.ics$/);
  await found.getByText("Answers of every server").first().click();
  await expectAccessible(page);
  await pictures(page, "fqdn");
});

test("a resolver that keeps an older copy is the difference, in the sentence on top", async ({ page, server }) => {
  await lab(server, "resolver clearwater cache www.q7.io 900 CNAME q7.io.");
  await lab(server, "resolver clearwater cache q7.io 900 A 198.51.100.99");
  await page.goto("/tools/fqdn?name=www.q7.io");
  const said = page.getByRole("region", { name: /^Analysis/ }).getByRole("status").first();
  await expect(said).toContainText("The answers differ");
  await expect(said).toContainText("your browser via Clearwater DNS sees 198.51.100.99");
  await expect(page.getByRole("row", place(/Clearwater.*198\.51\.100\.99.*differs/))).toBeVisible();
  await expect(page.getByRole("row", place(/still to answer/))).toHaveCount(0);
  await expectAccessible(page);
  await pictures(page, "fqdn-differs");
  await lab(server, "resolver clearwater flush");
});

test("a name that does not exist says until when it stays missing", async ({ page }) => {
  await page.goto("/tools/fqdn?name=nothing.alder.example");
  await hydrated(page);
  await expect(page.getByRole("heading", { name: "How long it stays missing" })).toBeVisible();
  await expect(page.getByText(/can stay missing until/)).toBeVisible();
  // No one is asked about what the authoritative servers deny, until a person wants it.
  const places = page.getByRole("row", place(/Your browser via/));
  await expect(page.getByText("Your browser queried no resolver")).toBeVisible();
  await expect(places).toHaveCount(0);
  await expectAccessible(page);
  await pictures(page, "fqdn-missing");
  await page.getByRole("button", { name: "Query anyway" }).click();
  await expect(places).toHaveCount(3);
  await expect(page.getByRole("region", { name: /^Analysis/ }).getByRole("status").first()).toContainText("All 5 places see the same.");
});

test("from the rail and the palette the page gets a document of its own, and may ask", async ({ page }) => {
  await page.goto("/domains");
  await hydrated(page);
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "FQDN" }).click();
  await hydrated(page);
  await page.getByRole("textbox", { name: "Host name" }).fill("x.apps.tidewater.example");
  await page.getByRole("button", { name: "Analyze" }).click();
  await expect(page).toHaveURL(/name=x\.apps\.tidewater\.example/);
  await page.goto("/domains");
  await hydrated(page);
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("www.q7.io");
  await page.getByRole("option", { name: /Analyze www\.q7\.io/ }).click();
  await expect(page.getByRole("row", place(/Your browser via/)).first()).toBeVisible();
});

test.describe("without script", () => {
  test.use({ javaScriptEnabled: false });
  test("the form is enough", async ({ page }) => {
    await page.goto("/tools/fqdn");
    await page.getByRole("textbox", { name: "Host name" }).fill("www.alder.example");
    await page.getByRole("button", { name: "Analyze" }).click();
    await expect(page.getByText("Lower the TTL to 300")).toBeVisible();
    await expect(page.locator("noscript p").first()).toBeVisible();
    await expect(page.getByText("3 steps, 2 zones, no loop")).toBeVisible();
  });
});
