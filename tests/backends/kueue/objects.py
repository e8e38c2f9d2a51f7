"""Objects as an API server writes them, in neutral names: seconds after a fixed moment, everything else as said."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from clusters.backends.kueue_volcano import names, raw
from clusters.backends.kueue_volcano.snapshot import Snapshot
from clusters.contract import ObservedObject, WorkloadFacts

Object = dict[str, Any]

INSTALLATION = "01kzzzzzzzzzzzzzzzzzzzzzzz"
ULID = "01K00000000000000000000001"
SPACE = "slu-alpha-000001"
RESOURCE = "nvidia.com/gpu"
ZERO = datetime(2026, 1, 10, 8, 0, tzinfo=UTC)
NOW = ZERO + timedelta(days=1)


def moment(seconds: float) -> datetime:
    return ZERO + timedelta(seconds=seconds)


def stamp(seconds: float) -> str:
    return moment(int(seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def cond(kind: str, reason: str = "", message: str = "", *, status: str = "True", s: float = 0) -> Object:
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": stamp(s)}


def no(kind: str, reason: str = "", message: str = "", *, s: float = 0) -> Object:
    return cond(kind, reason, message, status="False", s=s)


def marks(ulid: str = ULID, attempt: int = 1, group: str = "h100", installation: str = INSTALLATION) -> dict[str, str]:
    return {
        names.INSTALLATION: installation,
        names.JOB: ulid.lower(),
        names.ATTEMPT: str(attempt),
        names.GROUP: group,
    }


def job(
    *conditions: Object,
    uid: str = "job-1",
    ulid: str = ULID,
    pods: int = 2,
    cards: int = 4,
    s: float = 0,
    deleted: float | None = None,
    **more: Any,
) -> Object:
    return {
        "kind": "Job",
        "metadata": {
            "name": more.pop("name", "j-bert-0000000001-1"),
            "namespace": SPACE,
            "uid": uid,
            "resourceVersion": more.pop("version", "1"),
            "creationTimestamp": stamp(s),
            "labels": {
                **more.pop("labels", marks(ulid, attempt=more.pop("attempt", 1))),
                names.QUEUE_NAME: "slu-default",
                names.PRIORITY_CLASS: "slu-200",
            },
            "annotations": {names.PODS: str(pods), names.CARDS: str(cards), names.RESOURCE: RESOURCE},
            **({"deletionTimestamp": stamp(deleted), "deletionGracePeriodSeconds": 0} if deleted is not None else {}),
        },
        "spec": {"suspend": False, "parallelism": pods, "completions": pods, "template": {"spec": {}}, **more},
        "status": {"conditions": list(conditions)},
    }


def workload(*conditions: Object, uid: str = "wl-1", owner: str = "job-1", s: float = 0, **more: Any) -> Object:
    """Of a Job, unless ``owner_kind`` says otherwise. ``lost``: seconds of earlier admissions."""
    status: Object = {"conditions": list(conditions)}
    if (evictions := more.pop("evictions", None)) is not None:
        status["schedulingStats"] = {
            "evictions": [
                {"reason": reason, "underlyingCause": cause, "count": count} for reason, cause, count in evictions
            ]
        }
    if (lost := more.pop("lost", None)) is not None:
        status["accumulatedPastExecutionTimeSeconds"] = lost
    if (checks := more.pop("checks", None)) is not None:
        status["admissionChecks"] = checks
    template = {"metadata": {"labels": more.pop("labels", marks())}, "spec": {"containers": [container(8)]}}
    return {
        "kind": "Workload",
        "metadata": {
            "name": f"job-{uid}",
            "namespace": SPACE,
            "uid": uid,
            "resourceVersion": more.pop("version", "1"),
            "creationTimestamp": stamp(s),
            "labels": {names.WORKLOAD_JOB_UID: owner},
            "ownerReferences": [{"kind": more.pop("owner_kind", "Job"), "name": "j", "uid": owner, "controller": True}],
        },
        "spec": {
            "active": more.pop("active", True),
            "queueName": "slu-default",
            "priority": 200,
            "podSets": [{"name": "main", "count": 2, "template": template}],
            **more,
        },
        "status": status,
    }


def admitted(s: float = 1) -> list[Object]:
    return [
        cond("QuotaReserved", "QuotaReserved", "Quota reserved in ClusterQueue slu-alpha", s=s),
        cond("Admitted", "Admitted", "The workload is admitted", s=s),
    ]


def container(cards: int = 4, name: str = "main", **more: Any) -> Object:
    resources = {"limits": {"memory": "8Gi", RESOURCE: str(cards)}, "requests": {"cpu": "4", RESOURCE: str(cards)}}
    return {"name": name, "resources": resources, **more}


def running(s: float) -> Object:
    return {"running": {"startedAt": stamp(s)}}


def exited(code: int, s: float, reason: str = "", *, since: float = 3) -> Object:
    word = reason or ("Completed" if code == 0 else "Error")
    return {"terminated": {"exitCode": code, "reason": word, "startedAt": stamp(since), "finishedAt": stamp(s)}}


def waiting(reason: str, message: str = "") -> Object:
    return {"waiting": {"reason": reason, "message": message}}


def pod(rank: int = 0, state: Object | None = None, *conditions: Object, **more: Any) -> Object:
    """A pod of the Job, on a node and running unless said otherwise. ``deleted``: told to stop then, 30 s of grace."""
    node, s = more.pop("node", "n1"), more.pop("s", 2)
    deleted = more.pop("deleted", None)
    state = running(s + 1) if state is None and node else state
    phase = more.pop("phase", "Running" if state is not None and "running" in state else "Pending")
    placed = [cond("PodScheduled", s=s + 1)] if node else []
    uid = more.pop("uid", f"pod-{rank}")
    owner = more.pop("owner", {"kind": "Job", "uid": "job-1", "controller": True})
    status = {
        "phase": phase,
        "startTime": stamp(s + 1),
        "conditions": [*placed, *conditions],
        "containerStatuses": [{"name": "main", "state": state, **more.pop("main", {})}] if state else [],
    }
    return {
        "kind": "Pod",
        "metadata": {
            "name": more.pop("name", f"j-bert-0000000001-1-{rank}-abcde"),
            "namespace": SPACE,
            "uid": uid,
            "resourceVersion": more.pop("version", "1"),
            "creationTimestamp": stamp(s),
            "labels": {**more.pop("labels", marks()), names.COMPLETION_INDEX: str(rank)},
            "ownerReferences": [owner] if owner else [],
            **(
                {"deletionTimestamp": stamp(deleted + 30), "deletionGracePeriodSeconds": 30}
                if deleted is not None
                else {}
            ),
        },
        "spec": {
            "nodeName": node,
            "containers": more.pop("containers", [container()]),
            "initContainers": more.pop("init_containers", []),
            "overhead": more.pop("overhead", {}),
        },
        "status": {**status, **more},
    }


def unplaced(rank: int = 0, reason: str = "", message: str = "", **more: Any) -> Object:
    told = [no("PodScheduled", reason, message, s=more.get("s", 2) + 1)] if reason else []
    return pod(rank, None, *told, node="", **more)


def pod_group(
    *conditions: Object, owner: str = "job-1", uid: str = "pg-1", phase: str = "Inqueue", **more: Any
) -> Object:
    return {
        "kind": "PodGroup",
        "metadata": {
            "name": "j-bert-0000000001-1",
            "namespace": SPACE,
            "uid": uid,
            "resourceVersion": more.pop("version", "1"),
            "creationTimestamp": stamp(0),
            "labels": more.pop("labels", marks()),
            "ownerReferences": [{"kind": "Job", "name": "j-bert", "uid": owner, "controller": True}],
        },
        "spec": {"minMember": 2},
        "status": {"phase": phase, "conditions": list(conditions)},
    }


def deployment(replicas: int = 2, noted: int | None = None, *conditions: Object, **more: Any) -> Object:
    return {
        "kind": "Deployment",
        "metadata": {
            "name": "j-serve-0000000001-1",
            "namespace": SPACE,
            "uid": more.pop("uid", "dep-1"),
            "resourceVersion": more.pop("version", "1"),
            "creationTimestamp": stamp(0),
            "labels": {**marks(), names.QUEUE_NAME: "slu-default", names.PRIORITY_CLASS: "slu-250"},
            "annotations": {
                names.PODS: str(replicas if noted is None else noted),
                names.CARDS: "1",
                names.RESOURCE: RESOURCE,
            },
            **more,
        },
        "spec": {"replicas": replicas},
        "status": {"conditions": list(conditions)},
    }


def replica(number: int, *conditions: Object, **more: Any) -> Object:
    """A pod of a Deployment."""
    owner = {"kind": "ReplicaSet", "name": "j-serve-5d", "uid": "rs-1", "controller": True}
    more.setdefault("containers", [container(1)])
    return pod(number, more.pop("state", None), *conditions, owner=owner, name=f"j-serve-5d-{number}", **more)


def local_queue(name: str = "slu-default", cluster_queue: str = "slu-alpha", **more: Any) -> Object:
    return {
        "kind": "LocalQueue",
        "metadata": {
            "name": name,
            "namespace": SPACE,
            "uid": f"lq-{name}",
            "resourceVersion": more.pop("version", "1"),
            "labels": {names.INSTALLATION: INSTALLATION},
        },
        "spec": {"clusterQueue": cluster_queue, "stopPolicy": more.pop("stop", "None")},
        "status": {"conditions": more.pop("conditions", [cond("Active", "Ready")]), **more},
    }


def cluster_queue(name: str = "slu-alpha", *, nominal: int = 13, used: int = 0, **more: Any) -> Object:
    def amounts(key: str, count: int) -> list[Object]:
        return [{"name": "slu-h100", "resources": [{"name": RESOURCE, key: str(count)}]}]

    return {
        "kind": "ClusterQueue",
        "metadata": {"name": name, "uid": f"cq-{name}", "resourceVersion": more.pop("version", "1")},
        "spec": {
            "stopPolicy": more.pop("stop", "None"),
            "resourceGroups": [{"coveredResources": [RESOURCE], "flavors": amounts("nominalQuota", nominal)}],
        },
        "status": {
            "conditions": more.pop("conditions", [cond("Active", "Ready")]),
            "flavorsReservation": amounts("total", used),
            "flavorsUsage": amounts("total", used),
        },
    }


def node(name: str = "n1", cards: int = 8, *, usable: int | None = None, ready: str = "True", **more: Any) -> Object:
    def offers(count: int) -> Object:
        return {"cpu": "96", "memory": "1Ti", **({RESOURCE: str(count)} if count else {})}

    condition = {**cond("Ready", status=ready, s=0), "lastHeartbeatTime": stamp(more.pop("heard", 0))}
    return {
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"node-{name}",
            "resourceVersion": more.pop("version", "1"),
            "labels": more.pop("labels", {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}),
        },
        "spec": {"unschedulable": more.pop("cordoned", False), "taints": more.pop("taints", [])},
        "status": {
            "capacity": offers(cards),
            "allocatable": offers(cards if usable is None else usable),
            "conditions": [condition, *more.pop("conditions", [])],
        },
    }


KINDS = {
    kind.kind: kind
    for kind in (
        names.JOBS,
        names.DEPLOYMENTS,
        names.PODS_KIND,
        names.POD_GROUPS,
        names.WORKLOADS,
        names.CLUSTER_QUEUES,
        names.LOCAL_QUEUES,
        names.NODES,
    )
}


def decoded(kind: names.Kind, *objects: Object) -> tuple[Any, ...]:
    """Through the bytes of a list, as they come from the API server."""
    return raw.decode_list(kind, json.dumps({"items": objects}).encode()).items


def snapshot_of(*objects: Object, kinds: tuple[names.Kind, ...] = tuple(KINDS.values())) -> Snapshot:
    """A cluster with exactly these objects. ``kinds``: those that were listed at all."""
    snapshot = Snapshot(INSTALLATION)
    for kind in kinds:
        snapshot.replace(kind, decoded(kind, *(thing for thing in objects if thing["kind"] == kind.kind)))
    return snapshot


QUEUES = (local_queue(), cluster_queue())


def look(*objects: Object, read_at: datetime = NOW, queues: tuple[Object, ...] = QUEUES) -> ObservedObject:
    """The one attempt of these objects."""
    (row,) = snapshot_of(*objects, *queues).observed(read_at=read_at)
    return row


def facts_of(*objects: Object, read_at: datetime = NOW, queues: tuple[Object, ...] = QUEUES) -> WorkloadFacts:
    return look(*objects, read_at=read_at, queues=queues).facts


def event(kind: str, thing: Object) -> raw.Event:
    """One line of a watch."""
    return raw.decode_event(KINDS[thing["kind"]], json.dumps({"type": kind, "object": thing}).encode())
