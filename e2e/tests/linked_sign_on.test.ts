// An account at a real OpenID Connect provider, linked to an existing account by its owner and unlinked again; and a
// provider that does not say whether an address is verified.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { provider, type SignInProvider } from "../support/provider.ts";
import { freePort, start, type Server } from "../support/server.ts";
import { expect, expectAccessible, hydrated, pictures, test } from "../support/test.ts";

const password = "correct horse battery";
test.use({ actionTimeout: 20_000 });

const settings = {
  // No new account is made: one is linked from the inside.
  closed: "",
  // New people get an account, if the provider vouches for their address.
  strict: 'create_accounts = true\ndefault_role = "viewer"\n',
  // Or if the operator does.
  trusting: 'create_accounts = true\ndefault_role = "viewer"\ntrust_email = true\n',
};
const servers = {} as Record<keyof typeof settings, Server>;
let oidc: SignInProvider;
let folder: string;

test.beforeAll(async () => {
  test.setTimeout(120_000);
  const names = Object.keys(settings) as (keyof typeof settings)[];
  const ports = await Promise.all(names.map(() => freePort()));
  const person = { name: "Mira H.", email: "mh@elsewhere.example", groups: [] };
  const people = new Map([
    ["mh", person],
    ["eve", { name: "Eve Ash", email: "eve@ash.example", groups: [] }],
  ]);
  oidc = await provider(ports.map((port) => `http://127.0.0.1:${port}/sign-in/oidc/callback`), people);
  folder = mkdtempSync(join(tmpdir(), "domainscope-e2e-link-"));
  writeFileSync(join(folder, "secret"), oidc.secret);
  for (const [place, name] of names.entries()) {
    const file = join(folder, `${name}.toml`);
    const table = `[oidc]\nlabel = "Alder ID"\nissuer = "${oidc.issuer}"\nclient_id = "domainscope"\nclient_secret_file = "${folder}/secret"\n`;
    writeFileSync(file, `allow_networks = ["127.0.0.0/8"]\nweb_ports = [${oidc.port}]\n${table}${settings[name]}`);
    servers[name] = await start(`link-${name}`, ["--config", file], false, ports[place]);
  }
});
test.afterAll(async () => {
  for (const server of Object.values(servers)) await server.stop();
  await oidc?.stop();
  if (folder) rmSync(folder, { recursive: true, force: true });
});
test.beforeEach(async ({ page }) => {
  // The provider's sample pages load a font from the Internet.
  await page.route(/fonts\.googleapis\.com/, (route) => route.fulfill({ contentType: "text/css", body: "" }));
});

/** The first account of a server. */
async function setUp(page: Page, server: Server): Promise<void> {
  const link = /http:\/\/\S+\/setup\?key=\S+/.exec(readFileSync(server.log, "utf8"))?.[0];
  await page.goto(link!);
  await page.getByLabel("Organisation").fill("Alder Labs");
  await page.getByLabel("Your name").fill("Mira Holt");
  await page.getByLabel("Email").fill("mira@alder.example");
  await page.getByLabel("New password").fill(password);
  await page.getByRole("button", { name: "Create account" }).click();
  await expect(page).toHaveURL(`${server.url}/domains`);
}

/** From the provider's page to its answer. */
async function answer(page: Page, login: string): Promise<void> {
  await page.getByPlaceholder("Enter any login").fill(login);
  await page.getByPlaceholder("and password").fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
}

/** Opens the form and confirms with this password. */
async function confirm(page: Page, open: string, button: string, secret: string): Promise<void> {
  const form = page
    .locator("details")
    .filter({ has: page.getByRole("button", { name: button, exact: true, includeHidden: true }) });
  if (!(await form.evaluate((one) => (one as HTMLDetailsElement).open))) {
    await page.getByText(open, { exact: true }).click();
  }
  await form.getByLabel("Password to confirm").fill(secret);
  await form.getByRole("button", { name: button, exact: true }).click();
}

test("an account at the provider is linked from the inside, signs in, and is unlinked", async ({ page, complaints }) => {
  test.setTimeout(180_000);
  const site = servers.closed.url;
  await setUp(page, servers.closed);
  await page.goto(`${site}/settings/account`);
  await hydrated(page);
  const card = page.locator("section").filter({ has: page.getByRole("heading", { name: "Single sign-on" }) });
  await expect(card).toContainText("Not linked.");
  await expectAccessible(page);

  await confirm(page, "Link Alder ID", "Confirm", "not this one");
  await expect(page.getByRole("alert")).toContainText("not your current password");
  await hydrated(page);
  await confirm(page, "Link Alder ID", "Confirm", password);
  await expect(card).toContainText("Confirmed");
  await hydrated(page);
  await expectAccessible(page);
  await pictures(page, "settings-link");

  // Cancelled there, nothing is linked and the page says so.
  await page.getByRole("link", { name: "Continue to Alder ID" }).click();
  await page.getByRole("link", { name: /Cancel/ }).click();
  await expect(page).toHaveURL(`${site}/settings/account?link_problem=denied`);
  await expect(page.getByRole("alert")).toContainText("cancelled or denied");
  await hydrated(page);
  await confirm(page, "Link Alder ID", "Confirm", password);
  await page.getByRole("link", { name: "Continue to Alder ID" }).click();
  await answer(page, "mh");
  await expect(page).toHaveURL(`${site}/settings/account?done=provider_linked.1`);
  await expect(page.getByText("Single sign-on linked")).toBeVisible();
  await expect(card).toContainText("You can sign in with Alder ID");
  await hydrated(page);
  await expectAccessible(page);
  await pictures(page, "settings-linked");

  // It signs in to the account, which keeps its own address.
  await page.getByLabel("MH: signed in as Mira Holt").click();
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByRole("link", { name: "Sign in with Alder ID" }).click();
  await expect(page).toHaveURL(`${site}/domains`);
  await page.goto(`${site}/settings/account`);
  await expect(page.locator("main")).toContainText("mira@alder.example");
  await expect(page.getByRole("row", { name: /this session/ })).toContainText("Single sign-on");

  await hydrated(page);
  await confirm(page, "Unlink", "Unlink Alder ID", "not this one");
  await expect(page.getByRole("alert")).toContainText("not your current password");
  await hydrated(page);
  await confirm(page, "Unlink", "Unlink Alder ID", password);
  await expect(page.getByText("Single sign-on unlinked")).toBeVisible();
  await expect(card).toContainText("Not linked.");
  await page.goto(`${site}/settings/audit`);
  await expect(page.getByRole("row", { name: /Single sign-on linked/ })).toContainText(oidc.issuer);
  await expect(page.getByRole("row", { name: /Single sign-on unlinked/ })).toContainText(oidc.issuer);

  await page.getByLabel("MH: signed in as Mira Holt").click();
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByRole("link", { name: "Sign in with Alder ID" }).click();
  await expect(page).toHaveURL(`${site}/sign-in?problem=no-account`);
  await expect(page.getByRole("alert")).toContainText("link the provider under “Your account”");
  // Chromium reports the refused forms as errors of its own.
  const refusals = complaints.splice(0);
  expect(refusals.filter((words) => !/status of 400/.test(words))).toEqual([]);
});

test("an address that the provider does not vouch for makes an account only where the operator does", async ({ page }) => {
  test.setTimeout(120_000);
  for (const name of ["strict", "trusting"] as const) {
    const site = servers[name].url;
    await setUp(page, servers[name]);
    // Its stream of events ends with the page, not with the session.
    await page.goto("about:blank");
    await page.context().clearCookies();
    await page.goto(`${site}/sign-in`);
    await page.getByRole("link", { name: "Sign in with Alder ID" }).click();
    await answer(page, "eve");
    if (name === "strict") {
      await expect(page).toHaveURL(`${site}/sign-in?problem=unverified`);
      await expect(page.getByRole("alert")).toContainText("does not state that your e-mail address is verified");
      await expectAccessible(page);
      expect(readFileSync(servers[name].log, "utf8")).toContain("--oidc-trust-email");
    } else {
      await expect(page).toHaveURL(`${site}/domains`);
      await page.goto(`${site}/settings/account`);
      await expect(page.locator("main")).toContainText("eve@ash.example");
      // The only way in can't be taken away.
      await expect(page.locator("main")).toContainText("It is the only way to sign in to this account");
    }
  }
});
