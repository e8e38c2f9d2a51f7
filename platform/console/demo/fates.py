"""What is in store for single jobs: drawn from the seed and the job's id alone, so it needs no memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from clusters.simulation.randomness import draw_unit


@dataclass(frozen=True, slots=True)
class Fate:
    """Fractions in [0, 1)."""

    patience: float  # of the owner, while it waits or is held
    regret: float  # low: the owner cancels it while it runs
    regret_at: float  # at this part of its run time
    turn: float  # when a job of higher priority takes its place


@lru_cache(maxsize=1_024)  # a few dozen live jobs are asked about every few seconds
def fate_of(seed: int, key: str) -> Fate:
    return Fate(*(draw_unit(seed, key, what) for what in ("patience", "regret", "regret at", "turn")))


def between(shortest: int, longest: int, fraction: float) -> int:
    """The point between two times that a fraction stands for."""
    return shortest + round((longest - shortest) * fraction)
