"""What a workload does once its pods run: run time and exit code from its command, image names, pull times.

A command may say ``sleep N; exit C`` anywhere: N seconds (decimals and the suffixes s, m, h, d allowed,
``infinity`` = until stopped), then exit code C. Missing parts mean exit code 0 and a run time of 60 to 180 s; a replica
of a service runs until stopped.
"""

from __future__ import annotations

import re

from clusters.contract import FailureCode
from clusters.simulation.randomness import draw_between
from clusters.simulation.world import WHOLE_SPEED, Latencies, Node, Run, Workload

UNPULLABLE_IMAGE = "sandbox.invalid/missing:1"
"""An image that no registry has."""

LAUNCHER_FRAMEWORKS = frozenset({"mpi"})
"""Rank 0 launches and decides: its exit ends the workload, the other ranks are stopped then."""

RUN_MS = (60_000, 180_000)
IMAGES_PER_NODE = 16

_SLEEP = re.compile(r"\bsleep\s+(?:(infinity|inf)\b|(\d{1,12}(?:\.\d{1,3})?)([smhd]?)(?![\w.]))")
_EXIT = re.compile(r"\bexit\s+(\d{1,3})\b")
_UNIT_MS = {"": 1_000, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_PATH = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?"
_IMAGE = re.compile(
    rf"(?:{_HOST}/)?{_PATH}(?:/{_PATH})*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?(?:@sha256:[0-9a-f]{{64}})?"
)


def image_problem(image: str) -> FailureCode | None:
    """Why this image can never be started, if so."""
    if len(image) > 512 or not _IMAGE.fullmatch(image):
        return FailureCode.IMAGE_NAME_INVALID
    return FailureCode.IMAGE_NOT_FOUND if image == UNPULLABLE_IMAGE else None


def run_time_ms(seed: int, workload: Workload) -> int | None:
    """Milliseconds of work on whole cards from all pods running until the exit; None = runs until it is stopped."""
    if workload.plan.run_ms is not None:
        return workload.plan.run_ms
    found = _SLEEP.search(workload.spec.command)
    if found is None and workload.spec.member is not None:
        return None  # a service serves
    if found is None:
        return draw_between(*RUN_MS, seed, workload.name, "run")
    endless, number, unit = found.groups()
    return None if endless else round(float(number) * _UNIT_MS[unit])


def slowed_ms(work_ms: int, slowdown: int) -> int:
    """How long so much work takes on cut cards."""
    return work_ms * slowdown // WHOLE_SPEED


def worked_ms(run: Run, until_ms: int) -> int:
    """The work that a run had done at a moment, as milliseconds on whole cards."""
    return 0 if run.ready_ms is None else max(0, until_ms - run.ready_ms) * WHOLE_SPEED // run.slowdown


def exit_code(workload: Workload) -> int:
    if workload.plan.exit_code is not None:
        return workload.plan.exit_code
    found = _EXIT.search(workload.spec.command)
    return int(found[1]) & 0xFF if found else 0


def pull_ready_ms(seed: int, workload: Workload, node: Node, latencies: Latencies, now_ms: int) -> int:
    """When a pod placed now can start on the node; remembers the image there."""
    image = workload.spec.image
    if workload.plan.pull_ms is not None:
        return now_ms + workload.plan.pull_ms
    known = node.images.get(image)
    if known is None:
        known = now_ms + draw_between(latencies.pull_min, latencies.pull_max, seed, image, node.name, "pull")
        _remember(node, image, known)
        return known
    return max(known, now_ms) + latencies.cached


def _remember(node: Node, image: str, ready_ms: int) -> None:
    node.images[image] = ready_ms
    if len(node.images) > IMAGES_PER_NODE:
        oldest = min(node.images, key=lambda name: (node.images[name], name))
        del node.images[oldest]


def restart_ms(restarts: int, latencies: Latencies) -> int:
    """How long a program that ended for the n-th time waits for its next start."""
    return min(latencies.restart_max, latencies.restart_min << min(restarts - 1, 16))


def stop_ms(seed: int, workload: Workload, rank: int, latencies: Latencies, grace_ms: int) -> int:
    """How long a running pod needs to end after it was told to."""
    key = (workload.name, len(workload.runs), rank, "stop")
    return min(grace_ms, draw_between(latencies.stop_min, latencies.stop_max, seed, *key))
