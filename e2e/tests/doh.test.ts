// A browser that uses the server as its secure DNS (DNS over HTTPS, RFC 8484): names of the lab exist for no one else,
// so a page that opens was resolved here; the server's own counter says the same.
import { chromium, type BrowserContext } from "@playwright/test";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { expect, test } from "../support/test.ts";
import type { Server } from "../support/server.ts";

const site = "www.kestrel-bank.example";

/** The template that the server prints when it starts. */
function template(server: Server): string {
  const found = readFileSync(server.log, "utf8").match(/DNS over HTTPS: (https:\S+)/);
  expect(found, "the server says where its DNS over HTTPS is").not.toBeNull();
  return found![1]!;
}

/** Hash of the server's public key, as Chromium takes it: its certificate is from the lab's authority. */
function keyHash(url: URL): Promise<string> {
  return new Promise((found, failed) => {
    const socket = connect({ host: url.hostname, port: Number(url.port), rejectUnauthorized: false }, () => {
      const key = socket.getPeerX509Certificate()!.publicKey.export({ type: "spki", format: "der" });
      socket.end();
      found(createHash("sha256").update(key).digest("base64"));
    });
    socket.once("error", failed);
  });
}

/** Questions the server has answered on /dns-query, asked with GET as Chromium does. */
async function answered(server: Server): Promise<number> {
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  const lines = metrics.split("\n").filter((line) => /^domainscope_doh_requests_total\{.*\}/.test(line));
  const wanted = lines.filter((line) => line.includes('path="dns-query"') && line.includes('status="200"'));
  return wanted.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

/** A browser of its own with these DNS settings, as a person sets them; `use` gets it while it runs. */
async function browser(
  launch: { executablePath?: string; args?: string[] },
  state: object,
  use: (context: BrowserContext) => Promise<void>,
): Promise<void> {
  const profile = mkdtempSync(join(tmpdir(), "domainscope-doh-"));
  writeFileSync(join(profile, "Local State"), JSON.stringify({ dns_over_https: state }));
  const context = await chromium.launchPersistentContext(profile, launch);
  try {
    await use(context);
  } finally {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  }
}

test("Chromium resolves through the server when it is set as secure DNS", async ({ server, launchOptions }) => {
  const doh = template(server);
  const { http_port: port } = JSON.parse(readFileSync(join(server.data, "lab/endpoints.json"), "utf8"));
  const trusted = `--ignore-certificate-errors-spki-list=${await keyHash(new URL(doh.replace("{?dns}", "")))}`;
  const launch = { ...launchOptions, args: [...(launchOptions.args ?? []), trusted] };
  const before = await answered(server);
  await browser(launch, { mode: "secure", templates: doh }, async (context) => {
    const page = await context.newPage();
    const answer = await page.goto(`http://${site}:${port}/`);
    expect(answer?.status()).toBe(200);
    await expect(page.locator("body")).toContainText("Kestrel Bank.");
    const known = await answered(server);
    expect(known, "the server was asked").toBeGreaterThan(before);
    await expect(page.goto(`http://nothing-here.kestrel-bank.example:${port}/`)).rejects.toThrow(
      "ERR_NAME_NOT_RESOLVED",
    );
    expect(await answered(server), "for every name").toBeGreaterThan(known);
  });
  const after = await answered(server);
  await browser(launch, { mode: "off", templates: "" }, async (context) => {
    const page = await context.newPage();
    await expect(page.goto(`http://${site}:${port}/`), "no one else knows the name").rejects.toThrow(
      "ERR_NAME_NOT_RESOLVED",
    );
  });
  expect(await answered(server), "with the setting off no one asks").toBe(after);
});
