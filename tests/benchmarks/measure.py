"""Rounds in turn, their medians, and the table that comes of them."""

from __future__ import annotations

import gc
import heapq
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import psutil

ROUNDS = 5


@dataclass(frozen=True)
class Sample:
    """Seconds of one run. ``cpu`` is that of this process and its database."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Spread:
    """Several values of one measure."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def __format__(self, spec: str) -> str:
        low, high = min(self.values), max(self.values)
        if len(self.values) == 1:
            return f"{low:{spec}}"
        return f"{self.median:{spec}} ({low:{spec}} to {high:{spec}})"


@dataclass(frozen=True)
class Row:
    """One line of the table. Numbers are texts already; ``met`` None = there is no goal, the line only informs.

    ``gauge`` is the number that its gate is about (tests/benchmarks/gates.py).
    """

    number: str
    what: str
    ours: str
    reference: str
    ratio: str
    goal: str = ""
    met: bool | None = None
    gauge: float | None = None


@dataclass
class Meter:
    """Runs sides in turn and keeps their samples. ``others`` are processes whose time is not counted."""

    others: set[int] = field(default_factory=set)

    def compare(
        self,
        sides: Mapping[str, Callable[[], object]],
        *,
        before: Callable[[str], object] = lambda _: None,
        rounds: int = ROUNDS,
    ) -> dict[str, list[Sample]]:
        """``before`` is called ahead of each run and not measured; one run of each side warms up."""
        samples: dict[str, list[Sample]] = {name: [] for name in sides}
        for number in range(rounds + 1):
            for name, run in sides.items():
                before(name)
                sample = self.once(run)
                if number:
                    samples[name].append(sample)
        return samples

    def once(self, run: Callable[[], object]) -> Sample:
        gc.collect()
        cpu, begun = self.cpu_seconds(), time.perf_counter()
        run()
        wall = time.perf_counter() - begun
        return Sample(wall, self.cpu_seconds() - cpu)

    def cpu_seconds(self) -> float:
        """Of this process and those it has started, but for the others; ended ones count with their parent."""
        me = psutil.Process()
        return sum(
            sum(process.cpu_times()[:4])
            for process in (me, *me.children(recursive=True))
            if process.pid not in self.others
        )


def ratios(samples: Sequence[Sample], reference: Sequence[Sample]) -> tuple[Spread, Spread]:
    """(wall, CPU) of each round by that of the reference's run beside it."""
    pairs = list(zip(samples, reference, strict=True))
    return Spread(tuple(a.wall / b.wall for a, b in pairs)), Spread(tuple(a.cpu / b.cpu for a, b in pairs))


def seconds(samples: Sequence[Sample]) -> str:
    wall, cpu = Spread(tuple(s.wall for s in samples)), Spread(tuple(s.cpu for s in samples))
    return f"{wall:.2f} s; CPU {cpu.median:.2f} s"


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def machine_unit() -> float:
    """Seconds for a fixed piece of work, to compare absolute numbers of two machines by."""
    begun = time.perf_counter()
    heap = [random.Random(1).random() for _ in range(1000)]
    heapq.heapify(heap)
    for number in range(200_000):
        heapq.heappushpop(heap, number % 997 / 997)
    return time.perf_counter() - begun
