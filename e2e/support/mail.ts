// A real mail server (aiosmtpd) on loopback that keeps what it gets in a folder.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./server.ts";

export interface MailServer {
  readonly url: string;
  /** Mails so far, whole. */
  mails(): string[];
  stop(): void;
}

export async function mailServer(): Promise<MailServer> {
  const python = ["/usr/bin/python3", "python3"].find(
    (one) => spawnSync(one, ["-c", "import aiosmtpd"]).status === 0,
  );
  if (python === undefined) throw new Error("these tests need aiosmtpd: cargo xtask setup installs it");
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "domainscope-e2e-mail-"));
  const box = join(folder, "box");
  const handler = ["-c", "aiosmtpd.handlers.Mailbox", box];
  const child = spawn(python, ["-m", "aiosmtpd", "-n", "-l", `127.0.0.1:${port}`, ...handler], { stdio: "inherit" });
  const stop = () => {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  };
  const limit = Date.now() + 30_000;
  while (!(await listens(port))) {
    if (Date.now() > limit || child.exitCode !== null) {
      stop();
      throw new Error("the mail server did not start");
    }
    await new Promise((wake) => setTimeout(wake, 100));
  }
  const mails = () => readdirSync(join(box, "new")).map((file) => readFileSync(join(box, "new", file), "utf8"));
  return { url: `smtp://127.0.0.1:${port}?tls=none`, mails, stop };
}

function listens(port: number): Promise<boolean> {
  return new Promise((known) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      known(true);
    });
    socket.once("error", () => known(false));
  });
}
