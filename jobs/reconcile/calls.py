"""What a batch of steps asks of clusters: carried out side by side where a cluster is reached over a network.

Threads make calls only; they neither read nor write rows. A cluster that does not answer costs the batch one
time-out: its other steps are given the same answer at once, and it rests (`clusters.sync.note_failure`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from django.utils import timezone

from clusters.contract import (
    BackendError,
    Holdable,
    Prioritised,
    Scalable,
    SchedulerBackend,
    Steerable,
    WorkloadRef,
    WorkloadSpec,
)
from clusters.services import backend, cluster_failed, is_silence
from clusters.supplies import Place, Supplies, supplies_of
from common.faults import reach
from jobs.domain.moves import Effect, Move
from jobs.domain.transitions import may_clear
from jobs.domain.words import Kind, Priority, priority_value
from jobs.models import Attempt
from jobs.reconcile.load import Loaded
from jobs.specs import workload_ref, workload_spec


@dataclass(frozen=True, slots=True)
class Step:
    """One decided step of one job, and the older attempts whose objects shall go."""

    loaded: Loaded
    move: Move
    older: Older
    avoid_nodes: tuple[str, ...] = ()  # sorted; on which the attempt that it makes or steers is not placed


class CalledFor(StrEnum):
    """Whose call failed: a refusal of an older object's removal says nothing about the newest."""

    NEWEST = "newest"
    OLDER = "older"


@dataclass(frozen=True, slots=True)
class Called:
    """What came of a step's calls."""

    step: Step
    submitted_at: datetime | None = None
    uid: str = ""
    stop_asked_at: datetime | None = None
    error: BaseException | None = None
    failed: CalledFor | None = None


@dataclass(frozen=True, slots=True)
class Older:
    """Attempts before the newest that still have an object; ``to_clear`` of them may go now."""

    left: tuple[Attempt, ...] = ()
    to_clear: tuple[Attempt, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.left)


def older_to_clear(loaded: Loaded) -> Older:
    """Objects of earlier attempts go once their logs are read, at once while they live."""
    left = []
    to_clear = []
    for attempt in loaded.older:
        row = loaded.rows.get(attempt.number)
        if row is None or row.gone:
            continue
        left.append(attempt)
        if may_clear(
            row.facts,
            logs_complete=attempt.log_complete,
            logs_tried_at=attempt.log_checked_at,
            seen_at=loaded.sight.complete_at,
        ):
            to_clear.append(attempt)
    return Older(tuple(left), tuple(to_clear))


@dataclass(slots=True)
class _Work:
    """The calls of one step, with everything they need read beforehand."""

    step: Step
    door: SchedulerBackend
    silent: _Silent
    ref: WorkloadRef
    spec: WorkloadSpec | None
    older: tuple[WorkloadRef, ...]
    grace: timedelta
    priority: int
    replicas: int


@dataclass(slots=True)
class _Silent:
    """Shared by the steps of one cluster: its first time-out ends the calls to it."""

    error: BackendError | None = field(default=None)


def call_all(steps: Sequence[Step], until: datetime) -> Iterator[Called]:
    """Carry out the effects of all steps and tell each as it is done, in no order.

    Steps that are not done at ``until`` are left out; their jobs stay claimed until the lease is over.
    """
    supplies = supplies_of({_place(step) for step in steps if Effect.SUBMIT in step.move.effects})
    doors: dict[int, SchedulerBackend] = {}
    silent: dict[int, _Silent] = {}
    afar: list[_Work] = []
    for step in steps:
        if not step.move.effects and not step.older.to_clear:
            yield Called(step)
            continue
        cluster = step.loaded.job.cluster
        door = doors.get(cluster.pk) or doors.setdefault(cluster.pk, backend(cluster))
        work = _prepared(step, door, silent.setdefault(cluster.pk, _Silent()), supplies)
        if door.calls_at_once > 1:
            afar.append(work)
        elif timezone.now() < until:
            yield _call(work)
    yield from _call_afar(afar, until)
    for step in steps:
        cluster = step.loaded.job.cluster
        if (told := silent.pop(cluster.pk, None)) is not None and told.error is not None:
            cluster_failed(cluster, told.error)


def _place(step: Step) -> Place:
    return step.loaded.job.cluster_id, step.loaded.job.team_id


def _prepared(step: Step, door: SchedulerBackend, silent: _Silent, supplies: Mapping[Place, Supplies]) -> _Work:
    job, attempt = step.loaded.job, step.loaded.attempt
    submits = Effect.SUBMIT in step.move.effects
    return _Work(
        step=step,
        door=door,
        silent=silent,
        ref=workload_ref(job, attempt),
        spec=workload_spec(job, attempt, supplies[_place(step)], step.avoid_nodes) if submits else None,
        older=tuple(workload_ref(job, older) for older in step.older.to_clear),
        grace=timedelta(seconds=job.stop_grace_seconds),
        priority=priority_value(Priority(job.priority), Kind(job.kind)),
        replicas=job.pods,
    )


def _call_afar(works: Sequence[_Work], until: datetime) -> Iterator[Called]:
    """Over a network: as many at once as the backend allows for each cluster, so that a slow one holds up no other."""
    pools: dict[int, ThreadPoolExecutor] = {}
    futures: list[Future[Called]] = []
    try:
        for work in works:
            pk = work.step.loaded.job.cluster_id
            pool = pools.get(pk) or pools.setdefault(pk, ThreadPoolExecutor(work.door.calls_at_once, f"cluster-{pk}"))
            futures.append(pool.submit(_call, work))
        left = max(0.0, (until - timezone.now()).total_seconds())
        try:
            for future in as_completed(futures, timeout=left):
                yield future.result()
        except TimeoutError:
            return
    finally:
        for pool in pools.values():
            pool.shutdown(wait=False, cancel_futures=True)


def _call(work: _Work) -> Called:
    """All calls of one step in order; the first that fails is the last."""
    called = Called(work.step)
    failed = CalledFor.NEWEST
    try:
        for effect in work.step.move.effects:
            _check_silence(work)
            reach(f"{effect.value}.call.before")
            called = _carried_out(work, effect, called)
            reach(f"{effect.value}.call.after")
        failed = CalledFor.OLDER
        for ref in work.older:
            _check_silence(work)
            reach("stop_older.call.before")
            work.door.stop(ref, timedelta(0))
            reach("stop_older.call.after")
    except BackendError as error:
        if is_silence(error):
            work.silent.error = error
        return _with_error(called, error, failed)
    except Exception as error:
        return _with_error(called, error, failed)
    return called


def _with_error(called: Called, error: Exception, failed: CalledFor) -> Called:
    return Called(called.step, called.submitted_at, called.uid, called.stop_asked_at, error, failed)


def _check_silence(work: _Work) -> None:
    if work.silent.error is not None:
        raise work.silent.error


def _carried_out(work: _Work, effect: Effect, called: Called) -> Called:
    now = timezone.now()
    match effect:
        case Effect.SUBMIT:
            assert work.spec is not None
            made = work.door.submit(work.spec)
            return Called(called.step, now, made.uid or "", called.stop_asked_at)
        case Effect.STOP:
            work.door.stop(work.ref, work.grace)
            return Called(called.step, called.submitted_at, called.uid, now)
        case Effect.HOLD | Effect.RELEASE:
            assert isinstance(work.door, Holdable)  # next_move asks only where the capability is announced
            work.door.set_held(work.ref, effect is Effect.HOLD)
        case Effect.PRIORITY:
            assert isinstance(work.door, Prioritised)
            work.door.set_priority(work.ref, work.priority)
        case Effect.SCALE:
            assert isinstance(work.door, Scalable)
            work.door.scale(work.ref, work.replicas)
        case Effect.STEER:
            assert isinstance(work.door, Steerable)
            work.door.steer(work.ref, work.step.avoid_nodes)
    return called
