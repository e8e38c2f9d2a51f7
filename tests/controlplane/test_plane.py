"""The control plane itself: what every other test of this folder relies on, with raw requests."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.controlplane.api import ApiError
from tests.controlplane.cleaning import IN_NAMESPACES, KUEUE, NAMESPACES, VOLCANO
from tests.controlplane.conftest import APART
from tests.controlplane.nodes import NODES, NodeGroup
from tests.controlplane.plane import Plane
from tests.controlplane.ports import free_ports

SPACE = "team-a"
JOBS = f"/apis/batch/v1/namespaces/{SPACE}/jobs"
PODS = f"/api/v1/namespaces/{SPACE}/pods"
WORKLOADS = f"{KUEUE}/namespaces/{SPACE}/workloads"
POD_GROUPS = f"{VOLCANO}/namespaces/{SPACE}/podgroups"
CARDS = "nvidia.com/gpu"


def open_queue(plane: Plane, nominal: int = 32) -> None:
    """A namespace whose queue may use ``nominal`` cards."""
    kueue = {"apiVersion": "kueue.x-k8s.io/v1beta2"}
    quota = {"name": "cards", "resources": [{"name": CARDS, "nominalQuota": nominal}]}
    plane.request("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}})
    plane.request(
        "POST", f"{KUEUE}/resourceflavors", {**kueue, "kind": "ResourceFlavor", "metadata": {"name": "cards"}}
    )
    queue = {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": [CARDS], "flavors": [quota]}]}
    cluster_queue = {**kueue, "kind": "ClusterQueue", "metadata": {"name": "team-a"}, "spec": queue}
    plane.request("POST", f"{KUEUE}/clusterqueues", cluster_queue)
    local_queue = {**kueue, "kind": "LocalQueue", "metadata": {"name": "main"}, "spec": {"clusterQueue": "team-a"}}
    plane.request("POST", f"{KUEUE}/namespaces/{SPACE}/localqueues", local_queue)


def submit(plane: Plane, name: str, *, pods: int = 2, cards: int = 4, image: str = "x", **annotations: str) -> None:
    """A gang: a suspended Indexed Job in the queue, and its PodGroup."""
    container = {"name": "main", "image": image, "resources": {"requests": {CARDS: cards}, "limits": {CARDS: cards}}}
    marks = {f"sluice.test/{key.replace('_', '-')}": value for key, value in annotations.items()}
    template = {
        "metadata": {"annotations": {"scheduling.k8s.io/group-name": name, **marks}},
        "spec": {"schedulerName": "volcano", "restartPolicy": "Never", "containers": [container]},
    }
    rule = {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    spec = {
        "suspend": True,
        "completionMode": "Indexed",
        "completions": pods,
        "parallelism": pods,
        "backoffLimit": 0,
        "podFailurePolicy": {"rules": [rule]},
        "template": template,
    }
    metadata = {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "main"}}
    job = plane.request("POST", JOBS, {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": job["metadata"]["uid"], "controller": True}
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "ownerReferences": [owner]},
        "spec": {"minMember": pods, "queue": "default"},
    }
    plane.request("POST", POD_GROUPS, group)


def conditions(item: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Status and reason of each condition of an object."""
    found = item.get("status", {}).get("conditions", [])
    return {condition["type"]: (condition["status"], condition.get("reason", "")) for condition in found}


def phases(plane: Plane, job: str) -> list[str]:
    return [pod["status"]["phase"] for pod in plane.pods(SPACE, job)]


def wait_running(plane: Plane, job: str, pods: int = 2) -> list[str]:
    """The names of a job's pods, by rank, once all run."""
    plane.wait_for(lambda: phases(plane, job) == ["Running"] * pods, f"{job} runs")
    return [pod["metadata"]["name"] for pod in plane.pods(SPACE, job)]


def phase_of_group(plane: Plane, name: str) -> str:
    return plane.request("GET", f"{POD_GROUPS}/{name}")["status"]["phase"]


def job_conditions(plane: Plane, job: str) -> dict[str, tuple[str, str]]:
    return conditions(plane.request("GET", f"{JOBS}/{job}"))


@pytest.fixture
def queue(plane: Plane) -> Iterator[Plane]:
    """Four nodes of eight cards and an open queue."""
    plane.add_nodes(NodeGroup("gpu"))
    open_queue(plane)
    yield plane


@pytest.mark.every_kueue
def test_a_gang_is_admitted_by_kueue_started_by_volcano_and_runs_to_its_end(queue: Plane) -> None:
    submit(queue, "bert")
    pods = wait_running(queue, "bert")
    (workload,) = queue.client.items(WORKLOADS)
    assert conditions(workload)["Admitted"][0] == "True"
    queue.wait_for(lambda: phase_of_group(queue, "bert") == "Running", "Volcano sees the gang running")
    for pod in pods:
        queue.exit_pod(SPACE, pod)
    queue.wait_for(lambda: "Complete" in job_conditions(queue, "bert"), "the job completes")
    queue.wait_for(
        lambda: conditions(queue.client.items(WORKLOADS)[0]).get("Finished") == ("True", "Succeeded"),
        "the workload has succeeded",
    )


def test_a_pod_ends_with_the_code_it_is_told(queue: Plane) -> None:
    submit(queue, "bert")
    _, second = wait_running(queue, "bert")
    queue.exit_pod(SPACE, second, 3)
    queue.wait_for(lambda: job_conditions(queue, "bert").get("Failed") == ("True", "BackoffLimitExceeded"), "it fails")
    (state,) = queue.request("GET", f"{PODS}/{second}")["status"]["containerStatuses"]
    assert state["state"]["terminated"]["exitCode"] == 3 and state["state"]["terminated"]["reason"] == "Error"


def test_pods_end_by_themselves_after_the_time_in_their_template(queue: Plane) -> None:
    submit(queue, "bert", run_for="1s")
    queue.wait_for(lambda: "Complete" in job_conditions(queue, "bert"), "the job completes")


def test_an_image_that_is_not_there_keeps_the_pod_waiting_until_it_is_deleted(queue: Plane) -> None:
    submit(queue, "bert", pods=1, image="sandbox.invalid/missing:1")

    def reason() -> str | None:
        (pod,) = queue.pods(SPACE, "bert") or [{"status": {}}]
        (container,) = pod["status"].get("containerStatuses", [{}])
        return container.get("state", {}).get("waiting", {}).get("reason")

    queue.wait_for(lambda: reason() == "ErrImagePull", "the pull fails")
    assert phases(queue, "bert") == ["Pending"]
    queue.client.delete(f"{JOBS}/bert")
    queue.wait_for(lambda: not queue.pods(SPACE), "the pod is gone")


def test_an_evicted_pod_fails_before_it_goes_and_takes_its_gang_along(queue: Plane) -> None:
    submit(queue, "bert", stop_for="2s")
    first, second = wait_running(queue, "bert")
    queue.evict_pod(SPACE, first)
    evicted = queue.request("GET", f"{PODS}/{first}")
    assert evicted["status"]["phase"] == "Running" and evicted["metadata"]["deletionTimestamp"]
    assert conditions(evicted)["DisruptionTarget"] == ("True", "EvictionByEvictionAPI")
    queue.wait_for(lambda: job_conditions(queue, "bert").get("Failed") == ("True", "PodFailurePolicy"), "it fails")
    queue.wait_for(lambda: not any("Running" in phase for phase in phases(queue, "bert")), "both ranks have ended")
    (container,) = (queue.client.find(f"{PODS}/{second}") or evicted)["status"]["containerStatuses"]
    assert container["state"].get("terminated", {"exitCode": 143})["exitCode"] == 143


def test_the_log_of_a_pod_is_read_through_the_api_server(queue: Plane) -> None:
    submit(queue, "bert")
    first, second = wait_running(queue, "bert")
    common = "first line\nsecond line\nlast line\n"
    assert queue.request("GET", f"{PODS}/{first}/log") == common
    queue.write_log(SPACE, second, ["epoch 1"])
    queue.write_log(SPACE, second, ["epoch 2"])
    own = f"{common}epoch 1\nepoch 2\n"
    queue.wait_for(lambda: queue.request("GET", f"{PODS}/{second}/log?container=main") == own, "its own log is read")


def test_a_silent_node_is_not_ready_until_it_speaks_again(plane: Plane) -> None:
    plane.add_nodes(NodeGroup("gpu", count=1))

    def ready() -> str:
        return conditions(plane.request("GET", f"{NODES}/gpu-1"))["Ready"][0]

    plane.lose_node("gpu-1")
    plane.wait_for(lambda: ready() == "Unknown", "the node is silent")
    plane.lose_node("gpu-1", lost=False)
    plane.wait_for(lambda: ready() == "True", "the node is back")


@pytest.mark.every_kueue
def test_a_reset_leaves_nothing_but_the_nodes_asked_for(queue: Plane) -> None:
    submit(queue, "bert")
    submit(queue, "waits", pods=8, cards=8)
    wait_running(queue, "bert")
    queue.cordon("gpu-1")
    secret = {"metadata": {"name": "left-behind"}, "stringData": {"a": "1"}}
    queue.request("POST", f"/api/v1/namespaces/{SPACE}/secrets", secret)

    queue.reset(NodeGroup("gpu", count=2))
    assert {path: queue.client.items(path) for path in IN_NAMESPACES} == {path: [] for path in IN_NAMESPACES}
    assert queue.client.items(f"{KUEUE}/clusterqueues") == [] and queue.client.find(f"{NAMESPACES}/{SPACE}") is None
    assert [node["metadata"]["name"] for node in queue.client.items(NODES)] == ["gpu-1", "gpu-2"]
    assert "unschedulable" not in queue.request("GET", f"{NODES}/gpu-1")["spec"]
    queue.request("POST", NAMESPACES, {"metadata": {"name": SPACE}})
    assert queue.client.items(f"{NAMESPACES}/{SPACE}/secrets") == []


def test_jobs_go_on_when_the_api_server_comes_back(queue: Plane) -> None:
    submit(queue, "before", pods=1)
    (pod,) = wait_running(queue, "before", pods=1)
    queue.stop_process("apiserver")
    assert not queue.client.answers("/readyz")
    queue.start_process("apiserver")
    queue.exit_pod(SPACE, pod)
    queue.wait_for(lambda: "Complete" in job_conditions(queue, "before"), "the first job completes")
    queue.wait_for(lambda: submit(queue, "after", pods=1) is None, "jobs are taken")
    wait_running(queue, "after", pods=1)


def test_without_kueue_no_job_is_taken_and_without_volcano_none_starts(queue: Plane) -> None:
    queue.stop_process("kueue")
    with pytest.raises(ApiError, match="webhook"):
        submit(queue, "refused")
    queue.start_process("kueue")
    queue.stop_process("volcano")
    submit(queue, "bert")
    queue.wait_for(lambda: len(queue.pods(SPACE, "bert")) == 2, "the pods are made")
    assert phases(queue, "bert") == ["Pending", "Pending"]
    queue.start_process("volcano")
    wait_running(queue, "bert")


def test_kueue_runs_with_other_settings_until_the_next_reset(queue: Plane) -> None:
    queue.set_kueue(waitForPodsReady={"timeout": "2s", "requeuingStrategy": {"backoffLimitCount": 0}})
    submit(queue, "bert", pods=1, image="sandbox.invalid/missing:1")

    def evictions() -> list[tuple[str, str]]:
        return [conditions(item).get("Evicted", ("", "")) for item in queue.client.items(WORKLOADS)]

    queue.wait_for(lambda: [status for status, _ in evictions()] == ["True"], "it is evicted")
    queue.reset(NodeGroup("gpu"))
    assert "waitForPodsReady" not in (queue.folder / "kueue.yaml").read_text()


def test_the_audit_log_holds_what_people_asked_and_leaves_out_the_machinery(queue: Plane) -> None:
    since = queue.audit.mark()
    admin = queue.client_of("admin")
    admin.request("GET", f"{JOBS}?limit=1")
    assert admin.find(f"{JOBS}/nobody") is None
    submit(queue, "bert")
    wait_running(queue, "bert")
    admin.close()
    queue.wait_for(lambda: len(queue.audit.calls(since)) == 2, "both requests are in the log")
    listed, found = queue.audit.calls(since)
    assert (listed.user, listed.verb, listed.group, listed.kind, listed.status) == (
        queue.user_of("admin"),
        "list",
        "batch",
        "jobs",
        200,
    )
    assert (found.verb, found.name, found.namespace, found.status) == ("get", "nobody", SPACE, 404)


def test_a_frozen_api_server_answers_nobody_until_it_is_thawed(plane: Plane) -> None:
    plane.processes.freeze("kube-apiserver")
    started = time.monotonic()
    assert not plane.client.answers("/readyz")
    assert time.monotonic() - started > 4
    plane.processes.thaw("kube-apiserver")
    plane.wait_for(lambda: plane.client.answers("/readyz"), "it answers again")


def test_two_processes_side_by_side_are_never_given_the_same_port() -> None:
    ours = free_ports([str(number) for number in range(300)])
    ask = "from tests.controlplane.ports import free_ports; print(*free_ports(list(map(str, range(300)))).values())"
    others = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout.split()
    assert len(others) == 300 and set(map(int, others)).isdisjoint(ours.values())


def test_each_file_that_runs_apart_is_there() -> None:
    assert {file for file in APART if not file.exists()} == set()
