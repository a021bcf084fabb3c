// Browser tests: one Chromium that is already on the machine, one worker (the machines have two cores and
// the server under test needs one). Everything a run leaves behind is in out/.
import { defineConfig } from "@playwright/test";
import { existsSync } from "node:fs";

const browsers = [
  process.env.CHROMIUM,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];
const executablePath = browsers.find((path) => path !== undefined && existsSync(path));
if (executablePath === undefined) {
  throw new Error("no Chromium here: install one, or set CHROMIUM to its path");
}

export default defineConfig({
  testDir: "tests",
  outputDir: "out/results",
  reporter: [["list"], ["html", { outputFolder: "out/report", open: "never" }]],
  forbidOnly: process.env.CI !== undefined,
  workers: 1,
  retries: process.env.CI ? 1 : 0,
  timeout: 60_000,
  expect: { timeout: 10_000 },
  use: {
    locale: "en-US",
    timezoneId: "UTC",
    viewport: { width: 1440, height: 900 },
    // A test that allows itself minutes for many steps does not wait them all for one that will not come.
    actionTimeout: 30_000,
    navigationTimeout: 30_000,
    trace: "retain-on-failure",
    screenshot: "only-on-failure",
    // Pictures are compared by people: nothing in them should move.
    contextOptions: { reducedMotion: "reduce" },
    launchOptions: {
      executablePath,
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
});
