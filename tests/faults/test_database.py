"""R15, R16: PostgreSQL ends a session in the middle, takes no writes, has no room or connections, or a deadlock.

What a person gets is a sentence with 503 and when to try again; the same key then gives one job. Nothing is half
written, and each job and act has its audit row (I7).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from accounts.models import ApiToken, AuditEvent
from common import faults
from jobs.models import Attempt, IdempotencyKey, Job, JobEvent, JobSync
from jobs.reconcile.loop import sweep
from quotas.models import Demand
from tests.api.client import Api
from tests.cast import Cast, build_cast
from tests.pages.conftest import visitor_of
from tests.stage import BODY

OWNER = "eng-vision-1"
SQLSTATES = {
    "no room": psycopg.errors.DiskFull,
    "no connection": psycopg.errors.TooManyConnections,
    "deadlock": psycopg.errors.DeadlockDetected,
    "serialization": psycopg.errors.SerializationFailure,
    "shutting down": psycopg.errors.AdminShutdown,
}


@pytest.fixture
def cast(transactional_db: None, caplog: pytest.LogCaptureFixture) -> Iterator[Cast]:
    caplog.set_level(logging.CRITICAL)
    yield build_cast()
    connection.close()


def _end_the_session() -> None:
    """As seen by a client, an immediate restart of the server: its session is gone without a word."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    with psycopg.connect(**_address()) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


def _address() -> dict[str, Any]:
    known = connection.get_connection_params()
    return {name: known[name] for name in ("dbname", "user", "password", "host", "port") if name in known}


@contextmanager
def _once_at(point: str, happens: Callable[[], None]) -> Iterator[None]:
    left = 1

    def reach(name: str) -> None:
        nonlocal left
        if name == point and left:
            left = 0
            happens()

    with faults.handler(reach):
        yield
    assert left == 0, f"{point} was not reached"


def _written() -> dict[str, int]:
    acts = AuditEvent.objects.filter(target_type="job").count()
    models = (Job, Attempt, JobSync, JobEvent, Demand, IdempotencyKey)
    return {"acts": acts, **{model.__name__: model.objects.count() for model in models}}


def _is_told_to_try_again(answer: Any) -> None:
    assert answer.status_code == 503
    assert int(answer["Retry-After"]) > 0
    assert answer.json()["errors"][0]["detail"]
    assert "Traceback" not in answer.content.decode()


# --------------------------------------------------------------------------- R15


@pytest.mark.parametrize("point", ["submit.commit.before", "submit.commit.after"])
def test_a_submit_whose_database_went_away_is_made_once_when_it_is_sent_again(cast: Cast, point: str) -> None:
    """R15: before the commit nothing is left, after it everything; the same key gives one job both times."""
    api = Api(OWNER)
    with _once_at(point, _end_the_session):
        answer = api.call("POST", "jobs", BODY, Idempotency_Key="only one")
    connection.close()  # as every server does after a request
    if point.endswith("before"):
        _is_told_to_try_again(answer)
        assert set(_written().values()) == {0}
    else:
        assert answer.status_code in {201, 503}
        assert set(_written().values()) == {1}
    again = api.call("POST", "jobs", BODY, Idempotency_Key="only one")
    assert again.status_code in {200, 201}
    assert set(_written().values()) == {1}
    assert again.json()["id"] == Job.objects.get().public_id


@pytest.mark.parametrize("point", ["hold.commit.before", "cancel.commit.before"])
def test_an_act_whose_database_went_away_is_not_half_done(cast: Cast, point: str) -> None:
    """R15, I7: neither the wish nor its audit row; asked again, both."""
    api = Api(OWNER)
    job = api.submit(BODY)
    operation = point.split(".")[0]
    with _once_at(point, _end_the_session):
        _is_told_to_try_again(api.call("POST", f"jobs/{job['id']}/{operation}"))
    connection.close()
    assert (Job.objects.get().generation, _written()["acts"]) == (1, 1)
    assert api.call("POST", f"jobs/{job['id']}/{operation}").status_code < 300
    assert (Job.objects.get().generation, _written()["acts"]) == (2, 2)


@pytest.mark.parametrize("point", ["claim.after", "writeback.commit.before", "writeback.commit.after"])
def test_a_worker_whose_database_went_away_goes_on_after_its_lease(cast: Cast, point: str) -> None:
    """R15: what it had claimed is taken up again; one object, one story."""
    Api(OWNER).submit(BODY)
    with _once_at(point, _end_the_session), suppress(OperationalError):
        sweep()
    connection.close()
    JobSync.objects.update(lease_until=None, due_at=timezone.now())  # its lease is over
    assert sweep() == 1
    attempt = Attempt.objects.get()
    assert attempt.submitted_at is not None
    assert not JobSync.objects.exclude(token="").exists()


# --------------------------------------------------------------------------- R16


@contextmanager
def _read_only() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
    try:
        yield
    finally:
        connection.close()


def test_a_database_that_takes_no_writes_is_read_and_says_so(cast: Cast) -> None:
    """R16: a standby after a failover: pages and API are served, who writes is told to try again."""
    api, visitor = Api(OWNER), visitor_of(cast, OWNER)
    visitor.client.raise_request_exception = False
    job = api.submit(BODY)
    before = _written()
    long_ago = timezone.now() - timedelta(days=1)
    ApiToken.objects.update(last_used_at=long_ago)  # its use would be noted now
    with _read_only():
        assert visitor.client.get("/jobs/").status_code == 200
        assert visitor.client.get(f"/jobs/{job['id']}/").status_code == 200
        assert api.get("jobs")["results"][0]["id"] == job["id"]
        _is_told_to_try_again(api.call("POST", "jobs", BODY, Idempotency_Key="another"))
        _is_told_to_try_again(api.call("POST", f"jobs/{job['id']}/hold"))
        page = visitor.client.post(f"/jobs/{job['id']}/hold/")
        assert page.status_code == 503
        assert "Something broke on our side" in page.content.decode()
        assert "Traceback" not in page.content.decode()
    assert _written() == before
    assert api.call("POST", "jobs", BODY, Idempotency_Key="another").status_code == 201
    assert _written() == {name: count + 1 for name, count in before.items()} | {
        "IdempotencyKey": before["IdempotencyKey"] + 1
    }


@pytest.mark.parametrize("trouble", SQLSTATES)
def test_whatever_the_database_lacks_is_a_sentence_and_nothing_half_written(cast: Cast, trouble: str) -> None:
    """R16: disk full, too many connections, deadlock, 40001: 503, no traceback, audit rows go with their acts (I7)."""
    api, before = Api(OWNER), _written()

    def fails() -> None:
        raise OperationalError(trouble) from SQLSTATES[trouble](trouble)

    with _once_at("submit.commit.before", fails):
        _is_told_to_try_again(api.call("POST", "jobs", BODY))
    assert _written() == before
    assert api.submit(BODY)["state"] == "queued"


@pytest.mark.parametrize("trouble", ["deadlock", "serialization", "no room"])
def test_a_worker_whose_write_fails_tries_again_ever_more_slowly(cast: Cast, trouble: str) -> None:
    """R16: bounded retry: the job is given back with a later due time, and says so to admins."""
    Api(OWNER).submit(BODY)

    def fails() -> None:
        raise OperationalError(trouble) from SQLSTATES[trouble](trouble)

    for tries in (1, 2, 3):
        JobSync.objects.update(due_at=timezone.now())
        with _once_at("writeback.commit.before", fails):
            sweep()
        sync = JobSync.objects.get()
        assert (sync.failures, sync.last_error, sync.token) == (tries, "internal_error", "")
        assert sync.due_at is not None and 2**tries - 1 <= (sync.due_at - timezone.now()).total_seconds() <= 60
    JobSync.objects.update(due_at=timezone.now())
    assert sweep() == 1
    assert JobSync.objects.get().failures == 0
    assert Attempt.objects.get().submitted_at is not None
