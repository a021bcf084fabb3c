"""The resource API with the Python client of Kubernetes, unchanged. Argument: the address of the server."""

import sys

from kubernetes import client, dynamic, watch
from kubernetes.client.rest import ApiException
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError, UnprocessibleEntityError

VERSION = "datumapis.com/v1alpha"


def claim(name, prefix, **metadata):
    record = {"prefix": prefix, "reference": {"group": "apps", "resource": "web"}}
    return {
        "apiVersion": VERSION,
        "kind": "NetworkClaim",
        "metadata": {"name": name, **metadata},
        "spec": {"addressSpace": [record]},
    }


def refused(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"expected {kind.__name__}")


configuration = client.Configuration()
configuration.host = sys.argv[1]
api = dynamic.DynamicClient(client.ApiClient(configuration))

# Discovery: by group and kind, by plural, and by kind alone, which asks every group.
claims = api.resources.get(api_version=VERSION, kind="NetworkClaim")
assert claims.namespaced and "patch" in claims.verbs and claims.name == "networkclaims", claims
assert api.resources.get(api_version=VERSION, kind="ClusterClaim").namespaced is False
assert api.resources.get(kind="Domain").group == "datumapis.com"
assert api.version["kubernetes"]["major"] == "1", api.version
assert claims.subresources["status"].verbs == ["get"], claims.subresources

# Creating, and lists in chunks at one position.
for number in range(5):
    made = claims.create(body=claim(f"c{number}", f"10.0.{number}.0/24"), namespace="default")
    assert made.status.conditions[0].status == "True", made
names, versions, token = [], set(), None
while True:
    page = claims.get(namespace="default", limit=2, **({"_continue": token} if token else {}))
    names += [item.metadata.name for item in page.items]
    versions.add(page.metadata.resourceVersion)
    token = page.metadata["continue"]
    if not token:
        break
assert names == [f"c{n}" for n in range(5)] and len(versions) == 1, (names, versions)
position = versions.pop()

# A write over an old position, and a second creation.
old = claims.get(name="c0", namespace="default")
old.metadata.labels = {"team": "web"}
new = claims.replace(body=old, namespace="default")
assert new.metadata.labels.team == "web" and new.metadata.resourceVersion != old.metadata.resourceVersion
assert "modified" in refused(ConflictError, lambda: claims.replace(body=old, namespace="default")).summary()
again = lambda: claims.create(body=claim("c0", "10.9.0.0/24"), namespace="default")
assert "AlreadyExists" in str(refused(ConflictError, again).body)
bad = lambda: claims.create(body=claim("bad", "10.9.0.1/24"), namespace="default")
assert "host bits" in str(refused(UnprocessibleEntityError, bad).body)

# Merge patch, JSON patch and server-side apply, which a second manager can force.
merge = {"metadata": {"name": "c1", "annotations": {"note": "kept"}}}
made = claims.patch(body=merge, namespace="default", content_type="application/merge-patch+json")
assert made.metadata.annotations.note == "kept" and made.metadata.generation == 1, made
made = claims.patch(
    name="c1",
    body=[{"op": "remove", "path": "/metadata/annotations/note"}],
    namespace="default",
    content_type="application/json-patch+json",
)
assert not made.metadata.annotations, made
apply = lambda prefix, manager, force: claims.server_side_apply(
    body=claim("applied", prefix), namespace="default", field_manager=manager, force_conflicts=force
)
made = apply("10.1.0.0/24", "first", None)
assert made.metadata.managedFields[0].manager == "first", made.metadata
assert "first" in str(refused(ConflictError, lambda: apply("10.2.0.0/24", "second", None)).body)
made = apply("10.2.0.0/24", "second", True)
assert made.status.addressSpace[0].prefix == "10.2.0.0/24", made

# Selectors, as parameters of the client.
assert [i.metadata.name for i in claims.get(namespace="default", label_selector="team=web").items] == ["c0"]
assert len(claims.get(namespace="default", field_selector="metadata.name=c2").items) == 1

# A watch from the position of the list: everything after it, once, in order.
events = claims.watch(namespace="default", resource_version=position, timeout=30)
seen = []
for event in events:
    seen.append((event["type"], event["object"].metadata.name))
    if seen[-1][1] == "applied" and claims.get(name="c4", namespace="default") and len(seen) == 3:
        claims.delete(name="c4", namespace="default")
    if seen[-1][0] == "DELETED":
        break
events.close()
assert seen[-1] == ("DELETED", "c4") and {n for _, n in seen} == {"c0", "c1", "applied", "c4"}, seen

# A watch that begins with the state and says when that is complete.
names = []
for event in claims.watch(
    namespace="default",
    send_initial_events=True,
    resource_version_match="NotOlderThan",
    allow_watch_bookmarks=True,
    timeout=30,
):
    if event["type"] == "BOOKMARK":
        assert event["raw_object"]["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true", event
        break
    names.append(event["object"].metadata.name)
assert names == ["applied", "c0", "c1", "c2", "c3"], names

# The position was pruned: 410, both for the watch and for the next chunk of a list.
page = claims.get(namespace="default", limit=2)
claims.create(body=claim("later", "10.3.0.0/24"), namespace="default")
print("prune", flush=True)
sys.stdin.readline()
stream = watch.Watch().stream(claims.get, namespace="default", resource_version=position, serialize=False)
assert refused(ApiException, lambda: next(stream)).status == 410
token = page.metadata["continue"]
gone = refused(ApiException, lambda: claims.get(namespace="default", limit=2, _continue=token))
assert gone.status == 410 and "Expired" in str(gone.body), gone

# The generated client for custom objects.
custom = client.CustomObjectsApi(client.ApiClient(configuration))
found = custom.get_namespaced_custom_object("datumapis.com", "v1alpha", "default", "networkclaims", "later")
assert found["metadata"]["name"] == "later", found
listed = custom.list_cluster_custom_object("datumapis.com", "v1alpha", "networkclaims")
assert len(listed["items"]) == 6, listed

# Deleting one, all, and one that is gone.
gone = claims.delete(name="later", namespace="default")
assert gone.kind in ("Status", "NetworkClaim"), gone
assert "NotFound" in str(refused(NotFoundError, lambda: claims.delete(name="later", namespace="default")).body)
claims.delete(namespace="default", label_selector="team=web")
assert [i.metadata.name for i in claims.get(namespace="default").items] == ["applied", "c1", "c2", "c3"]
print("done", flush=True)
