// The server under test: the built binary with the demo lab, on a free port, with data that is thrown away.
import { spawn, type ChildProcess } from "node:child_process";
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");
const startLimit = 60_000;

export interface Server {
  /** Without a slash at the end. */
  readonly url: string;
  /** Where this server keeps its data. */
  readonly data: string;
  /** Everything it wrote to its two outputs. */
  readonly log: string;
  stop(): Promise<void>;
}

/** Starts a server and returns when it is ready; its words are in the error when it does not get there. */
export async function start(
  name: string,
  extra: readonly string[] = [],
  demo = true,
  port?: number,
): Promise<Server> {
  const binary = process.env.DOMAINSCOPE_BIN ?? join(root, "target/debug/domainscope");
  if (!existsSync(binary)) {
    throw new Error(`${binary} is not built: cargo xtask e2e builds it`);
  }
  port ??= await freePort();
  const url = `http://127.0.0.1:${port}`;
  const data = mkdtempSync(join(tmpdir(), "domainscope-e2e-"));
  const logs = resolve(import.meta.dirname, "../out");
  mkdirSync(logs, { recursive: true });
  const log = join(logs, `server-${name}.log`);
  // Where a database is named, nothing is kept in a folder.
  const place = extra.includes("--database") ? [] : ["--data", data];
  const child = spawn(binary, ["serve", ...(demo ? ["--demo"] : []), "--listen", `127.0.0.1:${port}`, ...place, ...extra], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const file = createWriteStream(log);
  child.stdout.pipe(file, { end: false });
  child.stderr.pipe(file, { end: false });
  const stop = async () => {
    await end(child);
    file.end();
    rmSync(data, { recursive: true, force: true });
  };
  try {
    await ready(url, child);
  } catch (reason) {
    await stop();
    throw new Error(`${reason}\n${readFileSync(log, "utf8").slice(-4000)}`);
  }
  return { url, data, log, stop };
}

async function ready(url: string, child: ChildProcess): Promise<void> {
  const limit = Date.now() + startLimit;
  let failure: Error | undefined;
  child.once("error", (error) => (failure = error));
  while (Date.now() < limit) {
    if (failure !== undefined) throw failure;
    if (child.exitCode !== null) throw new Error(`the server ended with status ${child.exitCode}`);
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
    if (answer?.ok) return;
    await new Promise((wake) => setTimeout(wake, 100));
  }
  throw new Error(`the server was not ready after ${startLimit / 1000} s`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise<void>((done) => child.once("exit", () => done()));
  child.kill("SIGTERM");
  const impatience = setTimeout(() => child.kill("SIGKILL"), 10_000);
  await gone;
  clearTimeout(impatience);
}

/** A port that nothing listens on. */
export function freePort(): Promise<number> {
  return new Promise((found, failed) => {
    const probe = createServer();
    probe.once("error", failed);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => (address !== null && typeof address === "object" ? found(address.port) : failed(address)));
    });
  });
}
