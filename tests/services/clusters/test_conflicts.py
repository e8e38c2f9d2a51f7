"""The conflict watch over what was observed: a notice for each as long as it lasts, with what proves it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from clusters.backends.sandbox import driver
from clusters.conflicts.selectors import conflicts_view
from clusters.conflicts.watch import TOLD_FOR, conflicts_watch, gathered_again, queues_vanished
from clusters.models import Cluster, Node, Notice, ObservedWorkload, SandboxWorld
from clusters.notices import notice_seen
from clusters.preflight.selectors import notice_views
from jobs.conflicts import preemptions_since
from jobs.domain.operations import Operation
from jobs.models import Job, JobEvent
from jobs.services.operations import job_operate
from tests.cast import Cast
from tests.stage import Stage


def open_notices(source: str) -> dict[str, dict[str, Any]]:
    return dict(Notice.objects.filter(source=source, closed_at=None).values_list("subject", "facts"))


def look() -> None:
    conflicts_watch(timezone.now())


@pytest.fixture
def stage(cast: Cast) -> Any:
    with Stage(cast) as found:
        yield found


def test_jobs_that_no_node_takes_are_told_with_the_free_cards_of_their_group(cast: Cast, stage: Stage) -> None:
    """V2: admitted by quota, and every A100 node has three free cards for a job of four."""
    driver.touch(cast.cluster)
    world = SandboxWorld.objects.get(cluster=cast.cluster)
    SandboxWorld.objects.filter(pk=world.pk).update(header={**world.header, "topology_aware": False})
    for team in ("eng-vision-1", "eng-language-1"):
        for _ in range(2):
            stage.submit(team, cards=5, card_model="a100", command="sleep infinity")
            stage.run(10)
    job = stage.submit("eng-robotics-1", cards=4, card_model="a100", command="sleep infinity")
    stage.run(60)
    look()
    assert open_notices("not_placed") == {}
    stage.run(70)
    look()
    told = open_notices("not_placed")["a100"]
    assert (told["count"], told["free"], told["blocks"]) == (1, 12, [3, 3, 3, 3])
    assert [(each["job"], each["cards"], each["unplaceable"]) for each in told["jobs"]] == [(job.public_id, 4, True)]
    assert [notice.text for notice in notice_views(viewer=cast.actor("admin"))] == [
        "A100 PCIe: 1 job is admitted, and no node takes it. Cards free there: 12."
    ]
    job_operate(actor=cast.actor("eng-robotics-1"), job=stage.job(job), operation=Operation.CANCEL)
    stage.run(20)
    look()
    assert open_notices("not_placed") == {}
    assert Notice.objects.get(source="not_placed").closed_at == timezone.now()


def observed(job: Job, **facts: Any) -> None:
    """What the newest look saw of a job, with these facts changed."""
    row = ObservedWorkload.objects.get(job_ulid=job.public_id)
    ObservedWorkload.objects.filter(pk=row.pk).update(facts={**row.facts, **facts})


def test_pods_that_stay_after_an_eviction_are_told_by_their_node(cast: Cast, stage: Stage) -> None:
    job = stage.submit(command="sleep infinity")
    Job.objects.filter(pk=job.pk).update(stop_grace_seconds=300)
    stage.run(40)
    facts = ObservedWorkload.objects.get(job_ulid=job.public_id).facts
    pods = [{**pod, "phase": "ending"} for pod in facts["pods"]]
    observed(job, evicted_at=timezone.now().isoformat(), evictions=1, ending=True, pods=pods)
    stage.skip(14 * 60)
    Cluster.objects.update(synced_at=timezone.now())
    look()
    assert open_notices("never_ending") == {}  # 10 minutes and the 5 of its own
    stage.skip(60)
    look()
    (subject, told), *others = open_notices("never_ending").items()
    assert (subject, others) == (pods[0]["node"], [])
    assert (told["cards"], told["jobs"][0]["job"], told["jobs"][0]["ended"]) == (8, job.public_id, False)


def test_jobs_that_wait_for_a_queue_which_is_not_there_are_told(cast: Cast, stage: Stage) -> None:
    job = stage.submit()
    stage.run(10)
    raw = "ClusterQueue slu-vision doesn't exist"
    observed(job, wait={"code": "queue_missing", "raw": raw}, admitted_at=None)
    look()
    told = open_notices("missing")["waiting_jobs"]
    assert (told["count"], told["jobs"][0]["job"], told["jobs"][0]["raw"]) == (1, job.public_id, raw)
    stage.run(10)
    ObservedWorkload.objects.update(gone=True)
    look()
    assert open_notices("missing") == {}


def preempted(victim: Job, by: Job, minutes: float, **more: Any) -> None:
    at = timezone.now() - timedelta(minutes=minutes)
    values = {"code": "preempted_higher_priority", "attempt_no": 1, **more}
    JobEvent.objects.create(job=victim, at=at, recorded_at=at, facts={"by": by.public_id}, **values)


def test_what_the_gate_interrupted_is_told_once_with_the_job_it_was_for(cast: Cast, stage: Stage) -> None:
    since = timezone.now()
    job = stage.submit(card_model="h100", cards=32, command="sleep infinity")
    stage.run(60)
    urgent = stage.submit("lead-vision", card_model="h100", cards=8, priority="high", command="sleep infinity")
    stage.run(60)
    assert stage.job(job).reason_code == "preempted_higher_priority"
    (told,) = preemptions_since(since)
    assert (told.cluster_id, told.victim, told.by) == (cast.cluster.pk, job.public_id, urgent.public_id)
    assert preemptions_since(timezone.now() + timedelta(seconds=1)) == []
    job_operate(actor=cast.actor("eng-vision-1"), job=stage.job(job), operation=Operation.CANCEL)
    stage.run(10)
    assert preemptions_since(since) == []


def test_two_jobs_that_interrupt_each_other_are_a_loop_until_it_is_over(cast: Cast, stage: Stage) -> None:
    one, other = stage.submit(), stage.submit()
    stage.settle()
    preempted(one, other, 20)
    preempted(other, one, 10)
    preempted(one, other, 8, code="preempted_by_person")
    look()
    assert open_notices("loop") == {}
    preempted(one, other, 5)
    look()
    (told,) = open_notices("loop").values()
    assert told["count"] == 3 and {job["job"] for job in told["jobs"]} == {one.public_id, other.public_id}
    stage.skip(20 * 60)
    Cluster.objects.update(synced_at=timezone.now())
    look()
    assert open_notices("loop") == {}


def test_pods_of_no_queue_beside_jobs_are_told_by_node_group(cast: Cast, stage: Stage) -> None:
    stage.submit(card_model="h100", command="sleep infinity")
    stage.run(30)
    free = Node.objects.filter(group__slug="h100", holders=[]).first()
    assert free is not None
    stranger = {"pod": "etl-7", "space": "etl", "scheduler": "house-scheduler", "cards": 2}
    Node.objects.filter(pk=free.pk).update(outside=3, outsiders=[stranger])
    look()
    told = open_notices("two_schedulers")["h100"]
    assert (told["cards"], told["nodes"]) == (3, [{"node": free.name, "cards": 3}])
    assert (told["schedulers"], told["pods"]) == (["house-scheduler"], [{"node": free.name, **stranger}])


def test_a_cluster_whose_picture_is_old_keeps_its_notices(cast: Cast, stage: Stage) -> None:
    stage.submit(card_model="h100", command="sleep infinity")
    stage.run(30)
    Node.objects.filter(group__slug="h100").update(outside=1)
    look()
    Node.objects.update(outside=0)
    stage.skip(120)
    look()
    assert list(open_notices("two_schedulers")) == ["h100"]


# --------------------------------------------------------------------------- mended already


def test_what_was_made_again_is_told_until_somebody_has_seen_it(cast: Cast, stage: Stage) -> None:
    stage.settle()
    gathered_again(cast.cluster, [("01A", 1)], timezone.now())
    gathered_again(cast.cluster, [("01A", 1), ("01B", 2)], timezone.now())
    queues_vanished(cast.cluster, ["vision"], timezone.now())
    queues_vanished(cast.cluster, [], timezone.now())
    look()
    told = open_notices("missing")
    assert told["gathered_again"]["count"] == 2
    assert [job["job"] for job in told["gathered_again"]["jobs"]] == ["01A", "01B"]
    assert told["queues_again"]["queues"] == [{"queue": "vision"}]
    notice_seen(actor=cast.actor("admin"), pk=Notice.objects.get(subject="queues_again").pk)
    look()
    assert list(open_notices("missing")) == ["gathered_again"]
    stage.skip(TOLD_FOR.total_seconds())
    Cluster.objects.update(synced_at=timezone.now())
    look()
    assert open_notices("missing") == {}


def test_what_vanishes_again_after_it_was_seen_is_news(cast: Cast) -> None:
    now = timezone.now()
    queues_vanished(cast.cluster, ["vision"], now)
    notice_seen(actor=cast.actor("admin"), pk=Notice.objects.get().pk)
    queues_vanished(cast.cluster, ["vision"], now + timedelta(minutes=1))
    first, second = Notice.objects.order_by("pk")
    assert (first.closed_at, second.closed_at, second.seen_at) == (now + timedelta(minutes=1), None, None)


# --------------------------------------------------------------------------- views


def test_a_conflict_has_a_sentence_advice_and_evidence(cast: Cast, stage: Stage) -> None:
    job = stage.submit(card_model="h100", command="sleep infinity")
    stage.run(30)
    Node.objects.filter(group__slug="h100").update(outside=1)
    gathered_again(cast.cluster, [(job.public_id, 1)], timezone.now())
    look()
    view = conflicts_view(viewer=cast.actor("admin"), cluster=cast.cluster, now=timezone.now())
    missing, outside = view.open
    assert missing.text == "What starts the pods of 1 job together was gone from the cluster. It is made again."
    assert [each.job for each in missing.evidence] == [job.public_id]
    assert outside.text.endswith("cards are taken by pods of no queue, beside the jobs of teams.")
    assert {each.text for each in outside.evidence} == {"1 card of pods of no queue."}
    assert str(outside.advice) and not view.past


def test_nothing_new_writes_nothing_and_costs_the_same_for_many_jobs(cast: Cast, stage: Stage) -> None:
    def queries() -> list[str]:
        with CaptureQueriesContext(connection) as found:
            look()
        return [query["sql"].split()[0] for query in found.captured_queries]

    stage.submit(command="sleep infinity")
    stage.run(30)
    before = queries()
    for _ in range(6):
        stage.submit("eng-language-1", cards=1, command="sleep infinity")
    stage.run(30)
    assert len(queries()) == len(before)
    assert not {"INSERT", "UPDATE", "DELETE"} & set(before)


def test_facts_that_nobody_can_read_stop_no_other_job(
    cast: Cast, stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = stage.submit(), stage.submit()
    stage.run(10)
    wait = {"code": "queue_missing", "raw": "gone"}
    observed(bad, wait=wait, created_at="yesterday")
    observed(good, wait=wait)
    look()
    assert [job["job"] for job in open_notices("missing")["waiting_jobs"]["jobs"]] == [good.public_id]
    assert bad.public_id in caplog.text
