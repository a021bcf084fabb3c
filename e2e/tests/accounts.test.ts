// A new installation: set-up, sign-in, an invitation, the second person, sign-out. Every page of the settings is
// accessible and breaks no rule of its content security policy (a violation is an error in the console).
import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { start, type Server } from "../support/server.ts";
import { expect, expectAccessible, hydrated, pictures, test } from "../support/test.ts";

const password = "correct horse battery";

let own: Server;
test.beforeAll(async () => {
  own = await start("accounts", [], false);
});
test.afterAll(async () => own?.stop());

async function signIn(page: Page, email: string): Promise<void> {
  await page.goto(`${own.url}/sign-in`);
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await expect(page).toHaveURL(`${own.url}/domains`);
}

test("from set-up to the second person and out again", async ({ page, browser }) => {
  test.setTimeout(180_000);
  const link = /http:\/\/\S+\/setup\?key=\S+/.exec(readFileSync(own.log, "utf8"))?.[0];
  expect(link, "the server prints the set-up link").toBeTruthy();
  await page.goto(link!);
  await expectAccessible(page);
  await page.getByLabel("Organisation").fill("Alder Labs");
  await page.getByLabel("Your name").fill("Mira Holt");
  await page.getByLabel("Email").fill("mira@alder.example");
  await page.getByLabel("New password").fill(password);
  await page.getByRole("button", { name: "Create account" }).click();
  await expect(page).toHaveURL(`${own.url}/domains`);
  await hydrated(page);

  // Out and in again; the link works once.
  await page.getByLabel("MH: signed in as Mira Holt").click();
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await expect(page).toHaveURL(`${own.url}/sign-in`);
  await signIn(page, "mira@alder.example");

  await page.getByRole("link", { name: "Settings" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Members" })).toBeVisible();
  await expect(page.getByText("Only one owner")).toBeVisible();
  await hydrated(page);
  await page.getByLabel("Email").fill("ben@birch.example");
  await page.getByLabel("Role", { exact: true }).selectOption("viewer");
  await page.getByRole("button", { name: "Create invitation" }).click();
  await expect(page.getByText("it is shown only once")).toBeVisible();
  await hydrated(page);
  const invitation = await page.locator(".banner-ok dd").first().innerText();
  expect(invitation).toContain(`${own.url}/invite?key=`);
  await expectAccessible(page);
  await pictures(page, "settings-members");

  // The second person, in a browser of their own.
  const other = await browser.newContext();
  const ben = await other.newPage();
  await ben.goto(invitation);
  await expect(ben.getByRole("heading", { name: "Join Alder Labs" })).toBeVisible();
  await ben.getByLabel("Your name").fill("Ben");
  await ben.getByLabel("New password").fill(password);
  await ben.getByRole("button", { name: "Join" }).click();
  await expect(ben).toHaveURL(`${own.url}/domains`);
  await ben.goto(`${own.url}/settings/members`);
  await expect(ben.getByRole("rowheader", { name: /Mira Holt/ })).toBeVisible();
  await expect(ben.getByRole("button", { name: "Create invitation" })).toHaveCount(0);
  await expect(ben.getByRole("link", { name: "API tokens" })).toHaveCount(0);
  await ben.goto(`${own.url}/settings/tokens`);
  await expect(ben.getByText("the admin role is required")).toBeVisible();
  await ben.goto(invitation);
  await expect(ben.getByRole("heading", { name: "This link does not work" })).toBeVisible();

  // Removed, the second person is out with the next request.
  await page.goto(`${own.url}/settings/members`);
  await hydrated(page);
  await page.getByText("Remove", { exact: true }).last().click();
  await page.getByRole("button", { name: "Remove Ben" }).click();
  await expect(page.getByText("Member removed")).toBeVisible();
  await ben.goto(`${own.url}/domains`);
  await expect(ben).toHaveURL(/\/sign-in/);
  await other.close();
});

test("tokens, account, audit log and organisation", async ({ page }) => {
  test.setTimeout(180_000);
  await signIn(page, "mira@alder.example");
  await page.goto(`${own.url}/settings/tokens`);
  await hydrated(page);
  await page.locator("#token-name").fill("ci-inventory");
  await page.getByRole("button", { name: "Create token" }).click();
  await expect(page.getByText("Copy it now")).toBeVisible();
  await hydrated(page);
  const secret = await page.locator(".banner-ok dd").first().innerText();
  const answer = await fetch(`${own.url}/api/v1/summary`, { headers: { authorization: `Bearer ${secret}` } });
  expect(answer.status).toBe(200);
  await expectAccessible(page);
  await pictures(page, "settings-tokens");
  await page.goto(`${own.url}/settings/tokens`);
  await expect(page.getByText(secret)).toHaveCount(0);

  await page.goto(`${own.url}/settings/account`);
  await hydrated(page);
  await page.getByRole("button", { name: "Set up an authenticator app" }).click();
  await expect(page.getByRole("img", { name: "QR code of the secret" })).toBeVisible();
  await hydrated(page);
  await expectAccessible(page);
  await pictures(page, "settings-account");

  await page.goto(`${own.url}/settings/audit`);
  await hydrated(page);
  await expect(page.getByText("Token created")).toBeVisible();
  await expectAccessible(page);
  await pictures(page, "settings-audit");
  await page.getByLabel("About").selectOption("member");
  await page.getByRole("button", { name: "Filter" }).click();
  await expect(page.getByText("Member invited")).toBeVisible();
  await expect(page.getByText("Token created")).toHaveCount(0);

  await page.goto(`${own.url}/settings/organisation`);
  await hydrated(page);
  await page.getByLabel("Name").fill("Alder");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText("Organisation renamed")).toBeVisible();
  await expectAccessible(page);
});
