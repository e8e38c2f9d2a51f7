"""A page asks the database as often with ten thousand jobs as with ten (quality rule B5c)."""

from __future__ import annotations

import pytest

from accounts.models import AuditEvent
from jobs.models import JobEvent
from tests.cast import Cast
from tests.pages.conftest import visitor_of
from tests.pages.crowd import crowd

pytestmark = pytest.mark.timeout(400)  # ten thousand jobs are made

EVERYBODY = ("eng-vision-1", "eng-vision-2", "eng-language-1", "eng-robotics-1")
PAGES = [
    ("eng-vision-1", "/jobs/"),
    ("eng-vision-1", "/jobs/?whose=team"),
    ("eng-vision-1", "/jobs/?state=failed&search=job"),
    ("eng-vision-1", "/jobs/{job}/"),
    ("eng-vision-1", "/jobs/{job}/logs/"),
    ("eng-vision-1", "/jobs/{job}/cancel/"),
    ("eng-vision-1", "/jobs/new/"),
    ("eng-vision-1", "/jobs/new/preview/?framework=pytorch&cards=8"),
    ("eng-vision-1", "/account/tokens/"),
    ("lead-vision", "/team/vision/"),
    ("lead-vision", "/team/vision/jobs/"),
    ("lead-vision", "/team/vision/queues/"),
    ("admin", "/admin/water/"),
    ("admin", "/admin/nodes/"),
    ("admin", "/admin/quotas/"),
    ("admin", "/admin/queues/"),
    ("admin", "/admin/jobs/"),
    ("admin", "/admin/setup/"),
    ("admin", "/admin/audit/"),
]


def test_more_jobs_mean_no_more_queries(cast: Cast) -> None:
    """Every page with 10 jobs each, and with 2,500 each and the events and acts that come with them."""
    job = crowd(cast, 10, usernames=EVERYBODY)[2]

    def visit_all() -> dict[str, int]:
        return {path: visitor_of(cast, who).count_queries(path.format(job=job.public_id)) for who, path in PAGES}

    few = visit_all()
    crowd(cast, 2_490, usernames=EVERYBODY)
    AuditEvent.objects.bulk_create(
        AuditEvent(actor_name="x", action="a.b", target_type="t", target_id="1") for _ in range(2_000)
    )
    JobEvent.objects.bulk_create(
        JobEvent(job=job, at=job.submitted_at, recorded_at=job.submitted_at, code="running", attempt_no=1)
        for _ in range(1_000)
    )
    assert visit_all() == few
    assert len(few) == len(PAGES) and min(few.values()) > 0
