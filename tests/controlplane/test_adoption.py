"""A cluster that others divide already: looked at without one write, then adopted and managed beside them."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import Membership, Role, Team, User
from clusters.backends.kueue_volcano import names
from clusters.groups import groups_confirm_all
from clusters.models import Cluster
from clusters.preflight.service import preflight_run
from clusters.sync import cluster_sync
from jobs.reconcile.loop import sweep
from quotas.models import TeamQueue
from quotas.plans.store import stored
from quotas.tasks import quotas_apply_cluster_task
from tests.controlplane.console import Console
from tests.controlplane.nodes import NodeGroup as Machines
from tests.controlplane.plane import Plane

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.every_kueue]

CARDS = 32
SPACE, QUEUE = "vision-lab", "vision-cq"
KUEUE = names.CLUSTER_QUEUES.api_version


def theirs(plane: Plane) -> str:
    """Somebody's queue of 16 cards and a job of 8 that runs in it; the uid of its pod."""
    machine = Machines("h100", count=4, cards=8)
    plane.reset(machine)
    labels = {"nvidia.com/gpu.product": machine.product}
    amounts = [{"name": machine.resource, "nominalQuota": "16"}]
    flavors = [{"name": "research", "resources": amounts}]
    group = {"coveredResources": [machine.resource], "flavors": flavors}
    queue = {"namespaceSelector": {}, "resourceGroups": [group], "queueingStrategy": "BestEffortFIFO"}
    container = {"name": "main", "image": "somebody/else:1", "resources": {"limits": {machine.resource: "8"}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    job = {"suspend": True, "parallelism": 1, "completions": 1, "template": template}
    for kind, namespace, name, marks, spec in (
        (names.NAMESPACES, None, SPACE, {}, None),
        (names.FLAVORS, None, "research", {}, {"nodeLabels": labels}),
        (names.CLUSTER_QUEUES, None, QUEUE, {}, queue),
        (names.LOCAL_QUEUES, SPACE, "main", {}, {"clusterQueue": QUEUE}),
        (names.JOBS, SPACE, "bert", {names.QUEUE_NAME: "main"}, job),
    ):
        metadata = {"name": name, "labels": marks} | ({"namespace": namespace} if namespace else {})
        manifest = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
        plane.request("POST", kind.path(namespace), manifest | ({"spec": spec} if spec is not None else {}))
    pod = plane.wait_for(lambda: running_pod(plane), "their job runs")
    plane.wait_for(lambda: is_counted(plane), "their queue counts it")
    return pod


def is_counted(plane: Plane) -> bool:
    """A queue's own figures come a moment after its pods."""
    status = plane.client.find(names.CLUSTER_QUEUES.path(None, QUEUE)).get("status", {})
    return bool(status.get("admittedWorkloads")) and bool(status.get("flavorsUsage"))


def running_pod(plane: Plane) -> str:
    return next((pod["metadata"]["uid"] for pod in plane.pods(SPACE) if pod["status"].get("phase") == "Running"), "")


def our_writes(plane: Plane, since: int) -> list[tuple[str, str]]:
    """What the three accounts of the console changed, or tried to."""
    users = {plane.user_of(account) for account in ("runtime", "quota", "node")}
    return [
        (call.verb, call.path)
        for call in plane.audit.calls(since)
        if call.user in users
        and call.verb not in ("get", "list", "watch")
        and call.group not in ("authentication.k8s.io", "authorization.k8s.io")
    ]


def nominal(plane: Plane) -> dict[str, int]:
    """Cards by queue and pool, of everybody."""
    found = {}
    for kind in (names.CLUSTER_QUEUES, names.COHORTS):
        for item in plane.client.items(kind.path()):
            groups = item["spec"].get("resourceGroups") or ()
            parts = [each for group in groups for flavor in group["flavors"] for each in flavor["resources"]]
            cards = sum(int(each["nominalQuota"]) for each in parts if each["name"] == "nvidia.com/gpu")
            found[f"{kind.plural}/{item['metadata']['name']}"] = cards
    return found


def connected(plane: Plane) -> Console:
    """By the API, with nothing said about how to begin."""
    teams = {
        slug: Team.objects.create(slug=slug, name=slug.title(), space=f"slu-{slug}-000000") for slug in ("vision",)
    }
    User.objects.create_user("admin", password="correct horse battery", is_platform_admin=True)
    person = User.objects.create_user("eng-vision-1", password="correct horse battery")
    Membership.objects.create(user=person, team=teams["vision"], role=Role.ENGINEER)
    console = Console(plane, Cluster(), teams, {}, None)  # type: ignore[arg-type] # as soon as they are there
    files = {account: plane.kubeconfig(account).read_text() for account in ("runtime", "quota")}  # type: ignore[arg-type]
    answer = call(console, "post", "/api/v1/clusters", name="Lab", is_default=True, **files)
    assert answer["mode"] == "watching"
    console.cluster = Cluster.objects.get(slug="lab")
    console.queues = {queue.slug: queue for queue in TeamQueue.objects.filter(cluster=console.cluster)}
    return console


def call(console: Console, method: str, path: str, **body: Any) -> Any:
    response = getattr(console.api("admin"), method)(path, body, format="json")
    assert response.status_code < 300, response.content
    return response.json()


def work(console: Console) -> None:
    """What the beat would ask for."""
    assert cluster_sync(console.cluster)
    assert preflight_run(console.cluster)
    quotas_apply_cluster_task(console.cluster.pk)
    sweep()


def test_a_divided_cluster_is_watched_without_a_write_and_then_managed_beside_its_others(shared_plane: Plane) -> None:
    plane = shared_plane
    pod = theirs(plane)
    before = plane.audit.mark()
    console = connected(plane)
    work(console)
    groups_confirm_all(actor=None, cluster=console.cluster)
    console.group = console.cluster.groups.get()
    work(console)
    told = call(console, "post", "/api/v1/clusters/lab/found-queues/look")
    (queue,) = told["queues"]
    assert (queue["name"], queue["proposed_team"], queue["running"]) == (QUEUE, "vision", 1)
    assert [(part["cards"], part["held"]) for part in queue["cards"]] == [(16, 8)]
    version = stored(console.cluster).number
    wanted = {"queues": {QUEUE: "vision"}, "expected_version": version}
    call(console, "post", "/api/v1/clusters/lab/found-queues/adopt", **wanted)
    assert our_writes(plane, before) == []

    call(console, "put", "/api/v1/clusters/lab/mode", mode="managing", confirmed=True)
    work(console)
    assert nominal(plane) == {
        f"clusterqueues/{QUEUE}": 16, "clusterqueues/slu-vision": 0, f"cohorts/{names.COHORT}": CARDS - 16,
    }  # fmt: skip
    resource = "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota"
    patch = [{"op": "replace", "path": resource, "value": "8"}]
    path = names.CLUSTER_QUEUES.path(None, QUEUE)
    plane.request("PATCH", path, patch, content_type="application/json-patch+json")
    work(console)
    assert nominal(plane) == {
        f"clusterqueues/{QUEUE}": 8, "clusterqueues/slu-vision": 8, f"cohorts/{names.COHORT}": CARDS - 16,
    }  # fmt: skip
    console.until(console.submit(cards=8), "running")
    assert running_pod(plane) == pod
    assert not [write for write in our_writes(plane, before) if QUEUE in write[1] or SPACE in write[1]]
