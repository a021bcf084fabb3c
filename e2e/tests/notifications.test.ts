// Notifications as a person sets them up: a channel, its test, a rule with its preview, what failed. The demo's own messages are
// sent to the lab by the product before anyone opens the page.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import PostalMime from "postal-mime";
import { expect, expectAccessible, hydrated, pictures, test } from "../support/test.ts";
import type { Server } from "../support/server.ts";

interface Received {
  at: string;
  to: string[];
  id: string;
  status: number;
  body: string;
}

function endpoints(server: Server): { control: string; https_port: number } {
  return JSON.parse(readFileSync(join(server.data, "lab/endpoints.json"), "utf8"));
}

async function received(server: Server): Promise<Received[]> {
  return (await fetch(`http://${endpoints(server).control}/messages`)).json();
}

test("a channel, its test, a rule and its preview", async ({ page, server }) => {
  test.setTimeout(120_000);
  // The demo's mails and posts have arrived in the lab.
  await expect
    .poll(async () => {
      const all = await received(server);
      return [all.some((m) => m.at === "smtp" && m.to.length > 0), all.some((m) => m.status === 200), all.some((m) => m.status === 410)];
    }, { timeout: 60_000 })
    .toEqual([true, true, true]);
  await expect
    .poll(async () => (await (await page.request.get("/api/v1/messages/failed")).json()).length, { timeout: 30_000 })
    .toBeGreaterThan(0);

  // The page shows the newest message of each channel, which may still be on its way.
  await expect(async () => {
    await page.goto("/settings/notifications");
    await hydrated(page);
    await expect(page.getByText(/Delivered: 250 .* by 127\.0\.0\.1/)).toBeVisible({ timeout: 1_000 });
  }).toPass({ timeout: 60_000 });
  await expect(page.getByRole("heading", { level: 1, name: "Notifications" })).toBeVisible();
  await expect(page.getByRole("heading", { name: "Failed messages" })).toBeVisible();
  await expectAccessible(page);

  await page.getByText("Add a channel").click();
  // Each channel has a form to edit it, too.
  const add = page.locator("form.channel-form");
  // Only the fields of the chosen kind are shown.
  await expect(add.getByLabel("E-mail addresses")).toBeVisible();
  await expect(add.getByLabel("Integration key")).toBeHidden();
  await add.locator('select[name="kind"]').selectOption("webhook");
  await expect(add.getByLabel("E-mail addresses")).toBeHidden();
  await add.getByLabel("Name", { exact: true }).fill("Night shift");
  await add.getByLabel("Address", { exact: true }).fill(`https://hooks.alder.example:${endpoints(server).https_port}/night`);
  await page.getByRole("button", { name: "Add channel" }).click();
  await expect(page.getByText("4 channels, 2 rules")).toBeVisible();
  await hydrated(page);

  await page.getByRole("button", { name: "Send test to Night shift" }).click();
  const outcome = page.getByRole("status").filter({ hasText: "Test delivered at" });
  await expect(outcome).toContainText("200 OK");
  const id = /Message (test-\S+)/.exec(await outcome.innerText())?.[1];
  expect((await received(server)).filter((m) => m.id === id && m.at.endsWith("/night"))).toHaveLength(1);
  await hydrated(page);

  await page.getByRole("link", { name: "Add rule" }).click();
  await expect(page.getByRole("heading", { name: "New rule" })).toBeVisible();
  await page.locator("#rule").getByLabel("Name", { exact: true }).fill("Nights");
  // The preview follows the form a moment later, without a new address.
  await page.getByLabel("Tags").fill("no-such-tag");
  await expect(page.getByText("0 domains", { exact: true })).toBeVisible();
  await expect(page.getByText("This would have sent 0 messages in the last 7 days")).toBeVisible();
  await expect(page).toHaveURL(/\?rule=new/);
  await page.getByLabel("Tags").fill("");
  await page.getByLabel("Expires soon").check();
  await page.getByRole("group", { name: "Channels" }).getByLabel("Chat bridge").uncheck();
  await page.getByLabel("Night shift", { exact: true }).check();
  await page.getByRole("button", { name: "Preview" }).click();
  await expect(page.getByText(/This would have sent \d+ messages in the last 7 days/)).toBeVisible();
  await expect(page.getByText(/Registration ends on/).first()).toBeVisible();
  await hydrated(page);
  await expect(page.getByLabel("Expires soon")).toBeChecked();
  await expectAccessible(page);
  await pictures(page, "notifications-rule");
  await page.getByRole("button", { name: "Save rule" }).click();
  await expect(page.getByText("4 channels, 3 rules")).toBeVisible();
  await expect(page.getByText("Nights", { exact: true })).toBeVisible();
  await hydrated(page);
  await pictures(page, "notifications");

  // What failed is sent again, and fails again for the same reason.
  const before = (await received(server)).filter((m) => m.status === 410).length;
  await page.getByRole("button", { name: /^Send again/ }).first().click();
  await expect.poll(async () => (await received(server)).filter((m) => m.status === 410).length).toBe(before + 1);
});

test("events say what became of their messages", async ({ page }) => {
  await expect
    .poll(async () => (await (await page.request.get("/api/v1/messages/failed")).json()).length, { timeout: 60_000 })
    .toBeGreaterThan(0);
  await page.goto("/events");
  await hydrated(page);
  await expect(page.getByText(/^Sent to DNS operations, Incident desk, /).first()).toBeVisible();
  await expect(page.getByText(/^Not sent to Chat bridge: 410 Gone/).first()).toBeVisible();
  await expectAccessible(page);
  await pictures(page, "events-delivered");

  // Filters are in the address, and all that match are acknowledged after a question.
  const all = await page.locator("ol > li.event").count();
  await page.getByRole("link", { name: /^Delivery failed/ }).click();
  await expect(page).toHaveURL(/delivery=failed/);
  await expect.poll(() => page.locator("ol > li.event").count()).toBeLessThan(all);
  await expect(page.locator("ol > li.event").first()).toContainText("Not sent to Chat bridge");
  await page.locator("summary", { hasText: "Period" }).click();
  await page.getByRole("link", { name: "Last 7 days" }).click();
  await expect(page).toHaveURL(/delivery=failed&last=7d|last=7d&delivery=failed/);
  await page.getByRole("searchbox", { name: "Search events by domain or value" }).fill("no such text");
  await page.keyboard.press("Enter");
  await expect(page.getByText("No event matches these filters")).toBeVisible();
  await expect(page).toHaveURL(/q=no/);
  await expectAccessible(page);
});

test("a mail reads well in light and dark, as HTML and as text", async ({ page, server }) => {
  test.setTimeout(90_000);
  const mails = async () => (await received(server)).filter((m) => m.at === "smtp" && /^Subject: (?!Test)/m.test(m.body));
  await expect.poll(async () => (await mails()).length, { timeout: 60_000 }).toBeGreaterThan(0);
  const [newest] = await mails();
  const mail = await PostalMime.parse(newest!.body);
  // The words of both forms are those of the event, and both lead to its domain.
  expect(mail.text).toContain(mail.subject!.split(":")[0]!.replace(/^\[[^\]]*\] /, ""));
  expect(mail.text).toMatch(/https?:\/\/\S+\/domains\/\S+/);
  expect(mail.html).toMatch(/href="https?:\/\/[^"]+\/domains\/[^"]+"/);
  expect(mail.html, "a mail asks no server for anything").not.toMatch(/<(script|img|link)\b/);
  await page.setContent(mail.html!);
  await expectAccessible(page, false);
  await pictures(page, "mail");
});
