// The program comes in parts: every address works opened directly, by a link from another part, and without the part.
import type { Page } from "@playwright/test";
import { emptyInventory, scanned } from "../support/lab.ts";
import { expect, hydrated, test } from "../support/test.ts";

/** Addresses of every part, and the heading that says the page is there. */
const pages: [address: string, heading: string | RegExp][] = [
  ["/domains", "Domains"],
  ["/domains/add", "Add domains"],
  ["/domains/q7.io", "q7.io"],
  ["/domains/q7.io/history", "q7.io"],
  ["/domains/q7.io/events", "q7.io"],
  ["/domains/q7.io/dns", "q7.io"],
  ["/domains/q7.io/ownership", "q7.io"],
  ["/domains/q7.io/configuration", "q7.io"],
  ["/events", "Events"],
  ["/networks", "Networks"],
  ["/fleet", "Fleet"],
  ["/settings/members", "Members"],
  ["/settings/notifications", "Notifications"],
  ["/settings/tokens", /tokens/i],
  ["/settings/account", /account/i],
  ["/tools/configure", /Set up|Configure/i],
  ["/tools/scan", /Scan/],
  ["/tools/check", /Check/],
  ["/tools/compare", /Cache vs authoritative/],
  ["/tools/fqdn", /FQDN|host name/i],
  ["/tools/trace", /Trace/],
];

/** Keeps warnings and errors of the console. */
function listen(page: Page): string[] {
  const said: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "warning" || message.type() === "error") said.push(message.text());
  });
  return said;
}

/** Follows a link as the router does for any link in a page. */
async function follow(page: Page, address: string): Promise<void> {
  await page.evaluate((href) => {
    const link = document.createElement("a");
    link.href = href;
    link.textContent = "there";
    document.querySelector("main")?.append(link);
    link.click();
  }, address);
}

test.beforeAll(async ({ request }) => {
  await emptyInventory(request);
  expect((await request.post("/api/v1/domains", { data: { names: ["q7.io"] } })).status()).toBe(200);
  await scanned(request, ["q7.io"]);
});

for (const [address, heading] of pages) {
  test(`${address} opens directly and by a link, quietly`, async ({ page }) => {
    const said = listen(page);
    await page.goto(address);
    await hydrated(page);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(heading);
    // From a page of another part.
    await page.goto(["/domains", "/domains/add"].includes(address) ? "/networks" : "/domains");
    await hydrated(page);
    await follow(page, address);
    await expect(page).toHaveURL(address);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(heading);
    expect(said).toEqual([]);
  });
}

test("a part is fetched when a link to it is focused, and once", async ({ page }) => {
  const fetched: string[] = [];
  page.on("request", (request) => {
    if (request.url().endsWith(".wasm")) fetched.push(request.url());
  });
  await page.goto("/domains");
  await hydrated(page);
  const before = fetched.length;
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Trace" }).focus();
  await expect.poll(() => fetched.length).toBeGreaterThan(before);
  await page.waitForLoadState("networkidle");
  const ahead = fetched.length;
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(/Trace/);
  expect(fetched.length).toBe(ahead);
  expect(new Set(fetched).size).toBe(fetched.length);
});

test("a part that can't be loaded becomes a full load of its address", async ({ page, complaints }) => {
  await page.goto("/domains");
  await hydrated(page);
  await page.route("**/*.wasm", (route) => route.abort());
  await follow(page, "/tools/trace");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(/Trace/);
  await expect(page).toHaveURL("/tools/trace");
  // The browser and the loader both report the requests that this test aborts.
  complaints.length = 0;
});

test("a search typed before the program has loaded is searched", async ({ page }) => {
  let release = () => {};
  const held = new Promise<void>((done) => (release = done));
  await page.route("**/*.wasm", async (route) => {
    await held;
    await route.continue();
  });
  await page.goto("/domains", { waitUntil: "commit" });
  const search = page.getByRole("searchbox");
  await search.pressSequentially("nothing-like");
  await search.blur();
  release();
  await expect(page).toHaveURL(/q=nothing-like/);
  await expect(search).toHaveValue("nothing-like");
});

test("the search is a form without the program", async ({ browser, server }) => {
  const context = await browser.newContext({ javaScriptEnabled: false, baseURL: server.url });
  const page = await context.newPage();
  await page.goto("/domains");
  await page.getByRole("searchbox").fill("q7");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/domains\?.*q=q7/);
  await expect(page.locator("tbody tr")).toHaveCount(1);
  await context.close();
});

test("a page whose program stops says so", async ({ page, complaints }) => {
  // Another page than the program expects: it can't attach itself, which is a panic.
  await page.route("/networks", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replaceAll("<use ", "<g ") });
  });
  await page.goto("/networks");
  const alert = page.getByRole("alert").filter({ hasText: "stopped because of an error" });
  await expect(alert).toBeVisible({ timeout: 30_000 });
  await page.unroute("/networks");
  await alert.getByRole("link", { name: "Reload" }).click();
  await hydrated(page);
  await expect(alert).toHaveCount(0);
  expect(complaints.length).toBeGreaterThan(0);
  complaints.length = 0;
});
