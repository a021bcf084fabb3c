// A forgotten password: a mailed link that works once, the same answer for every address, and what is shown without mail.
import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { mailServer, type MailServer } from "../support/mail.ts";
import { freePort, start, type Server } from "../support/server.ts";
import { expect, expectAccessible, pictures, test } from "../support/test.ts";

let mail: MailServer;
let own: Server;
test.beforeAll(async () => {
  const port = await freePort();
  mail = await mailServer();
  const sender = ["--smtp-url", mail.url, "--mail-from", "Domainscope <scope@alder.example>"];
  own = await start("reset", [...sender, "--public-url", `http://127.0.0.1:${port}`], false, port);
});
test.afterAll(async () => {
  await own?.stop();
  mail?.stop();
});

async function forgot(page: Page, email: string): Promise<void> {
  await page.goto(`${own.url}/sign-in`);
  await page.getByRole("link", { name: "Forgot your password?" }).click();
  await page.getByLabel("Email").fill(email);
  await page.getByRole("button", { name: "Send link" }).click();
}

test("a forgotten password is replaced with a mailed link", async ({ page, browser, complaints }) => {
  test.setTimeout(180_000);
  await page.goto(/http:\/\/\S+\/setup\?key=\S+/.exec(readFileSync(own.log, "utf8"))![0]);
  await page.getByLabel("Organisation").fill("Alder Labs");
  await page.getByLabel("Your name").fill("Mira Holt");
  await page.getByLabel("Email").fill("mira@alder.example");
  await page.getByLabel("New password").fill("correct horse battery");
  await page.getByRole("button", { name: "Create account" }).click();
  await expect(page).toHaveURL(`${own.url}/domains`);

  const other = await browser.newContext();
  const stranger = await other.newPage();
  await stranger.goto(`${own.url}/forgot-password`);
  await expectAccessible(stranger);
  await pictures(stranger, "forgot-password");
  await forgot(stranger, "no-account@alder.example");
  await expect(stranger.getByRole("heading", { name: "Check your mail" })).toBeVisible();
  const words = await stranger.locator("main").innerText();
  await expectAccessible(stranger);
  await forgot(stranger, "Mira@Alder.example");
  await expect(stranger.getByRole("heading", { name: "Check your mail" })).toBeVisible();
  expect(await stranger.locator("main").innerText()).toBe(words);
  await expect.poll(() => mail.mails().length, { timeout: 30_000 }).toBe(1);
  await forgot(stranger, "mira@alder.example");
  await expect.poll(() => mail.mails().length, { timeout: 30_000 }).toBe(2);
  const text = mail.mails().map((one) => one.replaceAll("=\r\n", "").replaceAll("=\n", "").replaceAll("=3D", "="));
  for (const one of text) {
    expect(one).toContain("To: mira@alder.example");
    expect(one).toContain("Auto-Submitted: auto-generated");
  }
  const links = text.map((one) => /http:\/\/\S+\/reset\?key=\S+/.exec(one)![0]);
  expect(links[0]).toContain(`${own.url}/reset?key=dsl_`);

  // A later link replaces an earlier one, which no longer works; which came first is not known from a folder.
  const works: string[] = [];
  for (const link of links) {
    const answer = await stranger.request.get(link);
    if (answer.ok()) works.push(link);
    else expect(answer.status()).toBe(403);
  }
  expect(works).toHaveLength(1);
  await stranger.goto(works[0]!);
  await stranger.getByLabel("New password").fill("a better horse battery");
  await stranger.getByRole("button", { name: "Set password" }).click();
  await expect(stranger).toHaveURL(`${own.url}/domains`);
  expect((await stranger.request.get(works[0]!)).status()).toBe(403);

  // The other session has ended, and only the new password signs in.
  await page.goto(`${own.url}/domains`);
  await expect(page).toHaveURL(/\/sign-in/);
  for (const [password, to] of [
    ["correct horse battery", /\/sign-in$/],
    ["a better horse battery", /\/domains$/],
  ] as const) {
    await page.goto(`${own.url}/sign-in`);
    await page.getByLabel("Email").fill("mira@alder.example");
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await expect(page).toHaveURL(to);
  }
  await page.goto(`${own.url}/settings/audit`);
  await expect(page.getByText("Password reset requested").first()).toBeVisible();
  await expect(page.getByText("Password reset", { exact: true }).first()).toBeVisible();

  // Requests for one address are throttled, with an account and without one alike.
  for (const email of ["mira@alder.example", "no-account@alder.example"]) {
    let status = 200;
    for (let n = 0; n < 6 && status === 200; n++) {
      const answer = await stranger.request.post(`${own.url}/forgot-password`, { form: { email } });
      status = answer.status();
    }
    expect(status, email).toBe(429);
  }
  await forgot(stranger, "mira@alder.example");
  await expect(stranger.getByRole("alert")).toContainText("Too many");
  await other.close();
  const log = readFileSync(own.log, "utf8");
  for (const link of links) expect(log).not.toContain(link.split("key=")[1]!);
  // Chromium reports the refused password as an error of its own.
  expect(complaints.splice(0).filter((one) => !one.includes("status of 401"))).toEqual([]);
});

test("without a mail server the page says who can help", async ({ page }) => {
  const without = await start("reset-without-mail", [], false);
  try {
    await page.goto(`${without.url}/forgot-password`);
    await expect(page.getByText("domainscope admin reset-link")).toBeVisible();
    await expect(page.getByRole("button")).toHaveCount(0);
    await expectAccessible(page);
  } finally {
    await without.stop();
  }
});
