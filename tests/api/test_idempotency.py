"""Fifty requests at once with one Idempotency-Key: one job, fifty equal answers (R24)."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from accounts.models import AuditEvent
from jobs.models import IdempotencyKey, Job
from tests.api.client import Api, refused
from tests.cast import Cast, build_cast
from tests.stage import BODY

AT_ONCE = 50


@pytest.fixture
def open_cast(transactional_db: None) -> Cast:
    return build_cast()


def _at_once(api: Api, bodies: list[dict[str, Any]], key: str) -> list[Any]:
    start = Barrier(len(bodies))

    def one(body: dict[str, Any]) -> Any:
        try:
            connection.ensure_connection()
            start.wait(timeout=60)
            return api.call("POST", "jobs", body, Idempotency_Key=key)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(bodies)) as pool:
        return list(pool.map(one, bodies))


def test_fifty_at_once_with_one_key_get_fifty_equal_answers(open_cast: Cast) -> None:
    api = Api("eng-vision-1")
    answers = _at_once(api, [BODY] * AT_ONCE, "at once")
    assert Counter(answer.status_code for answer in answers) == {201: AT_ONCE}
    assert len({answer.content for answer in answers}) == 1
    assert Job.objects.get().public_id == answers[0].json()["id"]
    assert AuditEvent.objects.filter(action="job.submit").count() == IdempotencyKey.objects.count() == 1


def test_a_replay_is_answered_like_the_first_time(open_cast: Cast) -> None:
    api = Api("eng-vision-1")
    first = api.call("POST", "jobs", BODY, Idempotency_Key="again")
    again = api.call("POST", "jobs", dict(reversed(BODY.items())), Idempotency_Key="again")
    assert (first.status_code, first.content) == (again.status_code, again.content)
    other = refused(api, 422, "POST", "jobs", {**BODY, "cards": 4}, Idempotency_Key="again")
    assert other == [("Idempotency-Key", "key_reused")]
    assert refused(api, 400, "POST", "jobs", BODY, Idempotency_Key="x" * 201) == [("Idempotency-Key", "malformed")]
    assert api.call("POST", "jobs", BODY, Idempotency_Key="schlüssel".encode().decode("latin-1")).status_code in {
        201,
        400,
    }
