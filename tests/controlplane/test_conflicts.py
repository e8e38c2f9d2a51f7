"""Conflicts made by hand on the real control plane: what is told, with what proves it, and what an admin does."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from clusters.backends.kueue_volcano import names
from clusters.conflicts.watch import conflicts_watch
from clusters.models import Notice
from quotas.models import QuotaVersion, Share
from tests.controlplane.console import Console

pytestmark = [pytest.mark.django_db(transaction=True)]

QUEUE = names.CLUSTER_QUEUES.path(None, "slu-vision")
RUNS_ON = "sleep infinity"


def told(source: str) -> list[Notice]:
    """Open notices of one watch, looked for anew."""
    conflicts_watch(timezone.now())
    return list(Notice.objects.filter(source=source, closed_at=None))


def set_by_hand(console: Console, cards: int) -> None:
    """As `kubectl edit` does it: another writer than the console."""
    groups = console.plane.request("GET", QUEUE)["spec"]["resourceGroups"]
    for resource in _of_cards(console, groups):
        resource["nominalQuota"] = str(cards)
    console.plane.request("PATCH", QUEUE, {"spec": {"resourceGroups": groups}})


def cards_there(console: Console) -> int:
    (resource,) = _of_cards(console, console.plane.request("GET", QUEUE)["spec"]["resourceGroups"])
    return int(resource["nominalQuota"])


def _of_cards(console: Console, groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        resource
        for group in groups
        for flavor in group["flavors"]
        for resource in flavor["resources"]
        if resource["name"] == console.group.resource
    ]


def decide(console: Console, decision: str, **body: Any) -> None:
    """Through the API; what it sends to a worker is done here."""
    path = f"/api/v1/clusters/{console.cluster.slug}/quota-plan/{decision}"
    response = console.api("admin").post(path, body, format="json")
    assert response.status_code == 200, response.content
    console.apply_quotas()


def test_a_quota_set_by_hand_stays_until_an_admin_takes_it_over(console: Console) -> None:
    assert cards_there(console) == 16
    set_by_hand(console, 4)
    for _ in range(2):
        console.apply_quotas()
        assert cards_there(console) == 4
    (notice,) = told("drift")
    (change,) = notice.facts["changes"]
    assert (change["queue"], change["field"], change["planned"], change["found"]) == ("vision", "nominal", 16, 4)
    assert notice.facts["by"] and notice.facts["by"] != [names.FIELD_MANAGER] and notice.facts["at"]
    decide(console, "take-over")
    assert cards_there(console) == 16 and told("drift") == []
    console.shares(vision=25)  # what the console writes itself is no drift
    assert cards_there(console) == 8 and told("drift") == []


def test_a_quota_set_by_hand_becomes_the_plan_when_it_is_adopted(console: Console) -> None:
    set_by_hand(console, 10)
    console.apply_quotas()
    version = QuotaVersion.objects.filter(cluster=console.cluster).order_by("-number")[0].number
    decide(console, "adopt", expected_version=version, reason="Less for a week")
    assert Share.objects.get(queue=console.queues["vision"]).nominal == 10
    assert Share.objects.get(queue=console.queues["language"]).nominal == 16
    assert cards_there(console) == 10 and told("drift") == []
    cohort = console.plane.request("GET", names.COHORTS.path(None, names.COHORT))["spec"]["resourceGroups"]
    assert [resource["nominalQuota"] for resource in _of_cards(console, cohort)] == ["6"]


def test_a_queue_removed_by_hand_is_made_again_and_told(console: Console) -> None:
    console.plane.request("DELETE", QUEUE)
    console.plane.wait_for(lambda: not _is_there(console), "the queue is gone")
    job = console.submit()
    console.until(job, "queued", "queue_missing")
    (waiting,) = told("missing")
    assert (waiting.subject, waiting.facts["jobs"][0]["job"]) == ("waiting_jobs", job.public_id)
    console.apply_quotas()
    console.until(job, "running")
    (again,) = told("missing")
    assert (again.subject, again.facts["queues"]) == ("queues_again", [{"queue": "vision"}])
    assert cards_there(console) == 16


def _is_there(console: Console) -> bool:
    queues = console.plane.client.items(names.CLUSTER_QUEUES.path())
    return "slu-vision" in {queue["metadata"]["name"] for queue in queues}


def test_a_pod_group_removed_by_hand_is_made_again_and_told(console: Console) -> None:
    job = console.submit(cards=16, command=RUNS_ON)
    console.until(job, "running")
    (group,) = console.objects(job, names.POD_GROUPS)
    path = names.POD_GROUPS.path(group["metadata"]["namespace"], group["metadata"]["name"])
    console.plane.request("DELETE", path)
    console.until_true(
        lambda: (
            {each["metadata"]["uid"] for each in console.objects(job, names.POD_GROUPS)} - {group["metadata"]["uid"]}
        ),
        "the pod group is there again",
    )
    (notice,) = told("missing")
    assert (notice.subject, notice.facts["jobs"]) == ("gathered_again", [{"job": job.public_id, "attempt": 1}])


def test_an_admitted_job_that_nobody_places_is_told_with_its_group(console: Console) -> None:
    console.plane.stop_process("volcano")
    try:
        job = console.submit(cards=16)
        console.until(job, "creating", "waiting_for_pods")
        assert told("not_placed") == []
        with console.later(minutes=6):
            console.look()
            (notice,) = told("not_placed")
            assert (notice.subject, notice.facts["count"]) == (console.group.slug, 1)
            (proof,) = notice.facts["jobs"]
            assert (proof["job"], proof["cards"], proof["pods"]) == (job.public_id, 16, 2)
    finally:
        console.plane.start_process("volcano")
    console.until(job, "running")
    assert told("not_placed") == []


def test_pods_that_do_not_end_after_an_eviction_are_told_by_their_node(console: Console) -> None:
    console.shares(vision=100, language=0)
    job = console.submit(cards=8, command=RUNS_ON)
    console.until(job, "running")
    (pod,) = console.pods(job)
    path = names.PODS_KIND.path(pod["metadata"]["namespace"], pod["metadata"]["name"])
    console.plane.request("PATCH", path, {"metadata": {"annotations": {"sluice.test/stop-for": "30s"}}})
    console.operate(job, "hold")
    console.until_true(lambda: console.pods(job)[0]["metadata"].get("deletionTimestamp"), "the pod is told to end")
    console.look()
    assert told("never_ending") == []
    with console.later(minutes=13):
        console.look()
        (notice,) = told("never_ending")
        assert (notice.facts["node"], notice.facts["cards"]) == (pod["spec"]["nodeName"], 8)
        assert [proof["job"] for proof in notice.facts["jobs"]] == [job.public_id]


def test_two_jobs_that_interrupt_each_other_are_told(console: Console) -> None:
    """Somebody raises the one that waits, again and again: each time the other one gives way."""
    console.shares(vision=100, language=0)
    first = console.submit("lead-vision", cards=32, command=RUNS_ON, priority="low")
    console.until(first, "running")
    second = console.submit("lead-vision", cards=32, command=RUNS_ON, priority="normal")
    console.until(second, "running")
    console.operate(first, "priority", priority="high")
    console.until(first, "running")
    assert told("loop") == [], "twice is no loop yet"
    console.operate(second, "priority", priority="urgent", priority_reason="a deadline")
    console.until(second, "running")
    (notice,) = told("loop")
    times = {job["job"]: job["count"] for job in notice.facts["jobs"]}
    assert (notice.facts["count"], times) == (3, {first.public_id: 2, second.public_id: 1})
    console.operate(first, "cancel")
    console.until_true(lambda: not told("loop"), "one of them is over")


def test_pods_of_another_scheduler_beside_jobs_are_told(console: Console) -> None:
    job = console.submit(cards=8, command=RUNS_ON)
    console.until(job, "running")
    stranger = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "stranger", "namespace": "default"},
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "registry.example/a:1",
                    "resources": {"limits": {console.group.resource: "4"}},
                }
            ]
        },
    }
    console.plane.request("POST", names.PODS_KIND.path("default"), stranger)
    console.until_true(lambda: told("two_schedulers"), "the pod holds cards")
    (notice,) = told("two_schedulers")
    assert (notice.subject, notice.facts["cards"]) == (console.group.slug, 4)
    (proof,) = notice.facts["pods"]
    assert (proof["space"], proof["pod"], proof["scheduler"]) == ("default", "stranger", "default-scheduler")
    console.plane.request("DELETE", names.PODS_KIND.path("default", "stranger"))
    console.until_true(lambda: not told("two_schedulers"), "the pod is gone")
