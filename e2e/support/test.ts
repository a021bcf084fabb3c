// What every browser test starts from: a server of its own per worker, pages relative to it, a complaint
// about anything the browser's console reports as an error, and helpers for pictures and accessibility.
import AxeBuilder from "@axe-core/playwright";
import { expect, test as base, type Page } from "@playwright/test";
import { resolve } from "node:path";
import { start, type Server } from "./server.ts";

interface Each {
  /** Errors of the page so far; a test that expects some empties it. */
  complaints: string[];
}
interface PerWorker {
  server: Server;
}

export const test = base.extend<Each, PerWorker>({
  server: [
    async ({}, use, worker) => {
      const server = await start(String(worker.workerIndex));
      await use(server);
      await server.stop();
    },
    { scope: "worker", timeout: 90_000 },
  ],
  baseURL: async ({ server }, use) => use(server.url),
  complaints: [
    async ({ page }, use) => {
      const complaints: string[] = [];
      page.on("pageerror", (error) => complaints.push(error.message));
      page.on("console", (message) => {
        if (message.type() === "error") complaints.push(`${message.text()} (${message.location().url})`);
      });
      await use(complaints);
      expect(complaints, "errors in the browser's console").toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };

/** Waits until the page is interactive: the program and the part with this page have loaded and attached themselves. */
export async function hydrated(page: Page): Promise<void> {
  const attached = () => "hydrated" in document.documentElement.dataset;
  await page.waitForFunction(attached, undefined, { timeout: 30_000 });
}

const sizes = { desk: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };

/** Keeps four pictures of a page: light and dark, desk and phone. */
export async function pictures(page: Page, name: string): Promise<void> {
  const before = page.viewportSize() ?? sizes.desk;
  for (const [size, viewport] of Object.entries(sizes)) {
    await page.setViewportSize(viewport);
    const wide = () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    expect(await wide(), `${name}, ${size}: nothing is wider than the page`).toBeLessThanOrEqual(0);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      const path = resolve(import.meta.dirname, `../out/screenshots/${name}-${size}-${colorScheme}.png`);
      await page.screenshot({ path, fullPage: true });
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize(before);
}

/** WCAG 2.2 A and AA by axe, in both colour schemes; and what axe holds best for pages, which a mail is not. */
export async function expectAccessible(page: Page, isPage = true): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    const found = await new AxeBuilder({ page })
      .withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", ...(isPage ? ["best-practice"] : [])])
      .analyze();
    const said = found.violations.map(
      (one) => `${one.id} (${one.impact}): ${one.help}\n  ${one.nodes.map((node) => node.html).join("\n  ")}`,
    );
    expect(said, `accessibility, ${colorScheme}`).toEqual([]);
  }
  await page.emulateMedia({ colorScheme: "light" });
}
