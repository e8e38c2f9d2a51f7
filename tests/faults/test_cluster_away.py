"""R7 and R11: a cluster that is away, and a job that it refuses every time."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from clusters.models import Cluster
from jobs.models import Attempt, Job, JobSync
from tests.faults.seeds.cluster import SimulatedBackend, Trouble
from tests.faults.seeds.house import House, open_house

BURST = 60
CALM_AFTER = 75
"""Seconds until everything is asked for again: the longest rest of a cluster is a minute."""


@pytest.fixture
def house(db: None, caplog: pytest.LogCaptureFixture) -> Iterator[House]:
    caplog.set_level(logging.CRITICAL)
    with open_house() as house:
        yield house


def away(_call: str) -> Trouble:
    return Trouble.AWAY


def _visitor(house: House) -> Client:
    client = Client(headers={"accept-language": "en"})
    client.force_login(house.scene.actors["ada"].user, backend="allauth.account.auth_backends.AuthenticationBackend")
    return client


# --------------------------------------------------------------------------- R7


@pytest.mark.parametrize("minutes", [1, 10])
def test_while_a_cluster_is_away_submits_are_taken_and_pages_say_how_old_they_are(house: House, minutes: int) -> None:
    """R7: I1, and no herd after the return: no more calls in a sweep than its batch, none refused as too many."""
    visitor = _visitor(house)
    first = house.submit(name="before")
    house.run(10)
    house.trouble = away
    house.calls.clear()
    jobs = []
    for _ in range(BURST):
        jobs.append(house.submit(name="meanwhile", command="sleep 5; exit 0"))
        house.run(minutes * 60 / BURST, step=minutes * 60 / BURST)
    assert Job.objects.filter(state="queued").count() == BURST
    cluster = Cluster.objects.get()
    assert cluster.sync_error == "unreachable"
    assert cluster.rest_until is not None and cluster.rest_until <= timezone.now() + timedelta(seconds=60)
    assert len(house.calls) <= 8 + minutes * 60 / 5  # it is asked ever less often, whatever waits for it
    page = visitor.get("/jobs/")
    assert page.status_code == 200
    assert b"meanwhile" in page.content
    is_stale = minutes * 60 > settings.SLUICE["STALE_AFTER_SECONDS"]
    assert (b"Sandbox does not answer" in page.content) is is_stale

    refused = 0

    def crowded(call: str) -> Trouble | None:
        """The server as it is, for one that takes as many calls in a moment as a sweep may make."""
        nonlocal refused
        if house.calls_now() > settings.SLUICE["SWEEP_BATCH"] + 2:
            refused += 1
            return Trouble.BUSY
        return None

    house.trouble = crowded
    house.run(CALM_AFTER, step=5)
    assert Attempt.objects.filter(submitted_at=None).count() == 0
    assert refused == 0
    house.run(60, step=5)
    states = set(Job.objects.filter(pk__in=[job.pk for job in jobs]).values_list("state", flat=True))
    assert states == {"succeeded"}
    assert len(house.cluster.born) == len(set(house.cluster.born)) == BURST + 1
    assert house.cluster.asked("submit").count(Attempt.objects.get(job=first).object_name) == 1


# --------------------------------------------------------------------------- R11


def test_a_job_that_is_refused_ends_and_says_so_and_the_others_go_on(house: House) -> None:
    """R11: refused by the cluster's own rules; head-of-line delay of the others: none."""
    poison = house.submit(name="poison")
    others = [house.submit(name="fine", command="sleep 600") for _ in range(5)]
    house.refuse.add(Attempt.objects.get(job=poison).object_name)
    house.one_pass(2)
    poison.refresh_from_db()
    assert (poison.state, poison.reason_code) == ("failed", "rejected")
    assert poison.reason_facts["raw"]
    assert Attempt.objects.filter(job__in=others, submitted_at=None).count() == 0
    calls = len(house.calls)
    house.run(60, step=10)
    assert house.calls[calls:].count("submit") == 0


def test_a_job_whose_every_call_breaks_is_set_aside_and_says_so(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """R11: an error nobody foresaw; after three tries the job says that it was not sent, the others never wait."""
    poison = house.submit(name="poison")
    name = Attempt.objects.get(job=poison).object_name
    submit = SimulatedBackend._submit

    def breaks(self: SimulatedBackend, spec: object) -> object:
        if spec.object_name == name:  # type: ignore[attr-defined]
            raise RuntimeError("unforeseen")
        return submit(self, spec)  # type: ignore[arg-type]

    monkeypatch.setattr(SimulatedBackend, "_submit", breaks)
    for seconds in (2, 4, 8, 16):
        other = house.submit(name="fine", command="sleep 600")
        house.one_pass(seconds + 1)
        assert Attempt.objects.get(job=other).submitted_at is not None  # in the same sweep as the poison
    poison.refresh_from_db()
    assert (poison.state, poison.reason_code) == ("queued", "not_sent")
    assert poison.reason_facts == {"error": "internal_error"}
    sync = JobSync.objects.get(job=poison)
    assert sync.failures == 4 and sync.last_error == "internal_error"
    calls = len(house.calls)
    house.run(120, step=2)
    assert house.calls[calls:].count("submit") <= 4  # ever less often, a minute apart in the end
    monkeypatch.undo()
    house.run(70, step=10)
    house.run(20)
    poison.refresh_from_db()
    assert poison.state in {"running", "succeeded"} and JobSync.objects.get(job=poison).failures == 0
