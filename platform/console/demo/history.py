"""The past of a demo: two weeks before its first start, and whatever passed while the console was off.

Both are one rehearsal in virtual time whose jobs become rows and whose cluster becomes the sandbox, in one
transaction: what runs at its end goes on as if it had always been real.
"""

from __future__ import annotations

from dataclasses import replace

from django.db import transaction
from django.db.models import F

from clusters.backends.sandbox import driver
from clusters.models import Cluster, SandboxObject, SandboxWorld
from clusters.simulation.commands import QueueDef, SetNodes, SetQuotas
from clusters.simulation.engine import Engine
from clusters.simulation.world import World
from clusters.water import water_put
from common.locks import LockSpace, transaction_lock
from console.demo.arrivals import job_sight
from console.demo.layout import GROUPS, H100, HISTORY_DAYS, SEED, nodes
from console.demo.played import PlayedJob
from console.demo.rehearsal import Guest, Rehearsal
from console.demo.repertoire import planned_run_ms
from console.demo.rows import Cast, store, water_rows
from console.demo.situation import Operate
from console.demo.water import Gauge
from jobs.domain.operations import Operation
from jobs.domain.words import LIVE_STATES, JobState
from jobs.models import Attempt, Job
from quotas.services import quota_plan

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
GAP_MIN_MS = 10 * MINUTE_MS
"""A shorter pause needs no past of its own."""
PACES = ((2 * DAY_MS, 20 * MINUTE_MS), (6 * HOUR_MS, 8 * MINUTE_MS), (30 * MINUTE_MS, 30_000), (0, 10_000))
"""(up to so long before the end, the director is asked that often): the nearer, the finer."""
STILL_SINCE_MS = 40 * HOUR_MS
"""What stands still on stage at the first start has stood for so long."""


def make_history(cluster: Cluster) -> int:
    """The past of a demo without one; returns how many jobs it has, 0 if there was one before.

    On a sandbox that is in use already only what has ended is kept: its cluster is not touched.
    """
    cast = Cast.load(cluster)
    if cast is None or Job.objects.filter(is_demo=True).exists():
        return 0
    with transaction.atomic():
        transaction_lock(LockSpace.SANDBOX, cluster.pk)
        now = driver.now_ms()
        begin = now - HISTORY_DAYS * DAY_MS
        rehearsal = Rehearsal(_empty_cluster(cluster, begin), SEED, cast.spaces(), gauge=Gauge(begin, now))
        rehearsal.play(now - STILL_SINCE_MS, PACES[0][1])
        _let_go_of_what_stands_still(rehearsal)
        rehearse(rehearsal, now)
        in_use = SandboxObject.objects.filter(cluster=cluster, kind="workload").exists()
        jobs = [job for job in rehearsal.jobs.values() if job.is_over or not in_use]
        _store(cast, rehearsal, jobs)
        if not in_use:
            _put(cluster, rehearsal.engine.world)
    return len(jobs)


def fill_gap(cluster: Cluster) -> int:
    """What passed while the console was off, at most two weeks; returns how many jobs came in that time.

    Must run before anything else touches the sandbox after a start.
    """
    stored = SandboxWorld.objects.filter(cluster=cluster).values_list("now_ms", flat=True).first()
    now = driver.now_ms()
    cast = Cast.load(cluster)
    if stored is None or cast is None or now - stored < GAP_MIN_MS or not Job.objects.filter(is_demo=True).exists():
        return 0
    with transaction.atomic():
        transaction_lock(LockSpace.SANDBOX, cluster.pk)
        engine = Engine(driver.touch(cluster, until_ms=stored))
        engine.run_to(now - HISTORY_DAYS * DAY_MS)
        rehearsal = Rehearsal(engine, SEED, cast.spaces(), _guests(cluster), Gauge(engine.now_ms, now))
        rehearse(rehearsal, now)
        jobs = list(rehearsal.jobs.values())
        _store(cast, rehearsal, jobs)
        _put(cluster, engine.world)
    return len(jobs)


def rehearse(rehearsal: Rehearsal, until_ms: int) -> None:
    """Play up to a moment, ever finer towards it."""
    for before, step in PACES:
        rehearsal.play(until_ms - before, step)
    rehearsal.look_at_the_queue()


def _empty_cluster(cluster: Cluster, at_ms: int) -> Engine:
    """The sandbox as it stands, with today's quotas, at a moment in the past and without any job."""
    engine = Engine(World(now_ms=at_ms, seed=SEED))
    engine.apply(SetNodes(at_ms, nodes(), GROUPS))
    plan = quota_plan(cluster)
    queues = tuple(
        QueueDef(
            name=queue.queue,
            space=queue.space,
            quotas=tuple((quota.node_group, quota.nominal) for quota in queue.quotas),
            local_queues=queue.local_queues,
        )
        for queue in plan.queues
    )
    pool = tuple((quota.node_group, quota.nominal) for quota in plan.pool)
    engine.apply(SetQuotas(at_ms, queues, pool, plan.slowdowns))
    return engine


def _let_go_of_what_stands_still(rehearsal: Rehearsal) -> None:
    """Sessions without an end are stopped once, so that the ones on stage are not two weeks old."""
    for job in list(rehearsal.jobs.values()):
        if job.request.group == H100 and job.state is JobState.RUNNING and planned_run_ms(job.request.command) is None:
            rehearsal.carry_out(Operate(job.key, Operation.CANCEL))


def _store(cast: Cast, rehearsal: Rehearsal, jobs: list[PlayedJob]) -> None:
    world = rehearsal.engine.world
    hashes = store(cast, jobs, world, rehearsal.workloads)
    if rehearsal.gauge is not None:
        water_put(water_rows(rehearsal.gauge, cast.groups))
    for name, workload in world.workloads.items():
        if name in hashes:
            workload.spec = replace(workload.spec, spec_hash=hashes[name])


def _put(cluster: Cluster, world: World) -> None:
    """Put a whole world in the place of the stored one. Commands that wait stay: they are for the cluster."""
    SandboxObject.objects.filter(cluster=cluster).delete()
    SandboxWorld.objects.filter(cluster=cluster).delete()
    driver.create_world(cluster, world)


def _guests(cluster: Cluster) -> list[Guest]:
    """Live jobs that were there before the gap."""
    attempts = Attempt.objects.filter(
        job__cluster=cluster,
        job__state__in=[state.value for state in LIVE_STATES],
        number=F("job__attempt_no"),
    ).select_related("job__team", "job__group")
    return [Guest(job_sight(attempt.job, []), attempt.object_name) for attempt in attempts]
