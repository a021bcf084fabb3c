// A private PostgreSQL cluster on a unix socket. A shell holds it and ends it when its standard input closes, so it goes
// away even when the tests are killed.
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

/** PostgreSQL refuses root, so a root caller runs it as this user. */
const unprivileged = "nobody";

const script = `
cd "$1" || exit 1
PATH="$2:$PATH"
initdb -D data -U story -A trust -E UTF8 --locale=C.UTF-8 --no-sync >init.log 2>&1 || { cat init.log >&2; exit 1; }
pg_ctl -D data -l server.log -w -t 60 -o "-c listen_addresses='' -c unix_socket_directories='$1' -c fsync=off" start >start.log 2>&1 ||
  { cat start.log server.log >&2; exit 1; }
echo ready
cat >/dev/null
pg_ctl -D data -m immediate -w stop >/dev/null 2>&1
rm -rf data ./*.log
`;

export interface Cluster {
  /** URL of its one database. */
  readonly url: string;
  stop(): Promise<void>;
}

/** The folder of PostgreSQL's programs, which `cargo xtask setup` installs as it does the browser. */
function programs(): string {
  const complete = (folder: string) => ["initdb", "pg_ctl"].every((program) => existsSync(join(folder, program)));
  const shipped = "/usr/lib/postgresql";
  const versions = existsSync(shipped) ? readdirSync(shipped).sort().reverse() : [];
  const folders = [...(process.env.PATH ?? "").split(delimiter), ...versions.map((v) => join(shipped, v, "bin"))];
  const found = folders.find(complete);
  if (found === undefined) {
    throw new Error(`no initdb and pg_ctl in PATH nor in ${shipped}/*/bin: install PostgreSQL (cargo xtask setup)`);
  }
  return found;
}

/** Starts a cluster. */
export async function cluster(): Promise<Cluster> {
  const folder = programs();
  const place = mkdtempSync(join(tmpdir(), "domainscope-e2e-pg-"));
  const root = process.getuid?.() === 0;
  if (root) execFileSync("chown", [unprivileged, place]);
  const shell = ["sh", "-c", script, "sh", place, folder];
  const [program, ...args] = root ? ["runuser", "-u", unprivileged, "--", ...shell] : shell;
  const holder = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
  const stop = async () => {
    const gone = new Promise<void>((done) => (holder.exitCode === null ? holder.once("exit", () => done()) : done()));
    holder.stdin.end();
    await gone;
    rmSync(place, { recursive: true, force: true });
  };
  try {
    await ready(holder);
  } catch (reason) {
    await stop();
    throw reason;
  }
  return { url: `postgres://story@localhost/postgres?host=${place}`, stop };
}

function ready(holder: ChildProcess): Promise<void> {
  return new Promise((started, failed) => {
    let said = "";
    holder.once("error", failed);
    holder.once("exit", () => failed(new Error(`PostgreSQL did not start: ${said}`)));
    holder.stderr?.on("data", (text) => (said += text));
    holder.stdout?.once("data", () => started());
  });
}
