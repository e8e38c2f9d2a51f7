"""What the pods of a workload print: lines as a function of stored times only.

Nothing is kept. The cursor is the sequence number of the last line seen; a number is made of a line's time, rank
and place in its millisecond, so numbers only grow and the same cursor always gives the same lines. Only moments
before the present are shown: what happens in the present millisecond may not be over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import islice
from typing import NamedTuple

from clusters.simulation.messages import Scene, end_lines, start_lines, stop_lines, work_line
from clusters.simulation.randomness import draw, draw_between
from clusters.simulation.world import ALIVE, Pod, Run, Stage, Workload, World

LIMIT = 1_000
INTERVAL_MS = (5_000, 20_000)
_RANKS = 1 << 13
_PLACES = 8
_LAST_PLACES = 6  # in a millisecond in which a pod also starts or is told to stop


class Line(NamedTuple):
    seq: int
    at_ms: int
    rank: int
    data: bytes


class Tail(NamedTuple):
    lines: tuple[Line, ...]
    cursor: str
    complete: bool  # the workload is over and every line was given out


def tail(world: World, workloads: Sequence[Workload], cursor: str, limit: int = LIMIT) -> Tail:
    """Lines of a workload, or of all replicas of a service, after the cursor ('' = from the start).

    Raises ValueError for a cursor that is not one of ours.
    """
    after = int(cursor) if cursor else -1
    if after < -1:
        raise ValueError(f"not a cursor: {cursor!r}")
    streams = [
        _pod_lines(world, workload, number, run, pod, after)
        for workload in workloads
        for number, run in enumerate(workload.runs)
        for pod in run.pods
        if pod.started_ms is not None
    ]
    lines = tuple(islice(merge(*streams), limit))
    runs = [run for workload in workloads for run in workload.runs]
    over = all(workload.stage is Stage.FINISHED for workload in workloads) and all(
        run.released_ms is not None for run in runs
    )
    last_ms = max((run.released_ms for run in runs if run.released_ms is not None), default=0)
    complete = over and len(lines) < limit and last_ms < world.now_ms
    return Tail(lines, str(lines[-1].seq) if lines else cursor, complete)


def _pod_lines(world: World, workload: Workload, number: int, run: Run, pod: Pod, after: int) -> Iterator[Line]:
    """All lines of one pod after ``after`` in order."""
    scene = Scene(world.seed, workload, number, run, pod)
    member = workload.spec.member
    base = workload.created_ms if member is None else member.born_ms
    rank = pod.rank if member is None else member.number
    floor_ms = base if after < 0 else base + after // (_RANKS * _PLACES)
    for at_ms, place, text in _texts(world, scene, floor_ms):
        if at_ms >= world.now_ms:
            return
        seq = ((at_ms - base) * _RANKS + rank) * _PLACES + place
        if seq > after:
            yield Line(seq, at_ms, rank, text.encode())


def _texts(world: World, scene: Scene, floor_ms: int) -> Iterator[tuple[int, int, str]]:
    """(time, place in its millisecond, text) from ``floor_ms`` on."""
    run, pod = scene.run, scene.pod
    started = pod.started_ms or 0
    end = world.now_ms if pod.ended_ms is None else pod.ended_ms
    work_end = min(end, run.told_ms) if run.told_ms is not None else end
    if started >= floor_ms:
        for place, text in enumerate(start_lines(scene)):
            yield started, place, text
    if run.ready_ms is not None:
        for at_ms in _moments(scene, run.ready_ms, floor_ms):
            if at_ms >= work_end:
                break
            yield at_ms, 0, work_line(scene, at_ms)
    if run.told_ms is not None and run.told_ms > started and pod.stops_ms is not None:
        for place, text in enumerate(stop_lines(scene)):
            yield run.told_ms, place, text
    if pod.ended_ms is not None and pod.phase not in ALIVE:
        for place, text in enumerate(end_lines(scene), start=_LAST_PLACES):
            yield pod.ended_ms, place, text


def _moments(scene: Scene, ready_ms: int, floor_ms: int) -> Iterator[int]:
    """Times at which a rank prints, one per interval of its own, shifted inside the interval."""
    key = (scene.workload.name, scene.number, scene.pod.rank)
    interval = draw_between(*INTERVAL_MS, scene.seed, *key, "interval")
    index = max(0, (floor_ms - ready_ms) // interval - 1)
    while True:
        index += 1
        yield ready_ms + index * interval + draw(scene.seed, *key, "shift", index) % (interval // 3)
