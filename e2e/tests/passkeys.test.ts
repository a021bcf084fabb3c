// A passkey with Chromium's virtual authenticator: added in the settings, used to sign in, removed. By name: an IP
// address can't have passkeys.
import { readFileSync } from "node:fs";
import { start, type Server } from "../support/server.ts";
import { expect, expectAccessible, hydrated, pictures, test } from "../support/test.ts";

const password = "correct horse battery";

let own: Server;
test.beforeAll(async () => {
  own = await start("passkeys", [], false);
});
test.afterAll(async () => own?.stop());

test("a passkey is added, signs in, and no longer does once it is removed", async ({ page, complaints }) => {
  test.setTimeout(180_000);
  const site = own.url.replace("127.0.0.1", "localhost");
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("WebAuthn.enable");
  const { authenticatorId } = await cdp.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });

  const link = /http:\/\/\S+(\/setup\?key=\S+)/.exec(readFileSync(own.log, "utf8"))?.[1];
  await page.goto(`${site}${link}`);
  await page.getByLabel("Organisation").fill("Alder Labs");
  await page.getByLabel("Your name").fill("Mira Holt");
  await page.getByLabel("Email").fill("mira@alder.example");
  await page.getByLabel("New password").fill(password);
  await page.getByRole("button", { name: "Create account" }).click();
  await expect(page).toHaveURL(`${site}/domains`);

  await page.goto(`${site}/settings/account`);
  await hydrated(page);
  await expect(page.getByText("No passkeys yet")).toBeVisible();
  await page.getByText("Add a passkey").click();
  await page.getByLabel("Name of the passkey").fill("Work laptop");
  await page.getByLabel("Password to confirm").fill("not this one");
  await page.getByRole("button", { name: "Create passkey" }).click();
  await expect(page.getByRole("alert").getByText("not your current password")).toBeVisible();
  await page.getByLabel("Password to confirm").fill(password);
  await page.getByRole("button", { name: "Create passkey" }).click();
  await expect(page.getByText("Passkey added")).toBeVisible();
  await expect(page.getByRole("rowheader", { name: /Work laptop/ })).toBeVisible();
  await hydrated(page);
  await expectAccessible(page);
  await pictures(page, "settings-passkeys");
  const { credentials } = await cdp.send("WebAuthn.getCredentials", { authenticatorId });
  expect(credentials).toHaveLength(1);
  expect(credentials[0]!.isResidentCredential).toBe(true);

  await page.getByLabel("MH: signed in as Mira Holt").click();
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await expect(page).toHaveURL(`${site}/sign-in`);
  await expectAccessible(page);
  await pictures(page, "sign-in");
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await expect(page).toHaveURL(`${site}/domains`);

  await page.goto(`${site}/settings/account`);
  await hydrated(page);
  await expect(page.getByRole("row", { name: /this session/ }).getByText("Passkey")).toBeVisible();
  await page.getByText("Remove", { exact: true }).click();
  await page.getByRole("button", { name: "Remove Work laptop" }).click();
  await expect(page.getByText("Passkey removed")).toBeVisible();
  await page.goto(`${site}/settings/audit`);
  await expect(page.getByText("Passkey removed").first()).toBeVisible();
  await expect(page.getByText("Passkey added").first()).toBeVisible();

  await page.getByLabel("MH: signed in as Mira Holt").click();
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await expect(page.getByRole("alert")).toContainText("passkey was not accepted");
  await expect(page).toHaveURL(`${site}/sign-in`);
  // Chromium reports the two refusals as errors of its own.
  const refusals = complaints.splice(0);
  expect(refusals.filter((words) => !/status of (401|422)/.test(words))).toEqual([]);
  expect(refusals).toHaveLength(2);
});
