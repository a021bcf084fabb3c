// Sign-in with a real OpenID Connect provider: first and second sign-in, roles, and everything that is refused.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "@playwright/test";
import { provider, type Person, type SignInProvider } from "../support/provider.ts";
import { freePort, start, type Server } from "../support/server.ts";
import { expect, expectAccessible, hydrated, pictures, test } from "../support/test.ts";

const password = "correct horse battery";
const person = (login: string, groups: string[], email_verified = true): Person => ({
  name: `${login[0]!.toUpperCase()}${login.slice(1)} Alder`,
  email: `${login}@alder.example`,
  email_verified,
  groups,
});

let own: Server;
let oidc: SignInProvider;
let folder: string;

test.beforeAll(async () => {
  const port = await freePort();
  const people = new Map([
    ["ada", person("ada", ["staff", "dns-admins"])],
    ["ben", person("ben", ["guests"])],
    ["cleo", person("cleo", ["staff"], false)],
    ["mira", person("mira", ["staff"])],
  ]);
  oidc = await provider(`http://127.0.0.1:${port}/sign-in/oidc/callback`, people);
  folder = mkdtempSync(join(tmpdir(), "domainscope-e2e-secret-"));
  writeFileSync(join(folder, "secret"), `${oidc.secret}\n`);
  const settings = join(folder, "settings.toml");
  writeFileSync(settings, `allow_networks = ["127.0.0.0/8"]\nweb_ports = [${oidc.port}]\n[oidc]\nlabel = "Alder ID"\ncreate_accounts = true\n`);
  own = await start(
    "single-sign-on",
    [
      ...["--config", settings],
      ...["--oidc-issuer", oidc.issuer, "--oidc-client-id", "domainscope"],
      ...["--oidc-client-secret-file", join(folder, "secret"), "--oidc-scopes", "openid,email,profile,groups"],
      ...["--oidc-role-claim", "groups", "--oidc-role", "dns-admins=admin", "--oidc-role", "staff=viewer"],
    ],
    false,
    port,
  );
});
test.afterAll(async () => {
  await own?.stop();
  await oidc?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A browser of its own. The provider's sample pages load a font from the Internet. */
async function fresh(browser: Browser): Promise<{ context: BrowserContext; page: Page }> {
  const context = await browser.newContext();
  await context.route(/fonts\.googleapis\.com/, (route) => route.fulfill({ contentType: "text/css", body: "" }));
  return { context, page: await context.newPage() };
}

/** From our sign-in page to the provider's. */
async function begin(page: Page): Promise<void> {
  await page.goto(`${own.url}/sign-in?to=/settings/account`);
  await page.getByRole("link", { name: "Sign in with Alder ID" }).click();
  await expect(page.getByPlaceholder("Enter any login")).toBeVisible();
}

/** From the provider's page to its answer. */
async function answer(page: Page, login: string): Promise<void> {
  await page.getByPlaceholder("Enter any login").fill(login);
  await page.getByPlaceholder("and password").fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
}

async function signIn(page: Page, login: string): Promise<void> {
  await begin(page);
  await answer(page, login);
}

/** A sign-in that stops before its code is used: the address with the code, and the cookie that belongs to it. */
async function unfinished(page: Page, login: string): Promise<{ address: string; value: string }> {
  let address = "";
  page.on("request", (request) => {
    if (request.url().includes("/sign-in/oidc/callback")) address = request.url();
  });
  await begin(page);
  const name = "domainscope_oidc";
  const value = (await page.context().cookies(own.url)).find((cookie) => cookie.name === name)!.value;
  await page.context().clearCookies({ name });
  await answer(page, login);
  await refused(page, /started elsewhere/);
  return { address, value };
}

async function refused(page: Page, words: RegExp): Promise<void> {
  await expect(page).toHaveURL(/\/sign-in\?problem=[a-z-]+$/);
  await expect(page.getByRole("alert")).toHaveText(words);
  const session = (await page.context().cookies(own.url)).filter((cookie) => cookie.name === "domainscope_session");
  expect(session).toEqual([]);
}

test("people of the provider sign in with the role of their groups, and everyone else is refused", async ({ page, browser }) => {
  test.setTimeout(240_000);
  const link = /http:\/\/\S+\/setup\?key=\S+/.exec(readFileSync(own.log, "utf8"))?.[0];
  await page.goto(link!);
  await page.getByLabel("Organisation").fill("Alder Labs");
  await page.getByLabel("Your name").fill("Mira Holt");
  await page.getByLabel("Email").fill("mira@alder.example");
  await page.getByLabel("New password").fill(password);
  await page.getByRole("button", { name: "Create account" }).click();
  await expect(page).toHaveURL(`${own.url}/domains`);

  // The first sign-in makes the account, with the highest role of its groups.
  const { context, page: ada } = await fresh(browser);
  let callback = "";
  ada.on("request", (request) => {
    if (request.url().includes("/sign-in/oidc/callback")) callback = request.url();
  });
  await ada.goto(`${own.url}/sign-in`);
  await expectAccessible(ada);
  await pictures(ada, "sign-in-provider");
  await signIn(ada, "ada");
  await expect(ada).toHaveURL(`${own.url}/settings/account`);
  await expect(ada.getByRole("row", { name: /this session/ }).getByText("Single sign-on")).toBeVisible();
  const members = async () => {
    await page.goto(`${own.url}/settings/members`);
    return page.getByRole("rowheader", { name: /@/ });
  };
  await expect(await members()).toHaveCount(2);
  await expect(page.getByRole("row", { name: /Ada Alder/ })).toContainText("Admin");

  // Neither the address with its code nor the code in another sign-in works again.
  const code = new URL(callback).searchParams.get("code");
  expect(code).toBeTruthy();
  const { context: second, page: other } = await fresh(browser);
  await other.goto(callback);
  await refused(other, /started elsewhere, already used/);
  const begun = await second.request.get(`${own.url}/sign-in/oidc`, { maxRedirects: 0 });
  const asked = new URL(begun.headers()["location"]!);
  expect(asked.searchParams.get("code_challenge_method")).toBe("S256");
  expect(asked.searchParams.get("nonce")).toBeTruthy();
  const cookie = begun.headers()["set-cookie"]!;
  expect(cookie).toMatch(/^domainscope_oidc=.*HttpOnly; SameSite=Lax; Max-Age=600/);
  const replayed = new URL(`${own.url}/sign-in/oidc/callback`);
  replayed.search = new URLSearchParams({ code: code!, state: asked.searchParams.get("state")! }).toString();
  await other.goto(replayed.href);
  await refused(other, /answer could not be verified/);

  // A forged state, and a sign-in that another browser began (login CSRF).
  await second.request.get(`${own.url}/sign-in/oidc`, { maxRedirects: 0 });
  await other.goto(`${own.url}/sign-in/oidc/callback?code=${code}&state=forged`);
  await refused(other, /started elsewhere/);
  const { context: third, page: attacker } = await fresh(browser);
  const { address: kept } = await unfinished(attacker, "ada");
  await other.goto(kept);
  await refused(other, /started elsewhere/);
  await third.close();

  // Signed out, the session is gone; the second sign-in finds the account, with the role that it has now.
  const session = (await context.cookies(own.url)).find((one) => one.name === "domainscope_session")!;
  await hydrated(ada);
  await ada.getByLabel("AA: signed in as Ada Alder").click();
  await ada.getByRole("button", { name: "Sign out", exact: true }).click();
  await expect(ada).toHaveURL(`${own.url}/sign-in`);
  const after = await fetch(`${own.url}/domains`, {
    redirect: "manual",
    headers: { cookie: `domainscope_session=${session.value}` },
  });
  expect(after.status).toBe(303);
  oidc.people.set("ada", person("ada", ["staff"]));
  await ada.getByRole("link", { name: "Sign in with Alder ID" }).click();
  await expect(ada).toHaveURL(`${own.url}/domains`);
  await expect(await members()).toHaveCount(2);
  await expect(page.getByRole("row", { name: /Ada Alder/ })).toContainText("Viewer");

  // No role; an address that is not verified; one that belongs to an account here; a person who changes their mind.
  for (const [login, words] of [
    ["ben", /has no role here/],
    ["cleo", /does not state that your e-mail address is verified/],
    ["mira", /No account here is linked/],
  ] as const) {
    const { context: one, page: stranger } = await fresh(browser);
    await signIn(stranger, login);
    await refused(stranger, words);
    await one.close();
  }
  await expect(await members()).toHaveCount(2);
  await other.goto(`${own.url}/sign-in`);
  await other.getByRole("link", { name: "Sign in with Alder ID" }).click();
  await other.getByRole("link", { name: /Cancel/ }).click();
  await refused(other, /cancelled or denied/);
  await expectAccessible(other);

  await page.goto(`${own.url}/settings/audit`);
  for (const words of ["Member joined", "Role changed", "Signed out"]) {
    await expect(page.getByRole("row", { name: new RegExp(words) }).filter({ hasText: /Ada/ }).first()).toBeVisible();
  }
  await expect(page.getByText("single_sign_on").first()).toBeVisible();

  // The provider goes down while the person is there.
  const { address, value } = await unfinished(other, "ada");
  await second.addCookies([{ name: "domainscope_oidc", value, url: own.url }]);
  await oidc?.stop();
  await other.goto(address);
  await refused(other, /provider can't be reached/);
  await second.close();
  await context.close();

  const log = readFileSync(own.log, "utf8");
  expect(log).not.toContain(code);
  expect(log).not.toContain(oidc.secret);
});
