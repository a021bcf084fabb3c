// The content security policy as a browser enforces it: pages run their own scripts, server-rendered and hydrated, and
// nothing that was written into them.
import { expect, hydrated, test } from "../support/test.ts";

const pages = ["/domains", "/domains/q7.io", "/domains/q7.io/ownership", "/tools/fqdn", "/events", "/networks", "/settings/members", "/settings/account"];

test("no inline script runs but those of the page itself", async ({ page, complaints }) => {
  test.setTimeout(120_000);
  for (const path of pages) {
    await page.goto(path);
    await hydrated(page);
    // What would the page run that its policy does not name? Nothing: a violation is an error in the console.
    expect(complaints, path).toEqual([]);
    const inline = await page.locator("script:not([src])").evaluateAll((all) =>
      all
        .map((one) => one as HTMLScriptElement)
        // Data is no script.
        .filter((one) => ["", "module", "text/javascript", "application/javascript"].includes(one.type))
        .map((one) => ({ nonce: one.nonce !== "", text: (one.textContent ?? "").slice(0, 60) })),
    );
    // One is named by its hash: the theme, before anything is painted.
    expect(inline.filter((one) => !one.nonce).length, `${path}: ${JSON.stringify(inline)}`).toBeLessThanOrEqual(1);

    // The ways in which an attacker's text would run.
    await page.evaluate(() => {
      const marks = window as unknown as { ran: string[] };
      marks.ran = [];
      const inlineScript = document.createElement("script");
      inlineScript.textContent = "window.ran.push('inline')";
      const wrong = document.createElement("script");
      wrong.nonce = "guess";
      wrong.textContent = "window.ran.push('nonce')";
      const data = document.createElement("script");
      data.src = "data:text/javascript,window.ran.push('data')";
      const other = document.createElement("script");
      other.src = "https://evil.example/x.js";
      document.body.append(inlineScript, wrong, data, other);
      const holder = document.createElement("div");
      holder.innerHTML = `<img src="data:," onerror="window.ran.push('attribute')"><a href="javascript:window.ran.push('address')">x</a>`;
      document.body.append(holder);
      (holder.querySelector("a") as HTMLAnchorElement).click();
    });
    // Each was refused by the policy, and the console says so.
    const refused = () => complaints.filter((words) => /Content Security Policy/i.test(words)).length;
    await expect.poll(refused, { message: path, timeout: 30_000 }).toBe(6);
    expect(await page.evaluate(() => (window as unknown as { ran: string[] }).ran), path).toEqual([]);
    complaints.length = 0;
  }
});
