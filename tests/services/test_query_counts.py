"""Every read takes as many queries for a thousand rows as for ten, and every write as many on a full console."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.actors import actor_of
from accounts.models import AuditEvent, Membership, Role, User
from accounts.selectors import audit_page, teams_with_members, tokens_of
from accounts.services import token_create
from clusters.selectors import freshness, group_snapshots, group_views
from clusters.sync import cluster_sync
from jobs import selectors
from jobs.domain.operations import Operation
from jobs.logs import last_lines, read_logs
from jobs.models import Attempt, Job, JobEvent, JobSync
from jobs.reconcile.load import load
from jobs.selectors import JobFilters
from jobs.services.operations import job_operate
from jobs.services.preview import job_preview
from jobs.services.submit import job_submit
from jobs.team_queue import team_holders, team_queue
from quotas.selectors import queue_places, quota_groups, quota_rows
from tests.cast import Cast
from tests.services.many import many_jobs
from tests.stage import BODY

FEW, MANY = 10, 1_000


def counted(call: Callable[[], Any]) -> int:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        call()
    return len(queries)


def _reads(cast: Cast) -> dict[str, Callable[[], Any]]:
    engineer, lead, admin = (cast.actor(name) for name in ("eng-vision-1", "lead-vision", "admin"))
    team = cast.teams["vision"].pk
    everything, mine = JobFilters(), JobFilters(owner="me")

    def listed(viewer: Any, filters: JobFilters) -> None:
        page = selectors.job_list(viewer=viewer, filters=filters)
        selectors.reasons_of(viewer, page.rows)
        [(job.team, job.owner, job.group, job.cluster, job.local_queue, job.flags) for job in page.rows]

    def board() -> None:
        found = selectors.job_board(viewer=engineer, filters=mine)
        selectors.reasons_of(engineer, found.jobs)

    def detail() -> None:
        newest = Job.objects.filter(owner=engineer.user).order_by("-submitted_at")[0]
        job = selectors.job_get(viewer=engineer, public_id=newest.public_id)
        attempts = selectors.attempts_of(job)
        [selectors.runs_of(attempt) for attempt in attempts]
        selectors.reasons_of(engineer, [job])
        selectors.timeline(viewer=engineer, job=job)
        selectors.possible_operations(viewer=engineer, job=job)
        read_logs(attempts[-1])
        last_lines(attempts[-1])

    return {
        "list of an engineer": lambda: listed(engineer, everything),
        "own list": lambda: listed(engineer, mine),
        "list of an admin": lambda: listed(admin, everything),
        "search": lambda: listed(admin, JobFilters(search="job 5", state="failed")),
        "board": board,
        "sums of a list": lambda: selectors.list_sums(viewer=lead, filters=everything),
        "load of a person": lambda: selectors.person_load(viewer=engineer, filters=mine),
        "detail": detail,
        "team queue": lambda: team_queue(viewer=lead, team_id=team),
        "holders": lambda: team_holders(viewer=lead, team_id=team),
        "quota table": lambda: quota_groups(level="local"),
        "quota rows": lambda: quota_rows(viewer=lead),
        "places": lambda: queue_places(team),
        "preview": lambda: job_preview(actor=engineer, data=BODY),
        "nodes": lambda: group_views(viewer=admin),
        "snapshots": group_snapshots,
        "freshness": freshness,
        "actor": lambda: actor_of(cast.users["eng-vision-1"]),
        "audit": lambda: [event.team for event in audit_page(viewer=admin).rows],
        "people": lambda: [[m.user for m in team.people] for team in teams_with_members(viewer=admin)],  # type: ignore[attr-defined]
        "tokens": lambda: tokens_of(engineer),
    }


def test_reads_take_the_same_queries_for_ten_and_for_a_thousand_rows(cast: Cast) -> None:
    many_jobs(cast, FEW)
    few = {name: counted(read) for name, read in _reads(cast).items()}
    _grow(cast)
    many = {name: counted(read) for name, read in _reads(cast).items()}
    assert many == few
    assert max(few.values()) <= 12, few


def _grow(cast: Cast) -> None:
    ulids = many_jobs(cast, MANY - FEW)
    many_jobs(cast, MANY, "eng-language-1")
    job = Job.objects.get(public_id=ulids[0])
    JobEvent.objects.bulk_create(
        JobEvent(job=job, at=job.submitted_at, recorded_at=job.submitted_at, code="running", attempt_no=1)
        for _ in range(MANY)
    )
    Attempt.objects.bulk_create(
        Attempt(job=job, number=number, object_name=f"j-more-{number}", created_at=job.submitted_at)
        for number in range(2, 40)
    )
    people = User.objects.bulk_create(User(username=f"person-{number}") for number in range(100))
    Membership.objects.bulk_create(
        Membership(user=user, team=cast.teams["vision"], role=Role.ENGINEER) for user in people
    )
    AuditEvent.objects.bulk_create(
        AuditEvent(actor_name="x", action="job.submit", target_type="job", target_id=str(n), team=cast.teams["vision"])
        for n in range(MANY)
    )
    for number in range(20):
        token_create(actor=cast.actor("eng-vision-1"), name=f"script {number}")


def test_writes_take_the_same_queries_on_an_empty_and_on_a_full_console(cast: Cast) -> None:
    def submit() -> Job:
        return job_submit(actor=cast.actor("eng-vision-1"), data=BODY, idempotency_key=str(Job.objects.count())).job

    def operations() -> None:
        job = submit()
        for operation in (Operation.HOLD, Operation.RESUME, Operation.CANCEL):
            job_operate(actor=cast.actor("lead-vision"), job=job, operation=operation)

    submit()
    empty = counted(submit), counted(operations)
    many_jobs(cast, MANY)
    assert (counted(submit), counted(operations)) == empty


def test_loading_claimed_jobs_takes_the_same_queries_for_two_hundred_as_for_ten(cast: Cast) -> None:
    many_jobs(cast, 200)
    ids = list(JobSync.objects.order_by("job_id").values_list("job_id", flat=True))
    assert counted(lambda: load(ids[:10])) == counted(lambda: load(ids[:200]))


def test_a_look_at_the_cluster_takes_the_same_queries_for_many_objects(cast: Cast) -> None:
    def look() -> None:
        assert cluster_sync(cast.cluster)

    counted(look)
    few = counted(look)
    many_jobs(cast, 500)
    assert counted(look) == few
