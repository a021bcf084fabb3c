// Points of presence and features: a token is made, an agent that wants an identity of another is refused and shown, one is
// revoked; a feature is turned off and on again, and what it serves follows.
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import type { APIResponse, Locator, Page } from "@playwright/test";
import { start, type Server } from "../support/server.ts";
import { expect, expectAccessible, hydrated, pictures, test } from "../support/test.ts";

// The demo has this point of presence.
const agent = "lab-2";

let own: Server;
test.beforeAll(async () => {
  own = await start("fleet");
});
test.afterAll(async () => own?.stop());
test.describe.configure({ mode: "serial" });

/** No rule is broken on a desk and on a phone; pictures of each. */
async function looked(page: Page, name: string): Promise<void> {
  await expectAccessible(page);
  await page.setViewportSize({ width: 390, height: 844 });
  await expectAccessible(page);
  await page.setViewportSize({ width: 1440, height: 900 });
  await pictures(page, name);
}

/** A request to join, signed with a key of its own as an agent signs it. */
async function join(page: Page, what: { token?: string; id?: string; region: string; version: string }): Promise<APIResponse> {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const body = Buffer.from(JSON.stringify({ protocol: 1, key: publicKey.export({ format: "jwk" }).x, ...what }));
  const stamp = `${Date.now()}000`;
  const text = `domainscope-agent-v1\n/agent/v1/join\n\n${stamp}\n${createHash("sha256").update(body).digest("hex")}`;
  const signature = sign(null, Buffer.from(text), privateKey).toString("base64url");
  return page.request.post(`${own.url}/agent/v1/join`, {
    data: body,
    headers: { "content-type": "application/json", "domainscope-agent": "", "domainscope-stamp": stamp, "domainscope-signature": signature },
  });
}

const listed = (page: Page, name: string): Locator => page.getByRole("row").filter({ has: page.getByText(name, { exact: true }) });

test("a token is made and used by an agent whose identity exists, which the page says", async ({ page, complaints }) => {
  test.setTimeout(180_000);
  await expect
    .poll(
      async () => {
        const fleet = await (await page.request.get(`${own.url}/api/v1/fleet`)).json();
        return fleet.agents.map((a: { id: string; state: string }) => `${a.id} ${a.state}`);
      },
      { timeout: 60_000 },
    )
    .toContain(`${agent} online`);
  await page.goto(`${own.url}/fleet`);
  await hydrated(page);
  await expect(page.getByRole("heading", { level: 1, name: "Fleet" })).toBeVisible();
  await expect(listed(page, agent)).toContainText("Online");
  await looked(page, "fleet");

  const make = page.getByRole("button", { name: "Make a token", exact: true });
  await page.getByLabel("Id", { exact: true }).fill(agent);
  await make.click();
  await expect(page.getByRole("alert")).toContainText(`The id ${agent} exists`);
  await expect(page.getByLabel("Id", { exact: true })).toHaveValue(agent);
  // The browser reports the answer to the refused form.
  expect(complaints.splice(0).every((c) => c.includes("409"))).toBe(true);

  await hydrated(page);
  await page.getByLabel("Id", { exact: true }).fill("");
  await make.click();
  const made = page.locator(".banner").filter({ hasText: "Run this where the point of presence is to be" });
  await expect(made).toBeVisible();
  await hydrated(page);
  await expect(made.getByText("Waiting for the agent to connect")).toBeVisible();
  const command = /domainscope agent --join \S+ --token (dsj_[\w-]+)\.[\w-]+/.exec((await made.textContent()) ?? "");
  expect(command, "the command with the token").not.toBeNull();
  await looked(page, "fleet-token");

  const joined = await join(page, { token: command?.[1], id: agent, region: "over there", version: "0.1.0" });
  expect(joined.status(), await joined.text()).toBe(409);
  await expect(made.getByText(`An agent came and was refused: the id ${agent} exists.`), "without a reload").toBeVisible();
  await page.goto(`${own.url}/fleet`);
  await hydrated(page);
  await expect(page.getByRole("heading", { name: `An agent was refused: the id ${agent} exists` })).toBeVisible();
  await expect(page.getByText("This request did not use up the token.")).toBeVisible();
  await expect(page.getByRole("row").filter({ hasText: "Refused" })).toContainText("over there");
  await expect(page.getByRole("button", { name: /^Copy command for lab-\d+$/ })).toBeVisible();
  await looked(page, "fleet-refused");

  await page.getByRole("button", { name: /^Make a token for lab-\d+$/ }).click();
  const named = page.locator(".banner").filter({ hasText: "Run this where" });
  await expect(named, "the region is kept").toContainText(/ --id lab-\d+ --region 'over there' --token dsj_/);
  await hydrated(page);
  const token = /--id (\S+) --region 'over there' --token (dsj_[\w-]+)\.[\w-]+/.exec((await named.textContent()) ?? "");
  const other = await join(page, { token: token?.[2], id: token?.[1], region: "here", version: "0.0.9" });
  expect(other.status(), await other.text()).toBe(200);
  await expect(named.getByText(`${token?.[1]} has joined, version 0.0.9.`), "without a reload").toBeVisible();
  await expect(named.getByRole("list", { name: "Joining" })).toContainText("First result: not yet");
  const row = listed(page, token?.[1] ?? "");
  await expect(row, "without a reload").toContainText("older than this server");
  // What is open stays open while the page follows the fleet.
  await row.locator("summary").click();
  const read = () => page.waitForResponse((r) => r.url().includes("/api/fn/fleet"), { timeout: 15_000 });
  await read();
  await read();
  await expect(row.locator("button[type=submit]")).toBeVisible();
  await expect(named, "the token is still shown").toContainText("dsj_");
  await page.request.delete(`${own.url}/api/v1/fleet/${token?.[1]}`);
});

test("a point of presence is revoked in two steps", async ({ page }) => {
  await page.goto(`${own.url}/fleet`);
  await hydrated(page);
  const row = listed(page, agent);
  await row.locator("summary").click();
  await row.locator("button[type=submit]").click();
  await expect(listed(page, agent)).toHaveCount(0);
  await expect(page.getByRole("heading", { name: "See DNS from more than one place" })).toBeVisible();
  const fleet = await (await page.request.get(`${own.url}/api/v1/fleet`)).json();
  expect(fleet.agents).toEqual([]);
  expect(fleet.refused, "who was refused for it may join now").toEqual([]);
});

test("a feature is turned off in two steps and on again, and what it serves follows", async ({ page }) => {
  test.setTimeout(120_000);
  const feature = "doh-server";
  const state = async () => {
    const found = await (await page.request.get(`${own.url}/api/v1/features/${feature}`)).json();
    return found.state;
  };
  const served = async () => (await page.request.get(`${own.url}/resolve?name=www.q7.io&type=A`)).status();
  await expect.poll(served, { timeout: 30_000 }).toBe(200);
  await page.goto(`${own.url}/settings/features`);
  await hydrated(page);
  await expect(listed(page, feature)).toContainText("On");
  await looked(page, "features");

  const row = listed(page, feature);
  await row.locator("summary").click();
  await row.getByRole("button", { name: `Turn ${feature} off` }).click();
  await expect.poll(state, { timeout: 30_000 }).toBe("Off");
  expect(await served()).toBe(404);
  await page.goto(`${own.url}/settings/features?feature=${feature}`);
  await hydrated(page);
  await expect(listed(page, feature).first()).toContainText("Off");
  await looked(page, "features-off");

  await listed(page, feature).first().getByRole("button", { name: "Turn on" }).click();
  await expect.poll(state, { timeout: 30_000 }).toBe("On");
  await expect.poll(served, { timeout: 30_000 }).toBe(200);
});
