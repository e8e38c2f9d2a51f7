"""The preflight table against the real programs: a cluster as the guide says, and the worst settings really made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from clusters.backends.kueue_volcano import names
from clusters.models import PreflightRow
from clusters.preflight.service import preflight_run
from clusters.preflight.words import Feature, Problem, Verdict
from tests.controlplane.api import ApiError
from tests.controlplane.console import Console
from tests.controlplane.parts import FILES
from tests.controlplane.plane import Plane

CONFIGS = {
    "kueue": ("kueue-system", "kueue-manager-config", "controller_manager_config.yaml"),
    "volcano": ("volcano-system", "volcano-scheduler-configmap", "volcano-scheduler.conf"),
}
OUTSIDE = {Feature.GATE_VERSION, Feature.GATE_RUNS, Feature.GANG_RUNS}
"""The schedulers run beside this cluster, so that no deployment of it tells of them."""
LEFT_OUT = {
    Feature.MAINTENANCE: Problem.NO_ACCOUNT,
    Feature.QUEUE_WEIGHTS: Problem.NO_USAGE_ORDER,
    Feature.UTILISATION: Problem.NO_EXPORTER,
    Feature.RESULTS: Problem.NO_STORAGE,
}
"""What these tests do not set up."""


@pytest.fixture
def published(console: Console) -> Iterator[Console]:
    """The settings with which the schedulers run, where a cluster keeps them."""
    plane = console.plane
    publish(plane, "kueue", (plane.site.folder / "kueue.yaml").read_text())
    publish(plane, "volcano", (FILES / "volcano-scheduler.conf").read_text())
    yield console
    for space, name, _key in CONFIGS.values():
        plane.client.delete(f"/api/v1/namespaces/{space}/configmaps/{name}")


def publish(plane: Plane, scheduler: str, text: str) -> None:
    space, name, key = CONFIGS[scheduler]
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": space},
        "data": {key: text},
    }
    plane.client.apply(f"/api/v1/namespaces/{space}/configmaps", manifest)


def problems(console: Console) -> dict[Feature, Problem]:
    """A look now; what is the matter, row by row."""
    assert preflight_run(console.cluster)
    rows = PreflightRow.objects.filter(cluster=console.cluster).exclude(verdict=Verdict.OK)
    return {Feature(row.feature): Problem(row.problem) for row in rows}


def facts(feature: Feature) -> dict[str, Any]:
    return PreflightRow.objects.get(feature=feature.value).facts


def test_a_cluster_as_the_guide_says_lacks_nothing(published: Console) -> None:
    expected = LEFT_OUT | dict.fromkeys(OUTSIDE, Problem.NOT_READ)
    assert problems(published) == expected


def test_without_the_right_to_read_settings_they_are_unknown(published: Console) -> None:
    plane = published.plane
    role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/sluice-runtime"
    before = plane.request("GET", role)
    fewer = [
        {**rule, "verbs": [verb for verb in rule["verbs"] if (rule["resources"], verb) != (["jobs"], "patch")]}
        for rule in before["rules"]
        if "configmaps" not in rule["resources"]
    ]
    try:
        plane.request("PATCH", role, {"rules": fewer})
        found = plane.wait_for(lambda: settled(published), "the right is gone")
        assert found[Feature.SUBMIT] is Problem.RIGHTS_LACK and facts(Feature.SUBMIT)["rights"] == "patch batch/jobs"
        unread = {feature for feature, problem in found.items() if problem is Problem.NOT_READ}
        assert {Feature.CARD_QUOTAS, Feature.TRAINING, Feature.ONE_PREEMPTOR} <= unread
    finally:
        plane.request("PATCH", role, {"rules": before["rules"]})
        plane.wait_for(lambda: Feature.SUBMIT not in problems(published), "the right is back")


def settled(console: Console) -> dict[Feature, Problem] | None:
    """The rows, once the API server has taken note of the role's change."""
    found = problems(console)
    return found if Feature.SUBMIT in found and found.get(Feature.CARD_QUOTAS) is Problem.NOT_READ else None


def test_a_gate_that_counts_cpu_is_said_to_refuse_every_job_and_does(published: Console) -> None:
    plane = published.plane
    plane.set_kueue(resources={})
    publish(plane, "kueue", (plane.site.folder / "kueue.yaml").read_text())
    assert problems(published)[Feature.CARD_QUOTAS] is Problem.CPU_COUNTED
    assert facts(Feature.CARD_QUOTAS) == {"resources": "cpu, memory"}
    job = published.submit()
    published.until_true(
        lambda: "unavailable in ClusterQueue" in str(published.facts(job).get("raw", "")), lambda: published.shown(job)
    )


def test_a_check_that_nobody_answers_is_named(published: Console) -> None:
    plane = published.plane
    group = f"/apis/{names.CLUSTER_QUEUES.api_version}"
    check = {
        "apiVersion": names.CLUSTER_QUEUES.api_version,
        "kind": "AdmissionCheck",
        "metadata": {"name": "budget"},
        "spec": {"controllerName": "example.com/nobody"},
    }
    plane.request("POST", f"{group}/admissionchecks", check)
    queue = names.CLUSTER_QUEUES.path(None, names.cluster_queue("vision"))
    strategy = {"admissionChecks": [{"name": "budget"}]}
    plane.request("PATCH", queue, {"spec": {"admissionChecksStrategy": strategy}})
    assert problems(published)[Feature.EXTRA_CHECKS] is Problem.CHECK_UNANSWERED
    assert facts(Feature.EXTRA_CHECKS) == {"checks": "budget"}


def test_a_closed_queue_of_the_executor_and_pods_that_push_others_off(published: Console) -> None:
    plane = published.plane
    web = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "web"},
        "value": 100_000,
    }
    plane.request("POST", names.POD_PRIORITY_CLASSES.path(), web)
    queue = f"/apis/{names.POD_GROUPS.api_version}/queues/default"
    before = plane.request("GET", queue)["status"]["state"]
    assert before == "Open"
    try:
        command = {"status": {"state": "Closed"}}
        try:
            plane.request("PATCH", f"{queue}/status", command)
        except ApiError:  # a version without the subresource
            plane.request("PATCH", queue, command)
        found = problems(published)
    finally:
        plane.wait_for(lambda: reopened(plane, queue), "the queue is open again")
    assert found[Feature.GANG_QUEUE] is Problem.STARTER_QUEUE_CLOSED
    assert found[Feature.UNDISTURBED] is Problem.PODS_PREEMPT and facts(Feature.UNDISTURBED) == {"classes": "web"}


def reopened(plane: Plane, queue: str) -> bool:
    if plane.request("GET", queue)["status"]["state"] == "Open":
        return True
    plane.request("PATCH", f"{queue}/status", {"status": {"state": "Open"}})
    return False


def test_settings_of_the_executor_that_fight_the_gate_are_named(published: Console) -> None:
    publish(
        published.plane,
        "volcano",
        'actions: "enqueue, allocate, preempt, reclaim"\ntiers: [{plugins: [{name: gang}]}]\n',
    )
    found = problems(published)
    assert found[Feature.ONE_PREEMPTOR] is Problem.STARTER_PREEMPTS
    assert facts(Feature.ONE_PREEMPTOR) == {"actions": "preempt, reclaim"}
