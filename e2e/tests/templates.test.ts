// The organisation's Domain Connect templates beside the wizard: saved from a text, a file and a URL, refused with the
// reason, used for a plan, and removed.
import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "@playwright/test";
import { start, type Server } from "../support/server.ts";
import { expect, expectAccessible, hydrated, pictures, test } from "../support/test.ts";

const wizard = "/tools/configure?service=template&domain=alder.example";

const template = (service: string, name: string) =>
  JSON.stringify(
    {
      providerId: "post.example",
      providerName: "Post",
      serviceId: service,
      serviceName: name,
      version: 1,
      records: [{ type: "A", host: "shop", pointsTo: "%ip%", ttl: 300 }],
    },
    null,
    2,
  );

let own: Server;
/** A server that publishes a template. */
let publisher: HttpServer;
let published: string;
test.beforeAll(async () => {
  own = await start("templates");
  publisher = createServer((request, response) => {
    const found = request.url === "/post.example.mail.json";
    response.writeHead(found ? 200 : 404, { "content-type": "application/json" });
    response.end(found ? template("mail", "Post mail") : "");
  });
  await new Promise<void>((ready) => publisher.listen(0, "127.0.0.1", ready));
  published = `http://127.0.0.1:${(publisher.address() as AddressInfo).port}/post.example.mail.json`;
});
test.afterAll(async () => {
  publisher?.close();
  await own?.stop();
});
test.describe.configure({ mode: "serial" });

const card = (page: Page) => page.getByRole("region", { name: "Saved templates" });
const json = (page: Page) => card(page).getByLabel("JSON text");
const url = (page: Page) => card(page).getByLabel("Or its URL");

async function open(page: Page): Promise<void> {
  await page.goto(`${own.url}${wizard}`);
  await hydrated(page);
  await card(page).getByText("Save a template").click();
}

async function save(page: Page): Promise<void> {
  await card(page).getByRole("button", { name: "Save template" }).click();
}

test("a bad template is refused with the reason and stays in the form", async ({ page, complaints }) => {
  await open(page);
  await expect(card(page)).toContainText("Templates saved here can be used for every domain of the organisation.");
  const good = template("web", "Post web");
  for (const [text, reason] of [
    ["{", "not JSON"],
    [good.replace("post.example", "a b"), '"a b" must be'],
    [good.replace('"A"', '"WHAT"'), "ecord 1"],
  ]) {
    await json(page).fill(text);
    await save(page);
    const refusal = card(page).getByRole("status").filter({ hasText: reason }).first();
    await expect(refusal).toContainText("The template was not saved");
    await expect(json(page)).toHaveValue(text);
  }
  await expectAccessible(page);
  await pictures(page, "templates-refused");
  await json(page).fill("");
  await url(page).fill(published.replace("mail.json", "none.json"));
  await save(page);
  await expect(card(page).getByRole("status").filter({ hasText: "the server answered 404" }).first()).toBeVisible();
  await expect(url(page)).toHaveValue(/none\.json$/);
  await expect(card(page).getByRole("listitem")).toHaveCount(0);
  // Refusals are statuses of responses, which the browser's console repeats.
  complaints.length = 0;
});

test("templates are saved from a text, a file and a URL, used for a plan and removed", async ({ page }) => {
  test.setTimeout(180_000);
  await open(page);
  await json(page).fill(template("web", "Post web"));
  await save(page);
  const row = (key: string) => card(page).getByRole("listitem").filter({ hasText: key });
  await expect(row("post.example/web")).toContainText("needs ip · version 1 · pasted");

  await expect(json(page), "the form is empty again").toHaveValue("");
  const buffer = Buffer.from(template("shop", "Post shop"));
  const chooser = card(page).getByLabel("Choose a file");
  await chooser.setInputFiles({ name: "post.example.shop.json", mimeType: "application/json", buffer });
  await expect(json(page)).toHaveValue(buffer.toString());
  await save(page);
  await expect(row("post.example/shop")).toBeVisible();

  await expect(json(page)).toHaveValue("");
  await url(page).fill(published);
  await save(page);
  await expect(row("post.example/mail")).toContainText(published);
  await expect(card(page).getByRole("listitem")).toHaveCount(3);
  await expectAccessible(page);
  await page.setViewportSize({ width: 390, height: 844 });
  await expectAccessible(page);
  await page.setViewportSize({ width: 1440, height: 900 });
  await pictures(page, "templates");

  // Its name stands in the form, its records in the plan.
  await card(page).getByRole("link", { name: "Use post.example/web" }).click();
  const name = page.getByLabel(/^Domain Connect template/);
  await expect(name).toHaveValue("post.example/web");
  await expect(page.getByLabel(/^Variables/), "nothing is planned without the values it needs").toHaveValue("ip=");
  await page.getByLabel(/^Variables/).fill("ip=203.0.113.7");
  await page.getByRole("button", { name: "Make the plan" }).click();
  await expect(page).toHaveURL(/values=ip/);
  await expect(page.getByText("203.0.113.7").first()).toBeVisible({ timeout: 30_000 });
  await expectAccessible(page);

  await page.goto(`${own.url}${wizard}`);
  await hydrated(page);
  for (const service of ["shop", "mail", "web"]) {
    await card(page).getByRole("button", { name: `Remove post.example/${service}` }).click();
    await expect(row(`post.example/${service}`)).toHaveCount(0);
  }
  await expect(card(page)).toContainText("Templates saved here can be used for every domain of the organisation.");
  const left = await page.request.get(`${own.url}/api/v1/templates`);
  expect(await left.json()).toEqual([]);
});

test.describe("without script", () => {
  test.use({ javaScriptEnabled: false });

  test("a text in the address stays in its field", async ({ page }) => {
    const text = `</textarea><b id="out">&amp;`;
    await page.goto(`${own.url}${wizard}&draft=1&template=${encodeURIComponent(text)}`);
    await expect(page.getByLabel(/^Domain Connect template/)).toHaveValue(text);
    await expect(page.locator("#out")).toHaveCount(0);
  });

  test("a template is saved and removed, and a refusal names the reason", async ({ page }) => {
    await page.goto(`${own.url}${wizard}`);
    await card(page).getByText("Save a template").click();
    await json(page).fill("{");
    await save(page);
    await expect(page.getByText("not JSON")).toBeVisible();
    await card(page).getByText("Save a template").click();
    await json(page).fill(template("web", "Post web"));
    await save(page);
    await expect(page.getByRole("status").filter({ hasText: "Saved" })).toBeVisible();
    await card(page).getByRole("button", { name: "Remove post.example/web" }).click();
    await expect(page.getByRole("status").filter({ hasText: "Removed" })).toBeVisible();
    await expect(card(page).getByRole("listitem")).toHaveCount(0);
  });
});
