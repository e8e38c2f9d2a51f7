"""How busy the cards of a workload are: a function of what is stored and of the moment asked about."""

from __future__ import annotations

from math import sin, tau

from clusters.simulation.randomness import draw_between, draw_unit
from clusters.simulation.world import Run, Workload

STEP_MS = 15_000
WARM_UP_MS = 45_000
TRAINING_MEAN = (62, 96)
DEVELOPMENT_MEAN = (15, 60)


def utilisation(seed: int, workload: Workload, at_ms: int) -> int | None:
    """Mean utilisation of the workload's cards in percent, 0 to 100; None when none of its pods ran then.

    Values hold for steps of 15 s: training warms up and then swings a little around its own mean, development
    comes and goes.
    """
    run = _run_at(workload, at_ms)
    if run is None:
        return None
    if run.ready_ms is None or at_ms < run.ready_ms or not workload.spec.cards:
        return 0
    step = at_ms // STEP_MS
    development = workload.spec.kind == "development"
    mean = workload.plan.utilisation
    if mean is None:
        mean = draw_between(*(DEVELOPMENT_MEAN if development else TRAINING_MEAN), seed, workload.name, "busy")
    if development and draw_unit(seed, workload.name, "at work", step // 12) < 0.4:
        return draw_between(0, 3, seed, workload.name, "idle", step)
    phase = draw_unit(seed, workload.name, "phase")
    swing = 3 * sin(tau * (step / 40 + phase)) + draw_between(-3, 3, seed, workload.name, "noise", step)
    warm = min(1.0, (at_ms - run.ready_ms) / WARM_UP_MS)
    return max(0, min(100, round((mean + swing) * warm)))


def _run_at(workload: Workload, at_ms: int) -> Run | None:
    """The run one of whose pods ran at that moment."""
    for run in reversed(workload.runs):
        starts = [pod.started_ms for pod in run.pods if pod.started_ms is not None]
        if not starts or at_ms < min(starts):
            continue
        if any(pod.started_ms is not None and (pod.ended_ms is None or at_ms < pod.ended_ms) for pod in run.pods):
            return run
        return None
    return None
