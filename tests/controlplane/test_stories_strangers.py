"""Stories of things that others do on the cluster: to objects of ours, or with objects that are none of ours."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.backends.kueue_volcano import names
from jobs.models import Attempt, Job
from tests.controlplane.console import Console

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.every_kueue]

SPACE = "slu-vision-000000"
NOBODY = {"apiVersion": "batch/v1", "kind": "Job", "name": "gone", "uid": "00000000-0000-0000-0000-000000000000"}


def template(**labels: str) -> dict[str, Any]:
    container = {"name": "main", "image": "somebody/else:1", "resources": {"requests": {"cpu": "1"}}}
    return {"metadata": {"labels": labels}, "spec": {"restartPolicy": "Never", "containers": [container]}}


def foreign_job(name: str) -> dict[str, Any]:
    """Suspended, so that nobody changes it any more."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": SPACE},
        "spec": {"suspend": True, "template": template()},
    }


def pod_group(name: str, **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": SPACE, "labels": labels, "ownerReferences": [NOBODY]}
    return {
        "apiVersion": names.POD_GROUPS.api_version,
        "kind": "PodGroup",
        "metadata": metadata,
        "spec": {"minMember": 1},
    }


def workload(name: str, **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": names.WORKLOADS.api_version,
        "kind": "Workload",
        "metadata": {"name": name, "namespace": SPACE, "ownerReferences": [NOBODY]},
        "spec": {"queueName": "nowhere", "podSets": [{"name": "main", "count": 1, "template": template(**labels)}]},
    }


def create(console: Console, kind: names.Kind, manifest: dict[str, Any]) -> str:
    """Returns its uid."""
    return console.plane.request("POST", kind.path(SPACE), manifest)["metadata"]["uid"]


def there(console: Console, kind: names.Kind) -> set[str]:
    return {item["metadata"]["name"] for item in console.plane.client.items(kind.path(SPACE))}


@pytest.mark.parametrize("stage", ["queued", "running"])
def test_a_job_deleted_behind_our_back_has_no_recorded_outcome(console: Console, stage: str) -> None:
    if stage == "queued":
        console.shares(vision=25, language=75)
        console.until(console.submit("eng-language-1"), "running")
    job = console.submit(cards=32 if stage == "queued" else 16)
    console.until(job, stage, None if stage == "running" else "waiting_above_share")
    console.plane.client.delete(names.JOBS.path(SPACE, console.attempts(job)[0].object_name))
    lost = console.until(job, "failed", "outcome_not_recorded")
    assert [attempt.end for attempt in console.attempts(lost)] == ["lost"]
    console.wait_for_quota(vision=0)
    console.operate(job, "restart", "eng-vision-1")
    console.until_true(lambda: Job.objects.get(pk=job.pk).attempt_no == 2 and console.objects(job), "it is sent again")


def test_a_name_that_somebody_else_has_costs_the_job_only_its_name(console: Console) -> None:
    job = console.submit()
    taken = Attempt.objects.get(job=job).object_name
    theirs = create(console, names.JOBS, foreign_job(taken))
    console.until(job, "running")
    assert Attempt.objects.get(job=job).object_name != taken
    console.exit_pods(job)
    console.until(job, "succeeded")
    left_alone = console.plane.request("GET", names.JOBS.path(SPACE, taken))
    assert left_alone["metadata"]["generation"] == 1 and left_alone["metadata"]["uid"] == theirs


def test_a_pod_group_deleted_behind_our_back_is_made_again(console: Console) -> None:
    console.shares(vision=100, language=0)
    first = console.submit(cards=32)
    console.until(first, "running")
    job = console.submit(cards=16)
    console.until(job, "queued", "waiting_for_quota")
    name = console.attempts(job)[0].object_name
    console.plane.client.delete(names.POD_GROUPS.path(SPACE, name))
    console.exit_pods(first)
    console.until(job, "running")
    (made,) = console.objects(job, names.POD_GROUPS)
    assert made["spec"]["minMember"] == 2
    assert made["metadata"]["ownerReferences"][0]["uid"] == console.attempts(job)[0].uid


def test_leftovers_of_ours_are_removed_when_the_cluster_does_not_and_no_others(console: Console) -> None:
    ours = {
        names.INSTALLATION: names.installation_of(console.cluster.public_id),
        names.JOB: "01m00000000000000000000000",
        names.ATTEMPT: "1",
    }
    theirs = {**ours, names.INSTALLATION: "somebody-else"}
    console.plane.processes.kill("kube-controller-manager")  # it collects what has no owner, most of the time
    for labels, owner in ((ours, "ours"), (theirs, "theirs"), ({}, "nobodys")):
        create(console, names.POD_GROUPS, pod_group(owner, **labels))
        create(console, names.WORKLOADS, workload(owner, **labels))
    console.look()
    assert there(console, names.POD_GROUPS) == there(console, names.WORKLOADS) == {"ours", "theirs", "nobodys"}
    with console.later(minutes=3):
        console.look()
    assert there(console, names.POD_GROUPS) == {"theirs", "nobodys"}
    console.plane.wait_for(lambda: there(console, names.WORKLOADS) == {"theirs", "nobodys"}, "ours is gone")


def test_what_is_not_ours_is_never_written(console: Console) -> None:
    create(console, names.JOBS, foreign_job("foreign"))
    create(console, names.POD_GROUPS, {**pod_group("foreign"), "metadata": {"name": "foreign", "namespace": SPACE}})
    queue = {"apiVersion": names.LOCAL_QUEUES.api_version, "kind": "LocalQueue", "spec": {"clusterQueue": "slu-vision"}}
    create(console, names.LOCAL_QUEUES, {**queue, "metadata": {"name": "foreign", "namespace": SPACE}})
    mark = console.plane.audit.mark()
    job = console.submit()
    console.until(job, "running")
    console.shares(vision=60, language=40)
    console.operate(job, "cancel", "eng-vision-1")
    console.until(job, "cancelled")
    with console.later(minutes=3):
        console.look()
    users = {console.plane.user_of("runtime"), console.plane.user_of("quota")}
    written = [call for call in console.plane.audit.calls(mark) if call.user in users and call.verb not in READS]
    assert {call.resource for call in written} >= {"jobs", "podgroups", "clusterqueues"}
    assert not [call for call in written if call.name == "foreign"]


READS = {"get", "list", "watch"}
