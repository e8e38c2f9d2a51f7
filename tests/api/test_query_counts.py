"""The same number of queries for ten jobs as for ten thousand, on every address of the API that reads (B5c)."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.models import Job
from tests.api.client import Api
from tests.cast import Cast
from tests.services.many import many_jobs
from tests.services.test_query_counts import counted
from tests.stage import BODY

FEW, MANY = 10, 10_000

ENGINEER = ("jobs", "jobs?owner=me&state=failed", "jobs?search=job", "quotas", "quotas?level=local", "me", "tokens")
DETAIL = ("jobs/{id}", "jobs/{id}/timeline", "jobs/{id}/logs")
ADMIN = ("jobs", "quotas", "groups", "teams", "jobs/{id}")


@pytest.fixture
def cast(standing_cast: Cast) -> Cast:
    return standing_cast


def _counts(engineer: Api, admin: Api) -> dict[str, int]:
    public_id = Job.objects.latest("submitted_at").public_id
    counts = {}
    for api, name, paths in ((engineer, "engineer", (*ENGINEER, *DETAIL)), (admin, "admin", ADMIN)):
        for path in paths:
            address = path.format(id=public_id)
            counts[f"{name} {path}"] = counted(partial(api.get, address))
    return counts


def test_ten_thousand_jobs_take_the_queries_of_ten(cast: Cast) -> None:
    engineer, admin = Api("eng-vision-1"), Api("admin")
    for api in (engineer, admin):
        api.get("me")  # notes the first use of its token
    many_jobs(cast, FEW)
    few, writes = _counts(engineer, admin), counted(lambda: _write(engineer))
    many_jobs(cast, MANY)
    assert _counts(engineer, admin) == few
    assert counted(lambda: _write(engineer)) == writes
    assert max(few.values()) <= 12, few


def _write(api: Api) -> None:
    job = api.submit(BODY, Idempotency_Key=str(Job.objects.count()))
    for operation in ("hold", "resume", "cancel"):
        assert api.call("POST", f"jobs/{job['id']}/{operation}").status_code == 200


def test_a_submit_asks_four_times_and_stores_once(cast: Cast, settings: Any) -> None:
    """Token with roles, teams, queues, last vendor; then keys and one INSERT. A hundred jobs take as many."""
    settings.SLUICE = {**settings.SLUICE, "FIGURES_SECONDS": 3600.0}
    api = Api("eng-vision-1")
    api.submit(BODY)  # notes the first use of the token, and what is free
    for send in (lambda: api.submit(BODY), lambda: api.call("POST", "jobs/bulk", {"jobs": [BODY] * 100})):
        with CaptureQueriesContext(connection) as captured:
            send()
        said = [query["sql"] for query in captured if "SAVEPOINT" not in query["sql"]]
        assert len(said) == 6, said
        assert [("nextval" in text, "INSERT" in text) for text in said[-2:]] == [(True, False), (False, True)]
