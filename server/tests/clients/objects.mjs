// The resource API with the JavaScript client of Kubernetes, unchanged, over TLS with a token. Arguments: the address of
// the server, the token, the module.
import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [server, token, module] = process.argv.slice(2);
const k8s = await import(pathToFileURL(module).href);
const apiVersion = "datumapis.com/v1alpha";
const address = "/apis/datumapis.com/v1alpha/namespaces/default/networkclaims";
const lines = createInterface(process.stdin)[Symbol.asyncIterator]();

const config = new k8s.KubeConfig();
config.loadFromClusterAndUser({ name: "test", server, skipTLSVerify: true }, { name: "visitor", token });
const objects = k8s.KubernetesObjectApi.makeApiClient(config);
const claim = (name, prefix) => ({
  apiVersion,
  kind: "NetworkClaim",
  metadata: { name, namespace: "default" },
  spec: { addressSpace: [{ prefix, reference: { resource: "web" } }] },
});
const until = async (what, holds) => {
  for (const end = Date.now() + 30_000; !holds(); await new Promise((done) => setTimeout(done, 20)))
    assert.ok(Date.now() < end, `waited for: ${what}`);
};

// Created, listed in chunks, read.
for (const n of [0, 1, 2]) await objects.create(claim(`c${n}`, `10.0.${n}.0/24`));
const all = await objects.list(apiVersion, "NetworkClaim", "default");
assert.deepEqual(all.items.map((o) => o.metadata.name), ["c0", "c1", "c2"]);
const custom = config.makeApiClient(k8s.CustomObjectsApi);
const where = { group: "datumapis.com", version: "v1alpha", namespace: "default", plural: "networkclaims" };
const list = (options) => custom.listNamespacedCustomObject({ ...where, ...options });
const page = await list({ limit: 2 });
assert.deepEqual(page.items.map((o) => o.metadata.name), ["c0", "c1"]);
const rest = await list({ limit: 2, _continue: page.metadata.continue });
assert.deepEqual(rest.items.map((o) => o.metadata.name), ["c2"]);
const read = await objects.read({ apiVersion, kind: "NetworkClaim", metadata: { name: "c0", namespace: "default" } });
assert.equal(read.status.conditions[0].status, "True");
await assert.rejects(objects.create(claim("c0", "10.9.0.0/24")), (e) => e.code === 409);
await assert.rejects(objects.create(claim("bad", "10.9.0.1/24")), (e) => e.code === 422 && e.body.includes("host bits"));

// Applied by the server; another manager gets a conflict and can force.
const apply = (prefix, manager, force) =>
  objects.patch(claim("applied", prefix), undefined, undefined, manager, force, k8s.PatchStrategy.ServerSideApply);
await apply("10.1.0.0/24", "first");
await assert.rejects(apply("10.2.0.0/24", "second"), (e) => e.code === 409 && e.body.includes("first"));
const applied = await apply("10.2.0.0/24", "second", true);
assert.equal(applied.status.addressSpace[0].prefix, "10.2.0.0/24");
await assert.rejects(
  objects.patch(claim("c1", "10.9.0.0/24")), // A strategic merge patch, which custom kinds do not have.
  (e) => e.code === 415,
);

// An informer: the state, what changes, and the state again after its position was pruned.
const informer = k8s.makeInformer(config, address, () => list());
const names = () => informer.list("default").map((o) => o.metadata.name).sort().join();
let lists = 0;
const counted = k8s.makeInformer(config, address, () => ((lists += 1), list()));
await informer.start();
await until("the state", () => names() === "applied,c0,c1,c2");
await objects.create(claim("c3", "10.0.3.0/24"));
await objects.delete({ apiVersion, kind: "NetworkClaim", metadata: { name: "c2", namespace: "default" } });
await until("what changed", () => names() === "applied,c0,c1,c3");
await informer.stop();

// A watch by itself, from a position.
const from = (await list()).metadata.resourceVersion;
await objects.create(claim("c4", "10.0.4.0/24"));
const seen = [];
const watching = new k8s.Watch(config);
const request = await watching.watch(address, { resourceVersion: from }, (type, o) => seen.push(`${type} ${o.metadata.name}`), () => {});
await until("one event", () => seen.join() === "ADDED c4");
request.abort();

// Pruned: the watch gets 410, and an informer lists again.
await counted.start();
await until("the state", () => lists === 1);
await counted.stop();
console.log("prune");
await lines.next();
let code;
await watching.watch(address, { resourceVersion: from }, (type, o) => type === "ERROR" && (code = o.code), () => {});
await until("410", () => code === 410);
await counted.start();
await until("the state again", () => counted.list("default").length === 5);
await counted.stop();
console.log("done");
process.exit(0);
