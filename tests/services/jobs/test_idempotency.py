"""Idempotency-Key: the same key of the same person is one job for a day, however often and however fast."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.utils import timezone

from accounts.models import AuditEvent
from accounts.services import team_archive
from common.errors import DomainError, InvalidInput
from jobs.housekeeping import clear_old_rows
from jobs.models import Attempt, IdempotencyKey, Job
from jobs.services.submit import Submitted, job_submit
from quotas.models import Demand
from tests.cast import Cast, build_cast
from tests.services.support import problems_of, refused, row_counts
from tests.stage import BODY

KEY = "nightly-2024-10-01"


def _submit(cast: Cast, key: str | None = KEY, username: str = "eng-vision-1", **changes: Any) -> Submitted:
    return job_submit(actor=cast.actor(username), data={**BODY, **changes}, idempotency_key=key)


def test_the_same_key_with_the_same_body_gives_the_same_job(cast: Cast) -> None:
    first = _submit(cast)
    before = row_counts()
    again = job_submit(actor=cast.actor("eng-vision-1"), data=dict(reversed(BODY.items())), idempotency_key=KEY)
    assert (first.created, again.created) == (True, False)
    assert again.job == first.job
    assert row_counts() == before


@pytest.mark.parametrize("changes", [{"cards": 4}, {"cards": "8"}, {"name": "other"}, {"image": "x:1"}])
def test_the_same_key_with_another_body_is_refused(cast: Cast, changes: dict[str, Any]) -> None:
    _submit(cast)
    error = refused(lambda: _submit(cast, **changes))
    assert (error.status, error.code, error.attr) == (422, "key_reused", "Idempotency-Key")


def test_another_persons_key_is_another_key(cast: Cast) -> None:
    jobs = {_submit(cast, username=name).job.pk for name in ("eng-vision-1", "eng-vision-2", "eng-language-1")}
    assert len(jobs) == 3


def test_without_a_key_every_submit_is_a_job(cast: Cast) -> None:
    assert _submit(cast, None).job != _submit(cast, None).job
    assert not IdempotencyKey.objects.exists()


def test_a_refused_submit_does_not_use_up_its_key(cast: Cast) -> None:
    problems_of(lambda: _submit(cast, cards=11))
    assert _submit(cast, cards=12).created


def test_a_replay_answers_even_when_the_team_takes_no_new_jobs(cast: Cast) -> None:
    first = _submit(cast)
    team_archive(actor=cast.actor("admin"), team=cast.teams["vision"])
    assert _submit(cast).job == first.job


def test_a_key_holds_for_a_day_and_then_makes_a_new_job(cast: Cast) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        first = _submit(cast)
        clock.shift(timedelta(hours=24))
        assert _submit(cast).job == first.job
        clock.shift(timedelta(seconds=1))
        later = _submit(cast, cards=4)
        assert later.created and later.job != first.job
        assert _submit(cast, cards=4).job == later.job


def test_housekeeping_forgets_keys_after_a_day_and_no_job(cast: Cast) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        _submit(cast)
        clock.shift(timedelta(hours=23))
        _submit(cast, "second")
        assert clear_old_rows()[0] == 0
        clock.shift(timedelta(hours=2))
        assert clear_old_rows()[0] == 1
    assert list(IdempotencyKey.objects.values_list("key", flat=True)) == ["second"]
    assert Job.objects.count() == 2


@pytest.mark.parametrize("key", ["", "   ", "x" * 201, "a\nb", "a\x00b"], ids=ascii)
def test_a_malformed_key_is_a_problem_of_the_header(cast: Cast, key: str) -> None:
    error = refused(lambda: _submit(cast, key), InvalidInput)
    assert (error.status, error.code, error.attr) == (400, "malformed", "Idempotency-Key")


# --------------------------------------------------------------------------- fifty at once

AT_ONCE = 50


@pytest.fixture
def open_cast(transactional_db: None) -> Cast:
    """The cast, committed, so that other connections see it."""
    return build_cast()


def _all_at_once(call: Callable[[int], Any]) -> list[Any]:
    """Results, or refusals, of fifty calls that start together, each on a connection of its own."""
    start = Barrier(AT_ONCE)

    def one(number: int) -> Any:
        try:
            connection.ensure_connection()
            start.wait(timeout=30)
            return call(number)
        except DomainError as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(one, range(AT_ONCE)))


def test_fifty_at_once_with_one_key_are_one_job(open_cast: Cast) -> None:
    results = _all_at_once(lambda number: _submit(open_cast))
    assert Counter(result.created for result in results) == {True: 1, False: AT_ONCE - 1}
    assert len({result.job.public_id for result in results}) == 1
    job = Job.objects.get()
    for rows in (Attempt.objects.filter(job=job), Demand.objects.all(), IdempotencyKey.objects.all()):
        assert rows.count() == 1
    assert AuditEvent.objects.filter(action="job.submit").count() == 1


def test_fifty_at_once_with_two_bodies_are_one_job_and_refusals_of_the_other(open_cast: Cast) -> None:
    results = _all_at_once(lambda number: _submit(open_cast, cards=8 if number % 2 else 4))
    job = Job.objects.get()
    accepted = [result for result in results if isinstance(result, Submitted)]
    refusals = [result for result in results if isinstance(result, DomainError)]
    assert {result.job for result in accepted} == {job}
    assert {(error.status, error.code) for error in refusals} == {(422, "key_reused")}
    assert len(accepted) == len(refusals) == AT_ONCE // 2
    assert AuditEvent.objects.filter(action="job.submit").count() == 1


def test_fifty_at_once_after_the_day_are_one_new_job(open_cast: Cast) -> None:
    first = _submit(open_cast)
    IdempotencyKey.objects.update(created_at=timezone.now() - timedelta(hours=25))
    results = _all_at_once(lambda number: _submit(open_cast))
    assert {result.job for result in results} == {Job.objects.exclude(pk=first.job.pk).get()}
