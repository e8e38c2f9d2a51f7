"""A cluster full of jobs as an API server writes them: bytes of list pages and of watch events. Pure.

Every job has a Job, a Workload, a PodGroup and, by its kind, pods; together about as many pods as jobs. Objects come
from the product's own builders and carry the managed fields and defaults that a server adds, about 2.5 kB each.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.manifests import job_manifest, pod_group_manifest
from clusters.backends.kueue_volcano.shape import ClusterShape, GroupShape
from clusters.contract import WorkloadSpec

Object = dict[str, Any]

PAGE = 1_000
PODS = names.PODS_KIND
KINDS = (
    names.JOBS,
    names.DEPLOYMENTS,
    names.PODS_KIND,
    names.POD_GROUPS,
    names.WORKLOADS,
    names.CLUSTER_QUEUES,
    names.LOCAL_QUEUES,
    names.NODES,
)
INSTALLATION = "01kzzzzzzzzzzzzzzzzzzzzzzz"
RESOURCE = "nvidia.com/gpu"
GROUP = "h100"
LABEL = ("example.com/pool", "h100")
SPACES = 20
CARDS_PER_NODE = 8
ULID = "01KCRQWDQWDQWDQWDQWDQWDQWD"  # what stands in a template for the text of one job
NUMBER = "nnnnnnnn"
SPACE = "slu-team-00"
NODE = "node-00000"
VERSION = '"resourceVersion":"1"'
START = datetime(2026, 3, 12, 8, tzinfo=UTC)


def ulid(number: int) -> str:
    return f"01KBENCH00000000{number:010d}"


def stamp(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


# --------------------------------------------------------------------------- templates


def _shape() -> ClusterShape:
    group = GroupShape(RESOURCE, (LABEL,), CARDS_PER_NODE, 96_000, 8 * 2**37)
    return ClusterShape(INSTALLATION, {GROUP: group})


def _spec(pods: int) -> WorkloadSpec:
    return WorkloadSpec(
        job_ulid=ULID,
        attempt=1,
        object_name=f"train-{NUMBER}-1",
        spec_hash="3f0c9d52a1b4c7e8",
        space=SPACE,
        queue="team-00",
        local_queue="default",
        node_group=GROUP,
        priority=200,
        kind="training",
        framework="pytorch",
        image="registry.example/team/train:1.4.2",
        command="python train.py --epochs 20",
        env=(("BATCH", "64"),),
        pods=pods,
        cards_per_pod=1,
        cpu_millis=0,
        memory_bytes=0,
        stop_grace=timedelta(seconds=30),
        max_run=None,
        display_name="train",
    )


def _with_meta(manifest: Object, uid: str, manager: str, **more: Any) -> Object:
    """As stored: with uid, version, times, and who wrote which fields."""
    entry = {"apiVersion": manifest["apiVersion"], "fieldsType": "FieldsV1", "manager": manager, "time": stamp(0)}
    managed = [{**entry, "fieldsV1": FIELDS, "operation": "Update"}]
    manifest["metadata"] = {
        **manifest["metadata"],
        "uid": uid,
        "resourceVersion": "1",
        "generation": 1,
        "creationTimestamp": stamp(0),
        **more,
        "managedFields": managed,
    }
    return manifest


def _condition(kind: str, reason: str, message: str, s: float, status: str = "True") -> Object:
    told = {"type": kind, "status": status, "reason": reason, "message": message}
    return {**told, "lastTransitionTime": stamp(s)}


FIELDS = {f"f:{name}": {".": {}, f"f:{name}Detail": {}} for name in ("labels", "annotations", "spec", "conditions")}


def _uid(kind: str) -> str:
    return f"{kind}-4f1c-8a2b-{NUMBER}"


def _job(pods: int, status: Object) -> Object:
    manifest = _with_meta(job_manifest(_spec(pods), _shape()), _uid("0b51aaaa"), "sluice")
    manifest["spec"] |= {
        "suspend": not status.get("startTime"),
        "manualSelector": False,
        "selector": {"matchLabels": {names.CONTROLLER_UID: _uid("0b51aaaa")}},
        "backoffLimit": 0,
    }
    manifest["status"] = status
    return manifest


def _owned(kind: str, name: str, uid: str) -> list[Object]:
    owner = {"apiVersion": "batch/v1", "kind": kind, "name": name, "uid": uid}
    return [{**owner, "controller": True, "blockOwnerDeletion": True}]


def _workload(pods: int, status: Object) -> Object:
    template = copy.deepcopy(job_manifest(_spec(pods), _shape())["spec"]["template"])
    main = template["spec"]["containers"][0]
    template["spec"]["containers"] = [{"name": main["name"], "image": main["image"], "resources": main["resources"]}]
    manifest = {
        "apiVersion": names.WORKLOADS.api_version,
        "kind": names.WORKLOADS.kind,
        "metadata": {
            "name": f"job-train-{NUMBER}-1-9c1f0",
            "namespace": SPACE,
            "labels": {names.WORKLOAD_JOB_UID: _uid("0b51aaaa")},
            "finalizers": ["kueue.x-k8s.io/resource-in-use"],
        },
        "spec": {
            "active": True,
            "queueName": names.local_queue("default"),
            "priority": 200,
            "podSets": [{"name": "main", "count": pods, "template": template}],
        },
        "status": status,
    }
    owner = _owned("Job", f"train-{NUMBER}-1", _uid("0b51aaaa"))
    return _with_meta(manifest, _uid("0b51bbbb"), "kueue", ownerReferences=owner)


def _pod_group(pods: int, phase: str) -> Object:
    manifest = pod_group_manifest(_spec(pods), _shape(), _uid("0b51aaaa"))
    conditions = [
        {**_condition("Scheduled", "tasks in gang are ready to be scheduled", "", 5), "transitionID": _uid("0b51eeee")},
        {**_condition("Unschedulable", "NotEnoughResources", "", 4, "False"), "transitionID": _uid("0b51ffff")},
    ]
    manifest["status"] = {"phase": phase, "conditions": conditions if phase == "Running" else [], "running": pods}
    return _with_meta(manifest, _uid("0b51cccc"), "vc-scheduler")


def _pod(rank: int, status: Object) -> Object:
    template = copy.deepcopy(job_manifest(_spec(1), _shape())["spec"]["template"])
    labels = template["metadata"]["labels"]
    labels |= {
        names.CONTROLLER_UID: _uid("0b51aaaa"),
        names.COMPLETION_INDEX: str(rank),
        names.JOB_NAME: f"train-{NUMBER}-1",
    }
    annotations = template["metadata"].get("annotations", {}) | {names.COMPLETION_INDEX: str(rank)}
    spec = template["spec"] | {
        "nodeName": NODE,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "tolerations": [
            {"key": f"node.kubernetes.io/{word}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for word in ("not-ready", "unreachable")
        ],
    }
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"train-{NUMBER}-1-{rank}-x7k2p",
            "generateName": f"train-{NUMBER}-1-{rank}-",
            "namespace": SPACE,
            "labels": labels,
            "annotations": annotations,
        },
        "spec": spec,
        "status": status,
    }
    owner = _owned("Job", f"train-{NUMBER}-1", _uid("0b51aaaa"))
    return _with_meta(manifest, f"{_uid('0b51dddd')}-{rank}", "kubelet", ownerReferences=owner)


def pod_status(state: Object, phase: str, started: float) -> Object:
    container = {
        "name": "main",
        "image": "registry.example/team/train:1.4.2",
        "imageID": "registry.example/team/train@sha256:" + "4e" * 32,
        "containerID": "containerd://" + "9a" * 32,
        "ready": phase == "Running",
        "restartCount": 0,
        "started": phase == "Running",
        "lastState": {},
        "state": state,
    }
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "phase": phase,
        "hostIP": "10.0.0.1",
        "podIP": "10.1.0.1",
        "qosClass": "Burstable",
        "startTime": stamp(4),
        "conditions": [_condition(kind, "", "", started if kind == "Ready" else 4) for kind in kinds],
        "containerStatuses": [container],
    }


def running_status(started: float) -> Object:
    return pod_status({"running": {"startedAt": stamp(started)}}, "Running", started)


# --------------------------------------------------------------------------- sorts of jobs


@dataclass(frozen=True)
class Sort:
    """What a kind of job looks like. Pods are those of one job."""

    job: Object
    workload: Object
    pod_group: Object
    pods: tuple[Object, ...]


def _admitted(*more: Object) -> Object:
    queue = "ClusterQueue slu-team-00"
    return {
        "conditions": [
            _condition("QuotaReserved", "QuotaReserved", f"Quota reserved in {queue}", 1),
            _condition("Admitted", "Admitted", "The workload is admitted", 1),
            *more,
        ],
        "admission": {
            "clusterQueue": "slu-team-00",
            "podSetAssignments": [
                {"name": "main", "count": 1, "flavors": {RESOURCE: "slu-h100"}, "resourceUsage": {RESOURCE: "1"}}
            ],
        },
    }


def _waits() -> Object:
    message = (
        "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor slu-h100,"
        " 3 more needed"
    )
    request = [{"name": "main", "resources": {RESOURCE: "1", "cpu": "10800m", "memory": "123695058124"}}]
    return {"conditions": [_condition("QuotaReserved", "Pending", message, 1, "False")], "resourceRequests": request}


@cache
def sorts() -> tuple[Sort, ...]:
    """Ten jobs stand for all: six run (two of them with two pods), two have ended, two wait."""
    runs = {"startTime": stamp(2), "active": 1, "ready": 1, "terminating": 0, "uncountedTerminatedPods": {}}
    ended_at = {"completionTime": stamp(600), "startTime": stamp(2), "succeeded": 1, "completedIndexes": "0"}
    ended = ended_at | {"conditions": [_condition("Complete", "CompletionsReached", "Reached", 600)]}
    suspended = {"conditions": [_condition("Suspended", "JobSuspended", "Job suspended", 1)], "terminating": 0}
    terminated = {"exitCode": 0, "reason": "Completed", "startedAt": stamp(6), "finishedAt": stamp(600)}
    is_over = _condition("Finished", "Succeeded", "Reached expected number of succeeded pods", 600)
    over = pod_status({"terminated": terminated}, "Succeeded", 6)
    ready = _condition("PodsReady", "PodsReady", "All pods reached readiness and the workload is running", 7)

    def gang(pods: int) -> Sort:
        members = tuple(_pod(rank, running_status(6)) for rank in range(pods))
        return Sort(_job(pods, runs), _workload(pods, _admitted(ready)), _pod_group(pods, "Running"), members)

    one, two = gang(1), gang(2)
    done = Sort(_job(1, ended), _workload(1, _admitted(is_over)), _pod_group(1, "Completed"), (_pod(0, over),))
    waits = Sort(_job(1, suspended), _workload(1, _waits()), _pod_group(1, "Pending"), ())
    return (one, two, one, done, waits, one, two, one, done, waits)


@cache
def _texts(place: int) -> dict[str, tuple[bytes, ...]]:
    sort = sorts()[place]
    objects = {
        names.JOBS.plural: (sort.job,),
        names.WORKLOADS.plural: (sort.workload,),
        names.POD_GROUPS.plural: (sort.pod_group,),
        names.PODS_KIND.plural: sort.pods,
    }
    return {plural: tuple(map(_dumped, found)) for plural, found in objects.items()}


def _dumped(found: Object) -> bytes:
    return json.dumps(found, separators=(",", ":")).encode()


def _written(text: bytes, number: int, version: int) -> bytes:
    return (
        text.replace(ULID.lower().encode(), ulid(number).lower().encode())
        .replace(ULID.encode(), ulid(number).encode())
        .replace(NUMBER.encode(), f"{number:08d}".encode())
        .replace(SPACE.encode(), f"slu-team-{number % SPACES:02d}".encode())
        .replace(NODE.encode(), node_name(number // CARDS_PER_NODE).encode())
        .replace(VERSION.encode(), f'"resourceVersion":"{version}"'.encode())
    )


def node_name(place: int) -> str:
    return f"node-{place:05d}"


# --------------------------------------------------------------------------- lists and events


def objects_of(kind: names.Kind, jobs: int) -> Iterator[bytes]:
    """The objects of one kind in a cluster with so many jobs."""
    if kind in (names.JOBS, names.WORKLOADS, names.POD_GROUPS, names.PODS_KIND):
        for number in range(jobs):
            for text in _texts(number % len(sorts()))[kind.plural]:
                yield _written(text, number, number + 1)
    elif kind is names.NODES:
        yield from (_dumped(_node(place)) for place in range(-(-jobs // CARDS_PER_NODE)))
    elif kind is names.CLUSTER_QUEUES:
        yield from (_dumped(_cluster_queue(place, jobs)) for place in range(SPACES))
    elif kind is names.LOCAL_QUEUES:
        yield from (_dumped(_local_queue(place)) for place in range(SPACES))


def pages_of(kind: names.Kind, jobs: int) -> list[bytes]:
    """The items of a list by pages, in order, with commas between; at least one page."""
    found = list(objects_of(kind, jobs))
    return [b",".join(found[start : start + PAGE]) for start in range(0, max(1, len(found)), PAGE)]


def event(number: int, version: int) -> bytes:
    """A line of a watch of pods: the first pod of this job, which runs, started anew some seconds later."""
    text = _event_text(number % len(sorts()))
    seconds = version % 50_000  # another time in each event of one pod, so that its facts change
    started = stamp(10 + seconds).encode()
    return b'{"type":"MODIFIED","object":' + _written(text, number, version).replace(b"@started@", started) + b"}\n"


@cache
def _event_text(place: int) -> bytes:
    pod = copy.deepcopy(sorts()[place].pods[0])
    pod["status"]["containerStatuses"][0]["state"] = {"running": {"startedAt": "@started@"}}
    return _dumped(pod)


def running_jobs(jobs: int) -> list[int]:
    """The numbers of those that run."""
    return [
        n for n in range(jobs) if (pods := sorts()[n % len(sorts())].pods) and pods[0]["status"]["phase"] == "Running"
    ]


def _node(place: int) -> Object:
    capacity = {"cpu": "96", "memory": "1056760Ki", "pods": "110", RESOURCE: str(CARDS_PER_NODE)}
    kinds = ("MemoryPressure", "DiskPressure", "PIDPressure")
    conditions = [_condition(kind, f"KubeletHasNo{kind}", "", 0, "False") for kind in kinds]
    conditions.append(_condition("Ready", "KubeletReady", "kubelet is posting ready status", 0))
    name = node_name(place)
    manifest = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                names.HOSTNAME: name,
                LABEL[0]: LABEL[1],
                "kubernetes.io/os": "linux",
                "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
            },
        },
        "spec": {},
        "status": {"capacity": capacity, "allocatable": capacity, "conditions": conditions},
    }
    return _with_meta(manifest, f"0b51abcd-{place:08d}", "kubelet")


def _cluster_queue(place: int, jobs: int) -> Object:
    def amounts(key: str, count: int) -> list[Object]:
        return [{"name": "slu-h100", "resources": [{"name": RESOURCE, key: str(count)}]}]

    share = jobs // SPACES
    active = _condition("Active", "Ready", "Can admit new workloads", 0)
    manifest = {
        "apiVersion": names.CLUSTER_QUEUES.api_version,
        "kind": names.CLUSTER_QUEUES.kind,
        "metadata": {"name": f"slu-team-{place:02d}"},
        "spec": {"resourceGroups": [{"coveredResources": [RESOURCE], "flavors": amounts("nominalQuota", share)}]},
        "status": {"conditions": [active], "flavorsReservation": amounts("total", share)},
    }
    return _with_meta(manifest, f"0b51abce-{place:08d}", "kueue")


def _local_queue(place: int) -> Object:
    manifest = {
        "apiVersion": names.LOCAL_QUEUES.api_version,
        "kind": names.LOCAL_QUEUES.kind,
        "metadata": {
            "name": names.local_queue("default"),
            "namespace": f"slu-team-{place:02d}",
            "labels": {names.INSTALLATION: INSTALLATION},
        },
        "spec": {"clusterQueue": f"slu-team-{place:02d}"},
        "status": {"conditions": [_condition("Active", "Ready", "Can submit new workloads", 0)]},
    }
    return _with_meta(manifest, f"0b51abcf-{place:08d}", "kueue")
