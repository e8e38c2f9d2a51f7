"""Our builders' objects on the real programs: accepted by every schema and webhook, admitted, and running."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.inference import deployment_manifest
from clusters.backends.kueue_volcano.manifests import job_manifest, pod_group_manifest, secret_manifest
from clusters.backends.kueue_volcano.quota_objects import quota_objects
from clusters.backends.kueue_volcano.quota_order import decreases_first, quotas_of
from clusters.backends.kueue_volcano.shape import ClusterShape, Manifest
from clusters.contract import Code, GroupQuota, QueuePlan, QuotaPlan, WorkloadSpec
from tests.controlplane.nodes import NodeGroup
from tests.controlplane.plane import Plane
from tests.unit.clusters.kueue_volcano.shapes import A100, ASCEND, GIB, H100, INFERENCE, SHAPE, SPECS, spec

SPACE = spec().space
KINDS = {kind.kind: kind for kind in vars(names).values() if isinstance(kind, names.Kind)}
NODES = (
    NodeGroup("h100", 2),
    NodeGroup("a100", 6, product="NVIDIA-A100-SXM4-80GB"),
    NodeGroup("ascend", 2, resource=ASCEND.resource, product="none", labels=dict(ASCEND.selector)),
)
ROOM = {"cpu_millis_per_node": 128_000, "memory_bytes_per_node": 1024 * GIB, "rdma_resource": ""}
HERE = replace(
    SHAPE,
    groups={"h100": replace(H100, **ROOM), "a100": replace(A100, **ROOM), "ascend": replace(ASCEND, **ROOM)},  # type: ignore[arg-type]
)
QUEUE = QueuePlan(
    "vision",
    SPACE,
    (GroupQuota("h100", 16), GroupQuota("a100", 48), GroupQuota("ascend", 16)),
    ("default",),
    borrow_preempts_up_to=200,
)


def apply(plane: Plane, manifest: Manifest) -> dict[str, Any]:
    metadata = manifest["metadata"]
    path = KINDS[manifest["kind"]].path(metadata.get("namespace"), metadata["name"])
    address = f"{path}?fieldManager={names.FIELD_MANAGER}&force=true"
    stored: dict[str, Any] = plane.request("PATCH", address, manifest, content_type="application/apply-patch+yaml")
    return stored


def open_queues(plane: Plane, shape: ClusterShape, pool: int = 0) -> None:
    objects = quota_objects(QuotaPlan((QUEUE,), (GroupQuota("h100", pool),)), shape)
    for manifest in (*objects.before, *objects.queues, objects.cohort, *objects.after):
        apply(plane, manifest)


def submit(plane: Plane, job: WorkloadSpec, shape: ClusterShape) -> None:
    stored = apply(plane, job_manifest(job, shape))
    if shape.has_volcano:
        apply(plane, pod_group_manifest(job, shape, stored["metadata"]["uid"]))


def running(plane: Plane) -> dict[str, str]:
    """Running pods of the space and their nodes."""
    pods = plane.client.items(names.PODS_KIND.path(SPACE))
    return {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in pods if pod["status"]["phase"] == "Running"}


def without_files(number: int, job: WorkloadSpec) -> WorkloadSpec:
    """The job under a name of its own, without what these nodes do not have: volumes, and images to fetch code."""
    return replace(
        job,
        object_name=f"j-{number}-1",
        mounts=(),
        checkpoint_dir="",
        results_dir="",
        env_secrets=("env-x",),
        pull_secrets=(),
        code=Code(),
    )


def test_every_sort_of_job_runs_at_the_first_try(plane: Plane) -> None:
    for group in NODES:
        plane.add_nodes(group)
    open_queues(plane, HERE)
    apply(plane, secret_manifest(SPACE, "env-x", {"WANDB_API_KEY": b"x"}, HERE))
    pods = 0
    for number, name in enumerate(sorted(SPECS)):
        job, shape = SPECS[name]
        submit(plane, without_files(number, job), replace(HERE, has_volcano=shape.has_volcano))
        pods += job.pods
    service = replace(without_files(99, INFERENCE[0]), object_name="j-service-1")
    apply(plane, deployment_manifest(service, HERE))
    plane.wait_for(lambda: len(running(plane)) == pods + service.pods, "every pod of every job runs", 60)
    nodes = running(plane)
    for number, name in enumerate(sorted(SPECS)):
        wanted = SPECS[name][0].node_group
        found = {node.rsplit("-", 1)[0] for pod, node in nodes.items() if pod.startswith(f"j-{number}-1-")}
        assert found and (wanted is None or found == {wanted})


def test_a_job_without_cards_runs_where_every_group_of_its_team_is_topology_aware(plane: Plane) -> None:
    plane.add_nodes(NODES[0])
    open_queues(plane, HERE)
    job, _shape = SPECS["command_without_cards"]
    submit(plane, without_files(0, job), HERE)
    plane.wait_for(lambda: running(plane), "the job without cards runs")
    usage = plane.wait_for(lambda: counted(plane), "its queue counts it")
    assert all(int(resource["total"]) == 0 for flavor in usage for resource in flavor["resources"])


def counted(plane: Plane) -> list[dict[str, Any]]:
    """What the only queue counts as used, once it has counted the job."""
    [queue] = plane.client.items(names.CLUSTER_QUEUES.path())
    status = queue.get("status", {})
    usage: list[dict[str, Any]] = status.get("flavorsUsage", []) if status.get("admittedWorkloads") else []
    return usage


def test_what_a_cluster_gives_back_of_our_quotas_is_no_change(plane: Plane) -> None:
    open_queues(plane, HERE, pool=2000)
    objects = quota_objects(QuotaPlan((QUEUE,), (GroupQuota("h100", 2000),)), HERE)
    current = [*plane.client.items(names.CLUSTER_QUEUES.path()), *plane.client.items(names.COHORTS.path())]
    assert sum(len(quotas_of(obj)) for obj in current) == 5
    assert decreases_first(current, [*objects.queues, objects.cohort]) == []
