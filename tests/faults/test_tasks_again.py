"""R19, R21, R22: a task that comes twice, two beats, and a worker that was paused longer than its lease."""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery
from django.db import transaction
from django.test import Client
from django.utils import timezone
from kombu import Connection, Consumer, Message

from accounts.models import AuditEvent
from clusters.sync import cluster_sync
from clusters.tasks import sync_due_task
from console.celery import app
from console.settings.environment import celery_broker_url
from jobs.domain.operations import Operation
from jobs.models import Attempt, Job, JobEvent, JobSync, LogChunk, Run
from jobs.reconcile.claims import claim_due, claim_jobs
from jobs.reconcile.load import load
from jobs.reconcile.loop import reconcile_loaded
from jobs.services.operations import job_operate
from jobs.tasks import collect_logs_task, housekeeping_task, reconcile_task, sweep_task
from tests.faults.seeds.cluster import Trouble
from tests.faults.seeds.house import House, open_house

FORGOTTEN_AFTER = 1.0
"""Seconds after which the broker gives a task that nobody has acknowledged to somebody else."""


@pytest.fixture
def house(db: None, caplog: pytest.LogCaptureFixture) -> Iterator[House]:
    caplog.set_level(logging.CRITICAL)
    with open_house() as house:
        yield house


def _rows() -> dict[str, list[dict[str, Any]]]:
    """All that was written about the jobs."""
    models = (Job, Attempt, Run, JobEvent, JobSync, LogChunk, AuditEvent)
    return {model.__name__: list(model.objects.order_by("pk").values()) for model in models}


def _story() -> dict[str, list[Any]]:
    """The same without times, keys and names of objects, which are others in each play."""
    columns: dict[type[Any], tuple[str, ...]] = {
        Job: ("display_name", "state", "reason_code", "attempt_no", "generation", "held"),
        Attempt: ("job__display_name", "number", "end", "end_reason", "log_complete"),
        Run: ("attempt__job__display_name", "attempt__number", "ordinal", "end_cause", "cards"),
        JobEvent: ("job__display_name", "code", "attempt_no", "run_ordinal"),
        JobSync: ("job__display_name", "failures", "last_error", "observed_generation"),
    }
    told = {model.__name__: sorted(model.objects.values_list(*names)) for model, names in columns.items()}
    return {**told, "audit": sorted(AuditEvent.objects.values_list("action", flat=True))}


def _play(house: House, times: int) -> tuple[dict[str, list[Any]], list[tuple[int, int]], Counter[str]]:
    """A day of four jobs, in which every task comes ``times`` times; afterwards nothing of it is left."""
    commands = ("sleep 5; exit 0", "sleep 5; exit 3", "sleep 600", "sleep 600")
    first_call, first_birth = len(house.calls), len(house.cluster.born)
    jobs = [house.submit(name=f"job {n}", command=command, cards=n) for n, command in enumerate(commands)]
    wishes = {4: (2, Operation.HOLD), 9: (2, Operation.RESUME), 11: (3, Operation.REQUEUE), 16: (2, Operation.CANCEL),
              17: (3, Operation.CANCEL)}  # fmt: skip
    for number in range(40):
        house.skip(3)
        for _ in range(times):
            sync_due_task()
        for job in jobs:
            for _ in range(times):
                reconcile_task(job.pk)
        for task in (sweep_task, collect_logs_task, housekeeping_task):
            for _ in range(times):
                task()
        if number in wishes:
            which, operation = wishes[number]
            for _ in range(1 if operation is Operation.RESUME else times):  # the second would be told: not held
                job_operate(actor=house.scene.actors["ada"], job=jobs[which], operation=operation)
    births = [(1 + [job.public_id for job in jobs].index(ulid), n) for ulid, n in house.cluster.born[first_birth:]]
    return _story(), births, Counter(call for call in house.calls[first_call:] if call not in {"observe", "logs"})


def test_tasks_that_come_three_times_do_what_one_does(db: None, caplog: pytest.LogCaptureFixture) -> None:
    """R19: identical effect: story and objects are those of a play in which each task came once (I2, I7)."""
    caplog.set_level(logging.CRITICAL)
    plays = []
    for times in (1, 3):
        with transaction.atomic():
            with open_house() as house:
                plays.append(_play(house, times))
            transaction.set_rollback(True)
    once, thrice = plays
    assert {"job.hold", "job.requeue", "job.cancel"} < set(once[0]["audit"])
    assert once[:2] == thrice[:2]
    assert all(thrice[2][call] <= 3 * count for call, count in once[2].items())  # said again before the next look
    assert {call: thrice[2][call] for call in ("submit", "stop")} == {
        call: once[2][call] for call in ("submit", "stop")
    }


def test_a_task_that_the_broker_gives_out_again_changes_nothing(house: House) -> None:
    """R19: a worker takes a task and never says that it is done; after the visibility time-out another gets it."""
    job = house.submit(command="sleep 600")
    sender = Celery("sender", broker=_broker(), set_as_current=False)
    sender.conf.broker_transport_options = {"visibility_timeout": FORGOTTEN_AFTER}
    queue = f"again-{os.getpid()}"
    sender.send_task("jobs.reconcile", args=(job.pk,), queue=queue, ignore_result=True)
    deliveries = []

    def take(body: Any, message: Message) -> None:
        (args, _kwargs, _embed) = body
        deliveries.append((args, message.delivery_info.get("redelivered", False)))
        app.tasks["jobs.reconcile"](*args)
        if len(deliveries) > 1:
            message.ack()

    for _ in range(2):  # the second is another worker, which finds what the first has left
        with Connection(_broker(), transport_options=sender.conf.broker_transport_options) as broker:
            with Consumer(broker, queues=[sender.amqp.queues[queue]], callbacks=[take], accept=["json"]):
                _drain_until(broker, len(deliveries) + 1, deliveries)
            time.sleep(1.2 * FORGOTTEN_AFTER if len(deliveries) == 1 else 0)
    assert [args for args, _ in deliveries] == [[job.pk], [job.pk]]
    assert house.cluster.born == [(job.public_id, 1)]
    assert JobEvent.objects.filter(job=job).count() == 1
    sender.close()


def _broker() -> str:
    return celery_broker_url(os.environ["REDIS_URL"])


def _drain_until(broker: Connection, count: int, deliveries: list[Any]) -> None:
    begun = time.monotonic()
    while len(deliveries) < count:
        assert time.monotonic() - begun < 20, "not delivered"
        try:
            broker.drain_events(timeout=0.5)
        except TimeoutError:
            broker.default_channel.qos.restore_visible(num=10)


# --------------------------------------------------------------------------- R21


def test_two_beats_look_once_and_send_once_for_each_due(house: House) -> None:
    """R21: what falls due is in rows, so the second tick of the same moment finds it done."""
    jobs = [house.submit(command="sleep 600") for _ in range(3)]
    looks = 0
    for _ in range(10):
        house.skip(2)
        before = len(house.calls)
        for _beat in range(2):
            sync_due_task()
            sweep_task()
        looks += house.calls[before:].count("observe")
    assert looks == 10
    assert sorted(house.cluster.born) == sorted((job.public_id, 1) for job in jobs)


def test_without_a_beat_the_console_says_that_work_is_late(house: House, client: Client) -> None:
    """R21: nobody ticks; what falls due stays, and half a minute later the web server tells it by itself."""
    house.submit(command="sleep 600")
    house.run(6)
    assert client.get("/readyz").json() == {"status": "ready"}
    job = house.submit(command="sleep 600")
    house.skip(20)
    assert client.get("/readyz").json() == {"status": "ready"}
    house.skip(20)
    answer = client.get("/readyz")
    assert answer.status_code == 200  # submits are taken all the same
    assert answer.json() == {"status": "ready", "late": "jobs", "seconds": 40}
    claim_jobs([job.pk], timezone.now())  # a worker is at it
    assert client.get("/readyz").json() == {"status": "ready"}
    house.skip(31)
    house.run(6)
    assert client.get("/readyz").json() == {"status": "ready"}


def test_jobs_of_a_cluster_that_is_away_are_not_late(house: House, client: Client) -> None:
    house.submit(command="sleep 600")
    house.trouble = lambda _call: Trouble.AWAY
    for _ in range(30):
        house.one_pass(5)
        assert client.get("/readyz").json() == {"status": "ready"}


# --------------------------------------------------------------------------- R22


@pytest.mark.parametrize("pause", [31, 65])
@pytest.mark.parametrize("wish", [None, Operation.CANCEL, Operation.HOLD, Operation.REQUEUE])
def test_what_a_paused_worker_brings_back_after_its_lease_is_rejected(
    house: House, pause: int, wish: Operation | None
) -> None:
    """R22: two reconcilers; the one that slept writes nothing, and what it asks of the cluster makes nothing twice."""
    jobs = [house.submit(command="sleep 600", cards=1) for _ in range(3)]
    claim = claim_due(timezone.now(), 10)
    asleep = load(claim.job_ids)
    assert len(asleep) == len(jobs)
    house.run(pause, step=pause / 3)
    if wish is not None:
        for job in jobs:
            job_operate(actor=house.scene.actors["ada"], job=job, operation=wish)
    house.run(30, step=5)
    rows = _rows()
    reconcile_loaded(claim, asleep)
    assert _rows() == rows
    cluster_sync(house.scene.cluster)
    house.run(60, step=10)
    assert len(house.cluster.born) == len(set(house.cluster.born))
    expected = {None: "running", Operation.CANCEL: "cancelled", Operation.HOLD: "queued", Operation.REQUEUE: "running"}
    assert set(Job.objects.values_list("state", flat=True)) == {expected[wish]}
    live = [w for w in house.cluster.world.workloads.values() if not w.deleting]
    assert len(live) == (0 if wish is Operation.CANCEL else len(jobs))
