"""Every cell of the table of operations, situation × role, with real rows (decision 5)."""

from __future__ import annotations

import pytest
from django.db import transaction

from accounts.models import AuditEvent, Membership, Role
from clusters.backends.sandbox.backend import SandboxBackend
from common.errors import DomainError, NotAllowed
from jobs.domain.operations import NEEDS, Operation, Situation, situations
from jobs.domain.words import JobState
from jobs.models import Attempt, Job, JobEvent
from jobs.selectors import possible_operations
from jobs.services.bulk_operate import jobs_operate
from jobs.services.operations import job_operate
from jobs.services.submit import job_submit
from quotas.models import Demand
from tests.cast import Cast
from tests.services.jobs.situations import LEAD, OWNER, job_in, particulars
from tests.services.support import refused, row_counts
from tests.stage import Stage

EVERYBODY = (OWNER, "eng-vision-2", LEAD, "admin")
LIVE = ("queued", "creating", "running", "retrying")

NOTHING = "nothing changes"


def expected(operation: Operation, situation: Situation) -> str | None:
    """The refusal's code, NOTHING where it was asked before, None where the wish is recorded. From decision 5."""
    state, live = situation.state.value, situation.state.value in LIVE
    match operation:
        case Operation.RESTART:
            return "still_active" if live else None
        case _ if not live:
            return "already_ended"
        case Operation.CANCEL:
            return NOTHING if situation.cancelling else None
        case _ if situation.cancelling:
            return "being_cancelled"
        case Operation.PRIORITY | Operation.SCALE:
            return None
        case _ if situation.requeuing:
            return NOTHING if operation is Operation.REQUEUE else "being_requeued"
        case Operation.HOLD:
            return NOTHING if situation.held else None
        case Operation.RESUME:
            return None if situation.held or situation.resting else "not_held"
        case Operation.PREEMPT if not (situation.held or situation.resting):
            return None if state in {"creating", "running"} else "holds_no_cards"
        case Operation.PREEMPT:
            return "gives_way" if situation.resting else "is_held"
        case Operation.REQUEUE:
            return "is_held" if situation.held else "gives_way" if situation.resting else None


def may(username: str, operation: Operation, situation: Situation) -> bool:
    """Owner, lead and admin; but only those who may preempt a job may also end its giving way before the time."""
    ends_a_rest = operation is Operation.RESUME and situation.resting and not situation.held
    if operation is Operation.PREEMPT or ends_a_rest:
        return username in {LEAD, "admin"}
    return username in {OWNER, LEAD, "admin"}


def _label(situation: Situation) -> str:
    flags = ("held", "resting", "requeuing", "cancelling")
    return " ".join([situation.state.value, *(flag for flag in flags if getattr(situation, flag))])


def test_the_situations_are_all_there_are() -> None:
    wanted = {Situation(state) for state in JobState}
    for state in map(JobState, LIVE):
        wanted |= {Situation(state, held=True), Situation(state, cancelling=True), Situation(state, requeuing=True)}
        wanted |= {Situation(state, resting=True), Situation(state, held=True, resting=True)}
    found = list(situations())
    assert set(found) == wanted and len(found) == len(wanted)


@pytest.mark.parametrize("situation", list(situations()), ids=_label)
def test_every_cell_for_every_role(cast: Cast, situation: Situation) -> None:
    with Stage(cast) as stage:
        job = job_in(stage, situation)
        for operation in Operation:
            for username in EVERYBODY:
                if may(username, operation, situation):
                    with transaction.atomic():
                        _check_allowed(cast, _subject(job, operation), operation, situation, username)
                        transaction.set_rollback(True)
                else:
                    _check_forbidden(cast, job, operation, username)


def _subject(job: Job, operation: Operation) -> Job:
    """The job; where only a service can be asked, as one."""
    if operation is not Operation.SCALE:
        return job
    Job.objects.filter(pk=job.pk).update(kind="inference")
    return Job.objects.get(pk=job.pk)


def _operate(cast: Cast, username: str, job: Job, operation: Operation) -> Job:
    actor = cast.actor(username)
    return job_operate(actor=actor, job=job, operation=operation, data=particulars(operation))


def _check_forbidden(cast: Cast, job: Job, operation: Operation, username: str) -> None:
    error = refused(lambda: _operate(cast, username, job, operation), NotAllowed)
    assert error.status == 403
    shown = {p.operation: p for p in possible_operations(viewer=cast.actor(username), job=job)}[operation]
    assert not shown.allowed and shown.why_not


def _check_allowed(cast: Cast, job: Job, operation: Operation, situation: Situation, username: str) -> None:
    actor = cast.actor(username)
    answer = expected(operation, situation)
    possible = {p.operation: p for p in possible_operations(viewer=actor, job=job)}[operation]
    before = row_counts()
    if answer is None:
        after = _operate(cast, username, job, operation)
        assert possible.allowed and not possible.why_not
        _check_recorded(cast, job, after, operation, username, before)
        _check_asking_twice(cast, after, operation, username)
    elif answer is NOTHING:
        assert possible.allowed
        after = _operate(cast, username, job, operation)
        assert (after.generation, row_counts()) == (job.generation, before)
    else:
        error = refused(lambda: _operate(cast, username, job, operation), DomainError)
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
    still_gives_way = operation is Operation.RESUME and job.held and job.rests_until is not None
    assert stored.acted_by == (None if still_gives_way else cast.users[username])
    assert stored.sync.due_at is not None
    assert (stored.held, stored.desired) == (_held_after(job, operation), _desired_after(job, operation))
    assert stored.priority == ("low" if operation is Operation.PRIORITY else job.priority)
    assert stored.pods == (2 if operation is Operation.SCALE else job.pods)
    assert (stored.rests_until is not None) == _rests_after(job, operation)
    demand = Demand.objects.get(job_ulid=job.public_id)
    assert (demand.held, demand.attempt_no) == (stored.held or _rests_after(job, operation), stored.attempt_no)
    assert demand.cards == stored.cards == stored.pods * job.cards_per_pod
    assert stored.attempt_no == job.attempt_no + restarted
    assert Attempt.objects.filter(job=job).count() == stored.attempt_no
    if restarted:
        assert (stored.state, stored.reason_code, stored.flags) == ("queued", "submitted", [])
        assert (stored.started_at, stored.ended_at) == (None, None)
    else:
        assert (stored.state, stored.reason_code) == (job.state, job.reason_code)


def _held_after(job: Job, operation: Operation) -> bool:
    return operation is Operation.HOLD or (job.held and operation not in (Operation.RESUME, Operation.RESTART))


def _desired_after(job: Job, operation: Operation) -> str:
    wishes = {Operation.CANCEL: "cancel", Operation.REQUEUE: "requeue", Operation.RESTART: "run"}
    return wishes.get(operation, job.desired)


def _rests_after(job: Job, operation: Operation) -> bool:
    ended_by = (Operation.CANCEL, Operation.RESTART, *(() if job.held else (Operation.RESUME,)))
    return operation is Operation.PREEMPT or (job.rests_until is not None and operation not in ended_by)


def _check_asking_twice(cast: Cast, job: Job, operation: Operation, username: str) -> None:
    if operation is Operation.RESUME and job.rests_until is not None:
        return  # the second time it is another question: whether the job shall give way no longer
    before = row_counts()
    try:
        again = _operate(cast, username, job, operation)
    except DomainError as error:
        codes = {Operation.RESTART: "still_active", Operation.RESUME: "not_held", Operation.PREEMPT: "gives_way"}
        assert error.code == codes[operation]
    else:
        assert operation in (Operation.CANCEL, Operation.HOLD, Operation.REQUEUE, Operation.PRIORITY, Operation.SCALE)
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


@pytest.mark.parametrize("operation", list(Operation))
def test_what_a_cluster_cannot_do_is_refused_there_and_said_so(
    cast: Cast, operation: Operation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backend may lack an ability; nothing that it will never carry out is recorded."""
    with Stage(cast) as stage:
        job = _subject(job_in(stage, Situation(JobState.RUNNING)), operation)
        lacking = SandboxBackend.capabilities - {NEEDS.get(operation)}
        monkeypatch.setattr(SandboxBackend, "capabilities", lacking)
        before = row_counts()
        shown = {p.operation: p for p in possible_operations(viewer=cast.actor(LEAD), job=job)}[operation]
        try:
            code = None
            _operate(cast, LEAD, job, operation)
        except DomainError as error:
            code = error.code
        if operation in NEEDS:
            assert (code, shown.allowed, row_counts()) == ("not_offered", False, before)
        else:
            assert code == ("still_active" if operation is Operation.RESTART else None)
        (result,) = jobs_operate(
            actor=cast.actor(LEAD), operation=operation, ids=[job.public_id], data=particulars(operation), dry_run=True
        )
        assert (result.error is not None and result.error.code == "not_offered") is (operation in NEEDS)


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
