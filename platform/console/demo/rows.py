"""Rehearsed jobs as rows, written in bulk: the same rows that submit, operations and the reconcile loop would leave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from accounts.models import AuditEvent, Team, User
from accounts.policy import Action
from clusters.backends.sandbox.facts import from_ms
from clusters.domain.water import FIGURES
from clusters.models import Cluster, NodeGroup
from clusters.simulation.logs import tail
from clusters.simulation.world import Workload, World
from clusters.water_models import WaterSample
from common.rows import insert_many
from console.demo.layout import PEOPLE, TEAMS
from console.demo.played import CPU_MILLIS, MEMORY_BYTES, STOP_GRACE, PlayedAttempt, PlayedJob
from console.demo.water import Gauge
from jobs.domain.operations import Operation
from jobs.domain.words import TERMINAL_STATES
from jobs.models import Attempt, Job, JobEvent, JobSync, LogChunk, Run
from jobs.services.operations import ACTIONS
from jobs.specs import spec_hash
from quotas.models import Demand, LocalQueue

BATCH = 1_000
LOGS_OF_NEWEST = 50
LOG_LINES = 400


@dataclass(frozen=True, slots=True)
class Cast:
    """The rows that jobs point to, by the names the demo uses."""

    cluster: Cluster
    teams: dict[str, Team]
    people: dict[str, User]
    groups: dict[str, NodeGroup]
    local_queues: dict[str, LocalQueue]  # each team's default one, by team

    @classmethod
    def load(cls, cluster: Cluster) -> Cast | None:
        """None when somebody has removed a team, a person or a queue of the demo."""
        queues = LocalQueue.objects.filter(queue__cluster=cluster, is_default=True).select_related("queue__team")
        cast = cls(
            cluster=cluster,
            teams={team.slug: team for team in Team.objects.filter(slug__in=TEAMS)},
            people={user.username: user for user in User.objects.filter(username__in=[p.username for p in PEOPLE])},
            groups={group.slug: group for group in cluster.groups.all()},
            local_queues={queue.queue.team.slug: queue for queue in queues},
        )
        owners = {person.username for person in PEOPLE if person.team is not None}
        whole = owners <= cast.people.keys() and TEAMS.keys() <= cast.teams.keys() & cast.local_queues.keys()
        return cast if whole else None

    def spaces(self) -> dict[str, str]:
        return {slug: team.space for slug, team in self.teams.items()}


def store(cast: Cast, jobs: Sequence[PlayedJob], world: World, workloads: dict[str, Workload]) -> dict[str, str]:
    """Write jobs, oldest first, in the caller's transaction.

    ``world`` is the cluster at the end of the rehearsal, ``workloads`` every object that ever was in it. Returns
    the fingerprint of each stored attempt's specification by object name.
    """
    rows = [_job(cast, job) for job in jobs]
    insert_many(rows, key="public_id")
    pairs = list(zip(jobs, rows, strict=True))
    attempts = [_attempt(job, row, attempt, world) for job, row in pairs for attempt in job.attempts]
    insert_many(attempts, key="object_name")
    played = [attempt for job in jobs for attempt in job.attempts]
    insert_many([run for attempt, row in zip(played, attempts, strict=True) for run in _runs(attempt, row)])
    insert_many([event for job, row in pairs for event in _events(job, row)])
    now = from_ms(world.now_ms)
    insert_many(
        [
            JobSync(job=row, job_ulid=job.key, due_at=None if job.is_over else now, observed_generation=row.generation)
            for job, row in pairs
        ]
    )
    insert_many([_demand(job, row) for job, row in pairs if job.state not in TERMINAL_STATES])
    _store_logs(pairs, attempts, world, workloads)
    _store_audit(entry for job, row in pairs for entry in _acts(job, row))
    return {attempt.object_name: attempt.spec_hash for attempt in attempts}


def _job(cast: Cast, job: PlayedJob) -> Job:
    request = job.request
    has_cards = request.cards > 0
    acted = [entry.operation for entry in job.operations if entry.operation is not Operation.RESUME]
    return Job(
        public_id=job.key,
        team=cast.teams[request.team],
        owner=cast.people[request.owner],
        cluster=cast.cluster,
        local_queue=cast.local_queues[request.team],
        group=cast.groups[request.group] if request.group is not None else None,
        is_demo=True,
        display_name=request.name,
        slug=job.slug,
        salt=job.salt,
        framework=request.framework,
        image=request.image,
        command=request.command,
        kind=request.kind.value,
        priority=request.priority.value,
        cards=job.shape.cards,
        pods=job.shape.pods,
        cards_per_pod=job.shape.cards_per_pod,
        cpu_millis=0 if has_cards else CPU_MILLIS,
        memory_bytes=0 if has_cards else MEMORY_BYTES,
        retry_limit=request.retry_limit,
        stop_grace_seconds=int(STOP_GRACE.total_seconds()),
        submitted_at=job.submitted_at,
        desired=job.desired.value,
        held=job.held,
        acted_by=cast.people[request.owner] if acted else None,
        generation=1 + len(job.operations),
        attempt_no=job.attempt.number,
        state=job.state.value,
        is_held=job.is_held,
        is_stopping=job.is_stopping,
        is_degraded=job.is_degraded,
        state_since=job.state_since or job.submitted_at,
        reason_code=job.reason.code.value,
        reason_facts=dict(job.reason.facts),
        reason_since=job.reason_since or job.submitted_at,
        started_at=job.started_at,
        ended_at=job.ended_at,
    )


def _attempt(job: PlayedJob, row: Job, attempt: PlayedAttempt, world: World) -> Attempt:
    is_gone = attempt.object_name not in world.workloads
    return Attempt(
        job=row,
        number=attempt.number,
        object_name=attempt.object_name,
        uid=attempt.uid,
        spec_hash=spec_hash(row, attempt.number),
        created_at=attempt.created_at,
        submitted_at=attempt.submitted_at,
        seen_at=attempt.seen_at,
        stop_asked_at=attempt.stop_asked_at,
        stop_cause=attempt.stop_cause,
        released_at=attempt.released_at,
        ended_at=attempt.ended_at,
        end=attempt.end.value if attempt.end is not None else "",
        end_reason=attempt.end_reason.code.value if attempt.end_reason is not None else "",
        end_facts=dict(attempt.end_reason.facts) if attempt.end_reason is not None else {},
        is_infrastructure=attempt.is_infrastructure,
        exit_code=attempt.exit_code,
        log_complete=is_gone and attempt.end is not None,
        log_checked_at=attempt.released_at,
    )


def _runs(attempt: PlayedAttempt, row: Attempt) -> Iterable[Run]:
    for run in attempt.runs:
        yield Run(
            attempt=row,
            ordinal=run.ordinal,
            queued_at=run.queued_at,
            admitted_at=run.admitted_at,
            scheduled_at=run.scheduled_at,
            started_at=run.started_at,
            ended_at=run.ended_at,
            released_at=run.released_at,
            end_cause=run.end_cause,
            nodes=list(run.nodes),
            cards=run.cards,
            times_are_bounds=run.times_are_bounds,
            was_evicted=run.was_evicted,
        )


def _events(job: PlayedJob, row: Job) -> Iterable[JobEvent]:
    for event in job.events:
        yield JobEvent(
            job=row,
            at=event.at,
            recorded_at=event.recorded_at,
            code=event.code,
            facts=dict(event.facts),
            attempt_no=event.attempt_no,
            run_ordinal=event.run_ordinal,
            actor_id=row.owner_id if event.by_owner else None,
        )


def _demand(job: PlayedJob, row: Job) -> Demand:
    return Demand(
        job_ulid=job.key,
        local_queue_id=row.local_queue_id,
        group_id=row.group_id,
        owner_id=row.owner_id,
        cards=row.cards,
        attempt_no=row.attempt_no,
        held=row.held,
        let_in=0 if row.held else row.cards,
        priority=row.gate_priority,
        since=row.submitted_at,
    )


def _acts(job: PlayedJob, row: Job) -> Iterable[tuple[datetime, AuditEvent]]:
    """What the owner did, as the audit trail tells it."""
    details = [(job.submitted_at, Action.JOB_SUBMIT, {"cards": row.cards, "priority": row.priority})]
    details += [
        (entry.at, ACTIONS[entry.operation], {"state": entry.state.value, "effect": entry.effect})
        for entry in job.operations
    ]
    for at, action, detail in details:
        yield (
            at,
            AuditEvent(
                actor_id=row.owner_id,
                actor_name=row.owner.username,
                action=action.value,
                target_type="job",
                target_id=row.public_id,
                team_id=row.team_id,
                detail=detail,
            ),
        )


def _store_audit(entries: Iterable[tuple[datetime, AuditEvent]]) -> None:
    ordered = sorted(entries, key=lambda entry: entry[0])
    rows = AuditEvent.objects.bulk_create([event for _, event in ordered], batch_size=BATCH)
    with connection.cursor() as cursor:  # the model sets its own time at every insert
        cursor.execute(
            "UPDATE accounts_auditevent AS a SET at = k.at"
            " FROM unnest(%s::bigint[], %s::timestamptz[]) AS k(id, at) WHERE a.id = k.id",
            [[row.pk for row in rows], [at for at, _ in ordered]],
        )


def _store_logs(
    pairs: Sequence[tuple[PlayedJob, Job]], attempts: Sequence[Attempt], world: World, workloads: dict[str, Workload]
) -> None:
    """The first lines of the newest jobs that are over; the rest of a rehearsal's logs was never kept."""
    over = sorted((job for job, _ in pairs if job.is_over), key=lambda job: job.ended_at or job.submitted_at)
    names = {attempt.object_name for job in over[-LOGS_OF_NEWEST:] for attempt in job.attempts}
    chunks = []
    for row in attempts:
        workload = workloads.get(row.object_name)
        has_log = workload is not None and row.object_name in names
        lines = tail(world, [workload], "", LOG_LINES).lines if workload is not None and has_log else ()
        if lines:
            chunks.append(
                LogChunk(
                    attempt=row,
                    first_seq=lines[0].seq,
                    last_seq=lines[-1].seq,
                    index=[[line.seq, line.at_ms, line.rank] for line in lines],
                    payload=b"\n".join(line.data for line in lines),
                )
            )
    LogChunk.objects.bulk_create(chunks)


def water_rows(gauge: Gauge, groups: Mapping[str, NodeGroup]) -> list[WaterSample]:
    """The samples of the water level that a rehearsal took."""
    return [
        WaterSample(group=groups[name], at=from_ms(at_ms), **{figure: getattr(level, figure) for figure in FIGURES})
        for at_ms, levels in gauge.samples
        for name, level in levels.items()
        if name in groups
    ]
