"""The words of simulated log lines, per framework."""

from __future__ import annotations

from math import exp
from typing import NamedTuple

from clusters.contract import FailureCode
from clusters.simulation.behaviour import exit_code, run_time_ms, worked_ms
from clusters.simulation.randomness import draw_between, draw_unit
from clusters.simulation.world import Pod, Run, Workload

DISCLAIMER = "[sandbox] This sandbox does not execute images: the cluster is simulated, and so are these lines."
_ENDLESS_MS = 4 * 3_600_000
_EPOCHS = 10


class Scene(NamedTuple):
    """One pod of one run, about to say something."""

    seed: int
    workload: Workload
    number: int  # of the run, from 0
    run: Run
    pod: Pod


def start_lines(scene: Scene) -> list[str]:
    spec = scene.workload.spec
    cards = f"{spec.cards_per_pod} cards" if spec.cards_per_pod != 1 else "1 card"
    lines = [
        DISCLAIMER,
        f"[sandbox] pod {scene.pod.rank + 1} of {spec.pods} on {scene.pod.node}, {cards}, image {spec.image}",
    ]
    if scene.pod.rank == 0 and scene.number and scene.workload.plan.resumes:
        lines.append(f"[sandbox] resuming from the checkpoint of step {_step(scene, _done_before(scene))}")
    return lines


def stop_lines(scene: Scene) -> list[str]:
    """Said when a running pod is told to stop."""
    if scene.workload.fault is not None and scene.run.cause is None:
        return ["[sandbox] SIGTERM: another pod of this job failed"]
    lines = [f"[sandbox] SIGTERM: stopping within {scene.workload.spec.grace_ms // 1000} s"]
    saves = scene.workload.plan.resumes and scene.pod.rank == 0
    if saves and scene.run.ready_ms is not None and scene.run.told_ms is not None:
        worked = worked_ms(scene.run, scene.run.told_ms) + _done_before(scene)
        lines.append(f"[sandbox] checkpoint saved at step {_step(scene, worked)}")
    return lines


def end_lines(scene: Scene) -> list[str]:
    pod, fault = scene.pod, scene.workload.fault
    if fault is not None and fault.rank == pod.rank and fault.at_ms == pod.ended_ms:
        if fault.code is FailureCode.OUT_OF_MEMORY:
            return ["[sandbox] out of memory: the container was killed"]
        if fault.code is FailureCode.NODE_LOST:
            return [f"[sandbox] node {pod.node} stopped answering"]
        if fault.code is FailureCode.DISRUPTION:
            return ["[sandbox] the pod was evicted by the cluster"]
    return [f"[sandbox] exit code {'unknown' if pod.exit_code is None else pod.exit_code}"]


def work_line(scene: Scene, at_ms: int) -> str:
    """What a rank says about its progress at a moment after the gang became ready."""
    worked = _done_before(scene) + worked_ms(scene.run, at_ms)
    step = _step(scene, worked)
    total = max(1, _step(scene, _total_ms(scene)))
    if scene.pod.rank:
        return f"rank {scene.pod.rank}: step {step}, {_rate(scene, at_ms):.1f} samples/s"
    loss = _loss(scene, worked, at_ms)
    per_epoch = max(1, total // _EPOCHS)
    epoch = step // per_epoch + 1
    match scene.workload.spec.framework:
        case "tensorflow":
            done = step % per_epoch
            return f"Epoch {epoch}/{_EPOCHS} - {done}/{per_epoch} - loss: {loss:.4f} - lr: {_lr(worked, scene):.2e}"
        case "mindspore":
            return f"epoch: {epoch} step: {step % per_epoch + 1}, loss is {loss:.6f}"
        case "mpi":
            return f"iteration {step}/{total}  residual {loss / 10:.3e}  {_rate(scene, at_ms):.1f} it/min"
        case "pytorch":
            rate = _rate(scene, at_ms)
            return f"step {step}/{total} | loss {loss:.4f} | lr {_lr(worked, scene):.2e} | {rate:.1f} samples/s"
        case _:
            return f"working, {worked // 1000} s so far"


def _done_before(scene: Scene) -> int:
    """Work that earlier runs saved."""
    if not scene.workload.plan.resumes:
        return 0
    return sum(worked_ms(run, run.told_ms) for run in scene.workload.runs[: scene.number] if run.told_ms is not None)


def _total_ms(scene: Scene) -> int:
    total = run_time_ms(scene.seed, scene.workload)
    return _ENDLESS_MS if total is None else total


def _step(scene: Scene, worked_ms: int) -> int:
    return worked_ms // draw_between(250, 1_500, scene.seed, scene.workload.name, "step time")


def _progress(scene: Scene, worked_ms: int) -> float:
    return min(1.0, worked_ms / max(1, _total_ms(scene)))


def _lr(worked_ms: int, scene: Scene) -> float:
    return 3e-4 * (1 - 0.9 * _progress(scene, worked_ms))


def _loss(scene: Scene, worked_ms: int, at_ms: int) -> float:
    """Falls fast, then slowly, with noise; climbs again shortly before a run that will fail."""
    name = scene.workload.name
    bottom = 0.4 + 1.8 * draw_unit(scene.seed, name, "loss")
    noise = 1 + 0.04 * (draw_unit(scene.seed, name, "loss noise", at_ms) - 0.5)
    progress = _progress(scene, worked_ms)
    value = (bottom + 7.5 * exp(-6 * progress)) * noise
    if progress > 0.95 and exit_code(scene.workload):
        value *= 1 + 40 * (progress - 0.95)
    return value


def _rate(scene: Scene, at_ms: int) -> float:
    mean = draw_between(80, 900, scene.seed, scene.workload.name, "rate")
    return mean * (0.97 + 0.06 * draw_unit(scene.seed, scene.workload.name, scene.pod.rank, "rate", at_ms))
