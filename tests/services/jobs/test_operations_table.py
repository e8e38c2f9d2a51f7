"""Every cell of the table of operations, state × held × cancelling × role, with real rows (decision 5)."""

from __future__ import annotations

import pytest
from django.db import transaction

from accounts.models import AuditEvent, Membership, Role
from common.errors import DomainError, NotAllowed
from jobs.domain.operations import Operation, Situation, situations
from jobs.domain.words import JobState
from jobs.models import Attempt, Job, JobEvent
from jobs.selectors import possible_operations
from jobs.services.operations import job_operate
from jobs.services.submit import job_submit
from quotas.models import Demand
from tests.cast import Cast
from tests.services.jobs.situations import OWNER, job_in
from tests.services.support import refused, row_counts
from tests.stage import Stage

MAY = (OWNER, "lead-vision", "admin")
MAY_NOT = ("eng-vision-2",)
LIVE = ("queued", "creating", "running", "retrying")

NOTHING = "nothing changes"


def expected(operation: Operation, situation: Situation) -> str | None:
    """The refusal's code, NOTHING where it was asked before, None where the wish is recorded. From decision 5."""
    live = situation.state.value in LIVE
    match operation:
        case Operation.RESTART:
            return "still_active" if live else None
        case _ if not live:
            return "already_ended"
        case Operation.CANCEL:
            return NOTHING if situation.cancelling else None
        case _ if situation.cancelling:
            return "being_cancelled"
        case Operation.HOLD:
            return NOTHING if situation.held else None
        case Operation.RESUME:
            return None if situation.held else "not_held"


def _label(situation: Situation) -> str:
    words = [situation.state.value, "held" if situation.held else "", "cancelling" if situation.cancelling else ""]
    return " ".join(filter(None, words))


def test_the_situations_are_all_there_are() -> None:
    found = {(s.state, s.held, s.cancelling) for s in situations()}
    live = [JobState(state) for state in LIVE]
    wanted = {(state, False, False) for state in JobState}
    wanted |= {(state, True, False) for state in live} | {(state, False, True) for state in live}
    assert found == wanted


@pytest.mark.parametrize("situation", list(situations()), ids=_label)
def test_every_cell_for_every_role(cast: Cast, situation: Situation) -> None:
    with Stage(cast) as stage:
        job = job_in(stage, situation)
        for operation in Operation:
            for username in MAY:
                with transaction.atomic():
                    _check_allowed(cast, job, operation, situation, username)
                    transaction.set_rollback(True)
            for username in MAY_NOT:
                error = refused(
                    lambda operation=operation, username=username: job_operate(
                        actor=cast.actor(username), job=job, operation=operation
                    ),
                    NotAllowed,
                )
                assert error.status == 403


def _check_allowed(cast: Cast, job: Job, operation: Operation, situation: Situation, username: str) -> None:
    actor = cast.actor(username)
    answer = expected(operation, situation)
    possible = {p.operation: p for p in possible_operations(viewer=actor, job=job)}[operation]
    before = row_counts()
    if answer is None:
        after = job_operate(actor=actor, job=job, operation=operation)
        assert possible.allowed and not possible.why_not
        _check_recorded(cast, job, after, operation, username, before)
        _check_asking_twice(cast, after, operation, username)
    elif answer is NOTHING:
        assert possible.allowed
        after = job_operate(actor=actor, job=job, operation=operation)
        assert (after.generation, row_counts()) == (job.generation, before)
    else:
        error = refused(lambda: job_operate(actor=actor, job=job, operation=operation), DomainError)
        assert (error.status, error.code) == (409, answer)
        assert not possible.allowed and possible.why_not == str(error.message)


def _check_recorded(
    cast: Cast, job: Job, after: Job, operation: Operation, username: str, before: dict[str, int]
) -> None:
    restarted = operation is Operation.RESTART
    rows = {"accounts_auditevent": 1, "jobs_jobevent": 1}
    if restarted:
        rows |= {"jobs_attempt": 1, "quotas_demand": 1}
    counts = row_counts()
    assert {table: counts[table] - before[table] for table in counts if counts[table] != before[table]} == rows
    audit = AuditEvent.objects.order_by("-pk")[0]
    assert (audit.action, audit.target_id, audit.actor_name) == (f"job.{operation.value}", job.public_id, username)
    event = JobEvent.objects.filter(job=job).order_by("-pk")[0]
    assert (event.code, event.actor) == (f"asked_{operation.value}", cast.users[username])
    stored = Job.objects.select_related("sync", "acted_by").get(pk=job.pk)
    assert stored.generation == job.generation + 1 == after.generation
    assert stored.acted_by == cast.users[username]
    assert stored.sync.due_at is not None
    assert stored.held == (operation is Operation.HOLD or (job.held and operation is Operation.CANCEL))
    assert stored.desired == ("cancel" if operation is Operation.CANCEL else "run")
    demand = Demand.objects.get(job_ulid=job.public_id)
    assert (demand.held, demand.attempt_no) == (stored.held, stored.attempt_no)
    assert stored.attempt_no == job.attempt_no + restarted
    assert Attempt.objects.filter(job=job).count() == stored.attempt_no
    if restarted:
        assert (stored.state, stored.reason_code, stored.flags) == ("queued", "submitted", [])
        assert (stored.started_at, stored.ended_at) == (None, None)
    else:
        assert (stored.state, stored.reason_code) == (job.state, job.reason_code)


def _check_asking_twice(cast: Cast, job: Job, operation: Operation, username: str) -> None:
    before = row_counts()
    try:
        again = job_operate(actor=cast.actor(username), job=job, operation=operation)
    except DomainError as error:
        assert error.code == {Operation.RESTART: "still_active", Operation.RESUME: "not_held"}[operation]
    else:
        assert operation in (Operation.CANCEL, Operation.HOLD)
        assert again.generation == job.generation
    assert row_counts() == before


def test_a_platform_admin_who_is_a_stranger_to_the_team_may_operate_but_a_foreign_lead_may_not(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit()
        for username in ("lead-language", "eng-language-1", "eng-robotics-1"):
            for operation in Operation:
                error = refused(
                    lambda username=username, operation=operation: job_operate(
                        actor=cast.actor(username), job=job, operation=operation
                    )
                )
                assert error.status == 403
        assert job_operate(actor=cast.actor("admin"), job=job, operation=Operation.HOLD).held


def test_a_restart_needs_the_right_to_the_jobs_priority(cast: Cast) -> None:
    """Somebody who led the team when the job was submitted, and no longer does, may not run it at high again."""
    lead = cast.actor("lead-vision")
    body = {"framework": "pytorch", "image": "registry.example/bert:1", "cards": 1, "priority": "high"}
    job = job_submit(actor=lead, data=body).job
    Job.objects.filter(pk=job.pk).update(state="failed")
    Membership.objects.filter(user=lead.user).update(role=Role.ENGINEER)
    demoted = cast.actor("lead-vision")
    with pytest.raises(NotAllowed):
        job_operate(actor=demoted, job=Job.objects.get(pk=job.pk), operation=Operation.RESTART)
    shown = possible_operations(viewer=demoted, job=Job.objects.get(pk=job.pk))
    assert not next(p for p in shown if p.operation is Operation.RESTART).allowed
    job_operate(actor=cast.actor("admin"), job=Job.objects.get(pk=job.pk), operation=Operation.RESTART)
