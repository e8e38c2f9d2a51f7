"""Many rows fast: one real job, multiplied inside the database."""

from __future__ import annotations

from django.db import connection
from django.db.models import Model

from accounts.actors import actor_of
from jobs.models import Attempt, Job, JobEvent, JobSync, Run
from jobs.services.submit import job_submit
from quotas.models import Demand
from tests.cast import Cast
from tests.stage import BODY

STATES = ("queued", "creating", "running", "retrying", "succeeded", "failed", "cancelled")
REASONS = ("preempted_higher_priority", "pulling_image", "running", "node_lost", "completed", "app_exit", "cancelling")

_STATE = f"(ARRAY{list(STATES)!r})[1 + n %% 7]"
_REASON = f"(ARRAY{list(REASONS)!r})[1 + n %% 7]"
_LIVE = "n %% 7 < 4"


def many_jobs(cast: Cast, count: int, username: str = "eng-vision-1") -> list[str]:
    """``count`` more jobs of one person in all states, each with its rows beside it; ids of all, newest first."""
    template = job_submit(actor=actor_of(cast.users[username]), data={**BODY, "name": "template"}).job
    first = Job.objects.count() - 1
    ulid = f"'01' || lpad((n + {first})::text, 24, '0')"
    _multiply(
        template,
        count,
        public_id=ulid,
        display_name=f"'job ' || (n + {first})",
        submitted_at="t.submitted_at - n * interval '1 second'",
        state=_STATE,
        reason_code=_REASON,
        reason_facts=f"jsonb_build_object('by', {ulid}, 'pods', 1, 'node', 'h100-01', 'exit_code', 1, 'group', 'H100')",
    )
    job = f"(SELECT id FROM jobs_job WHERE public_id = {ulid})"
    _multiply(Attempt.objects.get(job=template), count, job_id=job, object_name=f"'j-many-' || (n + {first}) || '-1'")
    _multiply(JobSync.objects.get(job=template), count, job_id=job, job_ulid=ulid, due_at="NULL")
    _multiply(JobEvent.objects.get(job=template), count, job_id=job)
    _multiply(Demand.objects.get(job_ulid=template.public_id), count, where=_LIVE, job_ulid=ulid)
    run = Run.objects.create(
        attempt=template.attempts.get(), ordinal=1, queued_at=template.submitted_at, cards=8, nodes=["h100-01"]
    )
    attempt = f"(SELECT id FROM jobs_attempt WHERE object_name = 'j-many-' || (n + {first}) || '-1')"
    _multiply(run, count, attempt_id=attempt)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE jobs_job")
    rows = Job.objects.filter(owner=template.owner).order_by("-submitted_at", "-id")
    return list(rows.values_list("public_id", flat=True))


def _multiply(row: Model, count: int, where: str = "true", **changes: str) -> None:
    """``count`` copies of a row; ``changes`` are SQL expressions over ``n`` for the columns that differ."""
    meta = row._meta
    key = meta.pk.column
    columns = [field.column for field in meta.concrete_fields if field.column != key or key in changes]
    values = [changes.get(column, f't."{column}"') for column in columns]
    names = ", ".join(f'"{column}"' for column in columns)
    sql = (
        f'INSERT INTO "{meta.db_table}" ({names}) SELECT {", ".join(values)} '
        f'FROM "{meta.db_table}" t, generate_series(1, %s) AS n WHERE t."{key}" = %s AND {where}'
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [count, row.pk])
