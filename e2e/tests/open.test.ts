// Visitors without an account: an open tool on our own pages, as JSON and in a frame of another site's page.
import { createServer, type Server as Http } from "node:http";
import { expect, expectAccessible, hydrated, pictures, test } from "../support/test.ts";
import { start, type Server } from "../support/server.ts";

let partner: Http;
let origin: string;
let open: Server;
/** The demo signs visitors of a literal loopback address in; this name is none. */
let site: string;

test.beforeAll(async () => {
  let page = "";
  partner = createServer((request, response) => {
    response.setHeader("content-type", "text/html");
    response.end(request.url === "/" ? page : "");
  });
  await new Promise<void>((listening) => partner.listen(0, "127.0.0.1", () => listening()));
  const address = partner.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  origin = `http://127.0.0.1:${address.port}`;
  open = await start("open", ["--open-tools", "scan,trace", "--open-origins", origin, "--open-rate", "60"]);
  site = `http://visitor.localhost:${new URL(open.url).port}`;
  page = `<!doctype html><html lang="en"><title>Partner</title><h1>Partner</h1>
    <iframe title="Domain scan" width="800" height="700" src="${site}/embed/scan?name=q7.io&theme=dark"></iframe></html>`;
});

test.afterAll(async () => {
  await open?.stop();
  partner.close();
});

test("a visitor uses an open tool and reaches nothing else", async ({ page, complaints }) => {
  await page.goto(`${site}/tools/scan`);
  await hydrated(page);
  const tools = page.getByRole("navigation", { name: "Tools" });
  await expect(tools.getByRole("link")).toHaveText(["Scan", "Trace"]);
  await page.getByRole("textbox", { name: "Domain" }).fill("q7.io");
  await page.getByRole("button", { name: "Scan" }).click();
  await expect(page.getByRole("region", { name: "Scan of q7.io" })).toBeVisible({ timeout: 30_000 });
  await expect(page.getByText("NAMECHEAP INC").first()).toBeVisible();
  await expect(page.getByText("Add to the inventory")).toHaveCount(0);
  await expectAccessible(page);
  await pictures(page, "open-scan");
  await tools.getByRole("link", { name: "Trace", exact: true }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Trace" })).toBeVisible();
  // What is not open leads to sign-in, and back.
  for (const path of ["/domains", "/tools/check", "/settings/members"]) {
    await page.goto(`${site}${path}`);
    await expect(page).toHaveURL(`${site}/sign-in?to=${encodeURIComponent(path)}`);
  }
  // Programs outside a browser do not resolve names below localhost.
  const headers = { host: new URL(site).host };
  expect((await page.request.get(`${open.url}/api/v1/domains`, { headers })).status()).toBe(401);
  await page.goto(`${site}/tools/scan?name=q7.io`);
  await page.getByRole("link", { name: "Sign in" }).click();
  await expect(page).toHaveURL(`${site}/sign-in?to=${encodeURIComponent("/tools/scan?name=q7.io")}`);
  expect(complaints).toEqual([]);
});

test("a page of another origin embeds an open tool and reads its JSON", async ({ page, context }) => {
  await page.goto(origin);
  const frame = page.frameLocator("iframe");
  await expect(frame.getByRole("region", { name: "Scan of q7.io" })).toBeVisible({ timeout: 30_000 });
  await expect(frame.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.screenshot({ path: "out/screenshots/open-embed.png", fullPage: true });
  // The form stays in the frame, and so does the theme.
  await frame.getByRole("textbox", { name: "Domain" }).fill("alder.example");
  await frame.getByRole("button", { name: "Scan" }).click();
  await expect(frame.getByRole("region", { name: "Scan of alder.example" })).toBeVisible({ timeout: 30_000 });
  await expect(frame.locator("html")).toHaveAttribute("data-theme", "dark");
  expect(await context.cookies(), "nothing is kept").toEqual([]);
  const read = (url: string) =>
    page.evaluate(async (url) => {
      const answer = await fetch(url).catch(() => undefined);
      return answer === undefined ? "blocked" : ((await answer.json()) as { name: string }).name;
    }, url);
  expect(await read(`${site}/api/v1/trace?name=q7.io`)).toBe("q7.io");
});

test("an embedded page stands alone, for axe and for the eye", async ({ page }) => {
  await page.goto(`${site}/embed/scan?name=q7.io`);
  await expect(page.getByRole("region", { name: "Scan of q7.io" })).toBeVisible({ timeout: 30_000 });
  await expectAccessible(page);
  await pictures(page, "open-embed-alone");
});
