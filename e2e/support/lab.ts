// The lab under the demo, as a test changes it while it runs; and the inventory brought to a known state.
import { expect, type APIRequestContext } from "@playwright/test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Server } from "./server.ts";

/** Carries out one of the lab's commands, for example `renew q7.io 1`. */
export async function lab(server: Server, command: string): Promise<string> {
  const endpoints = JSON.parse(readFileSync(join(server.data, "lab/endpoints.json"), "utf8"));
  const answer = await fetch(`http://${endpoints.control}/commands`, {
    method: "POST",
    headers: { "content-type": "text/plain" },
    body: command,
  });
  const said = await answer.text();
  expect(answer.status, `${command}: ${said}`).toBe(200);
  return said;
}

/** Empties the inventory, as it is at a first start. */
export async function emptyInventory(request: APIRequestContext): Promise<void> {
  const { domains } = await (await request.get("/domains.json")).json();
  for (const { name } of domains) {
    expect((await request.delete(`/api/v1/domains/${name}`)).status()).toBe(200);
  }
}

/** Waits until every one of these has been scanned once. */
export async function scanned(request: APIRequestContext, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await expect
      .poll(
        async () => {
          // What an earlier test saw of the name is there from the beginning; its row says whether it was scanned since.
          const { row, scan } = await (await request.get(`/api/v1/domains/${name}`)).json();
          return row.last_scan_at !== null && (scan === null || scan.result !== null);
        },
        { timeout: 30_000, message: `${name} is scanned` },
      )
      .toBe(true);
  }
}
