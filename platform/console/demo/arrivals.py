"""The director at work on the real console: read the situation, ask, carry out.

Jobs come through the same services as everybody's, as the demo's own people; what happens to nodes and pods goes
to the sandbox as commands. A tick that dies anywhere is made good by the next one.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable

from django.db import transaction
from django.db.models import F

from accounts.actors import actor_of
from accounts.models import User
from clusters.backends.sandbox import driver
from clusters.backends.sandbox.facts import to_ms
from clusters.contract import NodeHealth
from clusters.models import Cluster, Node
from clusters.selectors import node_view
from clusters.simulation.commands import Command, EvictPod, ExitPod, NodePower
from common.errors import DomainError
from common.locks import LockSpace, try_session_lock
from console.demo.director import next_actions
from console.demo.layout import SEED
from console.demo.repertoire import planned_run_ms
from console.demo.situation import (
    Action,
    Crash,
    Disrupt,
    GroupSight,
    Holder,
    JobSight,
    NodeSight,
    Operate,
    Power,
    Request,
    Situation,
    SubmitJob,
)
from jobs.domain.operations import Operation
from jobs.domain.words import LIVE_STATES, Desired, JobState
from jobs.models import Attempt, Job, Run
from jobs.services.operations import job_operate
from jobs.services.submit import job_submit
from quotas.selectors import quota_groups

logger = logging.getLogger(__name__)

TICK_MS = 5_000
STRANGERS_MAX = 50
"""The oldest so many waiting jobs of others are looked at."""


def tick(cluster: Cluster) -> int:
    """Ask the director once; returns how many of its wishes came true. Nothing if another process is at it."""
    with try_session_lock(LockSpace.DEMO, cluster.pk) as taken:
        if not taken:
            return 0
        situation = read_situation(cluster)
        return sum(carry_out(cluster, action) for action in next_actions(SEED, situation))


# --------------------------------------------------------------------------- reading


def read_situation(cluster: Cluster) -> Situation:
    """What the last look at the cluster and the rows of today say; a fixed number of queries."""
    return Situation(
        now_ms=driver.now_ms(), step_ms=TICK_MS, groups=_groups(cluster), jobs=(*_demo_jobs(), *_strangers())
    )


def _groups(cluster: Cluster) -> dict[str, GroupSight]:
    nodes: dict[int, list[NodeSight]] = defaultdict(list)
    for node in Node.objects.filter(cluster=cluster).exclude(group=None).order_by("name"):
        nodes[node.group_id or 0].append(_node(node))
    return {
        rows.group.slug: GroupSight(
            name=rows.group.slug,
            nodes=tuple(nodes[rows.group.pk]),
            nominal={queue: figures.nominal for queue, figures in rows.balance.queues.items()},
            held={queue: figures.used + figures.reserved for queue, figures in rows.balance.queues.items()},
        )
        for rows in quota_groups()
        if rows.group.cluster_id == cluster.pk
    }


def _node(node: Node) -> NodeSight:
    return NodeSight(
        name=node.name,
        cards=node.installed,
        free=node_view(node, "").free,
        is_open=node.health in (NodeHealth.READY.value, NodeHealth.DEGRADED.value),
        down_since_ms=to_ms(node.since) if node.health == NodeHealth.DOWN.value and node.since else None,
        holders=tuple(Holder(h["job_ulid"], h["cards"], h["ending"]) for h in node.holders),
    )


def _demo_jobs() -> list[JobSight]:
    jobs = list(
        Job.objects.filter(is_demo=True, state__in=[state.value for state in LIVE_STATES])
        .select_related("team", "group")
        .order_by("submitted_at", "id")
    )
    runs: dict[int, list[Run]] = defaultdict(list)
    newest = Run.objects.filter(attempt__job__in=jobs, attempt__number=F("attempt__job__attempt_no"))
    for run in newest.select_related("attempt").order_by("ordinal"):
        runs[run.attempt.job_id].append(run)
    return [job_sight(job, runs[job.pk]) for job in jobs]


def _strangers() -> list[JobSight]:
    waiting = Job.objects.filter(is_demo=False, state=JobState.QUEUED.value, held=False, cards__gt=0)
    rows = waiting.select_related("team", "group").order_by("submitted_at", "id")[:STRANGERS_MAX]
    return [job_sight(job, []) for job in rows]


def job_sight(job: Job, runs: list[Run]) -> JobSight:
    """A job row with team and group loaded, and the runs of its newest attempt in order."""
    running = runs[-1].started_at if runs and runs[-1].ended_at is None else None
    return JobSight(
        key=job.public_id,
        is_demo=job.is_demo,
        team=job.team.slug,
        group=job.group.slug if job.group is not None else None,
        cards=job.cards,
        pods=job.pods,
        priority=job.priority,
        state=JobState(job.state),
        submitted_ms=to_ms(job.submitted_at),
        held=job.held,
        stopping=job.is_stopping or job.desired == Desired.CANCEL.value,
        preemptions=sum(1 for run in runs if run.was_evicted),
        running_since_ms=to_ms(running) if running is not None else None,
        run_ms=planned_run_ms(job.command) if job.is_demo else None,
    )


# --------------------------------------------------------------------------- doing


def carry_out(cluster: Cluster, action: Action) -> bool:
    """One action. What the product refuses, because people changed the stage, is left undone."""
    try:
        match action:
            case SubmitJob(request):
                return _submit(request)
            case Operate(key, operation):
                return _operate(key, operation)
            case Disrupt(key):
                return _to_pod(cluster, key, lambda name: EvictPod(driver.now_ms(), name, 0))
            case Crash(key, code, cause):
                return _to_pod(cluster, key, lambda name: ExitPod(driver.now_ms(), name, 0, code, cause))
            case Power(node, up):
                driver.send(cluster, NodePower(driver.now_ms(), node, up))
                return True
    except DomainError as error:
        logger.info("the demo could not do %s: %s", type(action).__name__, error.code)
        return False


def _submit(request: Request) -> bool:
    owner = User.objects.filter(username=request.owner).first()
    if owner is None:
        return False
    actor = actor_of(owner)
    with transaction.atomic():  # a job that shall be held is never sent
        job = job_submit(actor=actor, data=request.body(), is_demo=True).job
        if request.held:
            job_operate(actor=actor, job=job, operation=Operation.HOLD)
    return True


def _operate(key: str, operation: Operation) -> bool:
    job = Job.objects.select_related("owner").filter(public_id=key, is_demo=True).first()
    if job is None:
        return False
    job_operate(actor=actor_of(job.owner), job=job, operation=operation)
    return True


def _to_pod(cluster: Cluster, key: str, command: Callable[[str], Command]) -> bool:
    """Send a command about the first pod of a demo job."""
    attempts = Attempt.objects.filter(job__public_id=key, job__is_demo=True, number=F("job__attempt_no"))
    name = attempts.values_list("object_name", flat=True).first()
    if name is None:
        return False
    driver.send(cluster, command(name))
    return True
