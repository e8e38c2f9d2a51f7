"""One pod as facts: its phase, what keeps it from starting, and why it failed (tables C3 of the plan). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from clusters.backends.kueue_volcano.conditions import changed_at, earliest, find, holding, latest, moment
from clusters.backends.kueue_volcano.pods_template import MAIN
from clusters.backends.kueue_volcano.wire import Condition, ContainerStatus, Pod, Terminated
from clusters.contract import INFRASTRUCTURE_FAILURES, Failure, FailureCode, PodFacts, PodPhase

LostNodes = Mapping[str, datetime | None]
"""Nodes that are not heard of, with the time of their last word."""

# --------------------------------------------------------------------------- what keeps a container from starting

_NORMAL_WAITING = frozenset({"", "ContainerCreating", "PodInitializing"})
_PULL_REASONS = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"}
)
_CONFIG_REASONS = frozenset(
    {
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
        "PostStartHookError",
        "PreStartHookError",
        "PreCreateHookError",
    }
)
_UNAUTHORIZED = re.compile(r"unauthori[sz]ed|denied|forbidden|authentication required|no basic auth|\b40[13]\b", re.I)
_NOT_FOUND = re.compile(r"not found|manifest unknown|does not exist|no such image|name unknown|\b404\b", re.I)


def image_problem(reason: str, message: str) -> FailureCode | None:
    """Class A and A' of the waiting reasons. A pull that fails without a cause may be passing, so it has most time."""
    if reason == "InvalidImageName":
        return FailureCode.IMAGE_NAME_INVALID
    if reason == "ErrImageNeverPull":
        return FailureCode.IMAGE_NOT_FOUND
    if reason in _CONFIG_REASONS:
        return FailureCode.BAD_CONFIG
    if reason not in _PULL_REASONS:
        return None
    if _UNAUTHORIZED.search(message):
        return FailureCode.IMAGE_UNAUTHORIZED
    return FailureCode.IMAGE_NOT_FOUND if _NOT_FOUND.search(message) else FailureCode.IMAGE_TIMEOUT


def _problem(pod: Pod) -> FailureCode | None:
    for status in _statuses(pod):
        waiting = status.state.waiting
        if waiting is not None and (problem := image_problem(waiting.reason, waiting.message)) is not None:
            return problem
    return None


def unknown_signal(pod: Pod, lost: LostNodes) -> str:
    """What no rule knows, word for word; '' = nothing of the kind. A machine that is not heard of is one (C-21)."""
    if is_lost(pod, lost):
        return f"{pod.status.reason or 'NodeNotReady'}: {pod.spec.node_name}"
    for status in _statuses(pod):
        waiting = status.state.waiting
        if waiting is None or waiting.reason in _NORMAL_WAITING or image_problem(waiting.reason, waiting.message):
            continue
        last = status.last_state.terminated
        ended = f", {last.reason or 'exit'} {last.exit_code}" if last is not None else ""
        return f"{waiting.reason} ({status.restart_count} restarts{ended})" if status.restart_count else waiting.reason
    if pod.status.phase not in _PHASES:
        return f"phase {pod.status.phase}"
    return ""


def _statuses(pod: Pod) -> tuple[ContainerStatus, ...]:
    return pod.status.init_container_statuses + pod.status.container_statuses


# --------------------------------------------------------------------------- where a pod stands

_PHASES = frozenset({"", "Pending", "Running", "Succeeded", "Failed"})


def told_to_stop_at(pod: Pod) -> datetime | None:
    """When the deletion was asked for; the object tells when its grace ends."""
    deadline = moment(pod.metadata.deletion_timestamp)
    if deadline is None:
        return None
    return deadline - timedelta(seconds=max(0, min(pod.metadata.deletion_grace_period_seconds, 10**6)))


def is_over(pod: Pod) -> bool:
    """It holds nothing on its node any more."""
    return pod.status.phase in ("Succeeded", "Failed")


def is_lost(pod: Pod, lost: LostNodes) -> bool:
    """It is said to run where nobody answers (C-21)."""
    if is_over(pod) or not pod.spec.node_name:
        return False
    return pod.status.reason == "NodeLost" or pod.status.phase == "Unknown" or pod.spec.node_name in lost


def main_status(pod: Pod) -> ContainerStatus | None:
    """The container of the person's program: others may have been put beside it."""
    statuses = pod.status.container_statuses
    for status in statuses:
        if status.name == MAIN:
            return status
    return statuses[0] if statuses else None


def _main_end(pod: Pod) -> Terminated | None:
    main = main_status(pod)
    return main.state.terminated if main is not None else None


def phase_of(pod: Pod, lost: LostNodes) -> PodPhase:
    end = _main_end(pod)
    if pod.status.phase == "Succeeded":
        return PodPhase.SUCCEEDED
    if pod.status.phase == "Failed":
        return PodPhase.FAILED
    if pod.metadata.deletion_timestamp is not None or is_lost(pod, lost):
        return PodPhase.ENDING
    if not pod.spec.node_name:
        return PodPhase.WAITING
    if end is not None:  # what stands beside it may go on
        return PodPhase.SUCCEEDED if end.exit_code == 0 else PodPhase.FAILED
    main = main_status(pod)
    if pod.status.phase == "Running" and (main is None or main.state.waiting is None):
        return PodPhase.RUNNING
    return PodPhase.PULLING


def is_crashing(pod: Pod) -> bool:
    """Its program ended, and its node waits before it starts it again."""
    main = main_status(pod)
    return main is not None and main.state.waiting is not None and main.state.waiting.reason == "CrashLoopBackOff"


def started_at(pod: Pod) -> datetime | None:
    main = main_status(pod)
    if main is None:
        return None
    if main.state.running is not None:
        return moment(main.state.running.started_at)
    return moment(main.state.terminated.started_at) if main.state.terminated is not None else None


def ended_at(pod: Pod) -> datetime | None:
    end = _main_end(pod)
    if end is not None:
        return moment(end.finished_at)
    if not is_over(pod):
        return None
    return changed_at(find(pod.status.conditions, "DisruptionTarget")) or changed_at(
        find(pod.status.conditions, "Ready")
    )


def scheduled_at(pod: Pod) -> datetime | None:
    return changed_at(holding(pod.status.conditions, "PodScheduled"))


def placing(pod: Pod) -> str:
    """Why it has no node, in a word: Unschedulable, Schedulable (it waits for its peers), SchedulingGated, or ''."""
    if pod.spec.node_name:
        return ""
    told = find(pod.status.conditions, "PodScheduled")
    return told.reason if told is not None and told.status == "False" else ""


MISFIT_MAX = 300
_OTHER_CARDS = re.compile(r"checkNodeNPUByTask|\baccelerator-type\b", re.I)


def misfit(told: Condition | None) -> str:
    """A word of the scheduler that nodes have cards of another kind (C-35, Volcano's plugins for Ascend), else ''."""
    if told is None or not _OTHER_CARDS.search(told.message):
        return ""
    return told.message[:MISFIT_MAX]


def pod_facts(pod: Pod, rank: int, cards: int, lost: LostNodes) -> PodFacts:
    phase = phase_of(pod, lost)
    problem = _problem(pod) if phase is PodPhase.PULLING else None
    main = main_status(pod)
    end = _main_end(pod) or (_init_end(pod) if phase is PodPhase.FAILED else None)
    if end is None and main is not None and main.restart_count:
        end = main.last_state.terminated
    return PodFacts(
        rank=rank,
        name=pod.metadata.name,
        phase=phase,
        node=pod.spec.node_name or None,
        cards=cards,
        exit_code=end.exit_code if end is not None else None,
        image_problem=problem,
        image_problem_since=_pulling_since(pod) if problem is not None else None,
        started_at=started_at(pod),
        ended_at=ended_at(pod),
        restarts=main.restart_count if main is not None else 0,
    )


def _pulling_since(pod: Pod) -> datetime | None:
    """A waiting container has no time of its own: the pull began when the pod came to its node, or later."""
    initialized = changed_at(holding(pod.status.conditions, "Initialized"))
    return latest(scheduled_at(pod), moment(pod.status.start_time), initialized) or moment(
        pod.metadata.creation_timestamp
    )


def _init_end(pod: Pod) -> Terminated | None:
    ends = (status.state.terminated for status in pod.status.init_container_statuses)
    return next((end for end in ends if end is not None and end.exit_code != 0), None)


# --------------------------------------------------------------------------- why it failed

_STATUS_REASONS = {
    "Evicted": FailureCode.NODE_PRESSURE,
    "NodeShutdown": FailureCode.NODE_SHUTDOWN,
    "Shutdown": FailureCode.NODE_SHUTDOWN,
    "Terminated": FailureCode.NODE_SHUTDOWN,
    "NodeLost": FailureCode.NODE_LOST,
    "UnexpectedAdmissionError": FailureCode.DEVICE_ADMISSION,
    "NodeAffinity": FailureCode.DEVICE_ADMISSION,
    "Preempting": FailureCode.DISRUPTION,
    "DeadlineExceeded": FailureCode.TIME_LIMIT,
}
_CONTAINER_REASONS = {
    "OOMKilled": FailureCode.OUT_OF_MEMORY,
    "ContainerStatusUnknown": FailureCode.NODE_LOST,
    "ContainerCannotRun": FailureCode.BAD_CONFIG,
    "StartError": FailureCode.BAD_CONFIG,
}


@dataclass(frozen=True, slots=True)
class Failing:
    """A failing pod of an attempt. Ordered by time; of one second, the platform's fault comes first (decision 3)."""

    failure: Failure

    @property
    def order(self) -> tuple[float, bool, int]:
        at = self.failure.at.timestamp() if self.failure.at is not None else float("inf")
        rank = self.failure.rank if self.failure.rank is not None else 10**9
        return at, self.failure.code not in INFRASTRUCTURE_FAILURES, rank


def failing(pod: Pod, rank: int, lost: LostNodes) -> Failing | None:
    """Why this pod failed, if it failed by itself: one that was told to stop and obeyed did not."""
    disrupted = holding(pod.status.conditions, "DisruptionTarget")
    end = _main_end(pod) or _init_end(pod)
    if end is not None and end.exit_code == 0:
        end = None
    gone_dark = is_lost(pod, lost)
    if disrupted is None and not gone_dark:
        if pod.status.phase != "Failed" and end is None:
            return None
        told, ended = told_to_stop_at(pod), moment(end.finished_at) if end is not None else ended_at(pod)
        if told is not None and not pod.status.reason and (ended is None or ended >= told):
            return None
    code = _code(pod, end, disrupted, lost)
    at = _failed_at(pod, end, disrupted, lost) if code in INFRASTRUCTURE_FAILURES else None
    return Failing(
        Failure(
            code,
            rank=rank,
            exit_code=end.exit_code if end is not None and code not in INFRASTRUCTURE_FAILURES else None,
            node=pod.spec.node_name or None,
            at=at or (moment(end.finished_at) if end is not None else None) or ended_at(pod),
            raw=_raw(pod, end, disrupted),
        )
    )


def _code(pod: Pod, end: Terminated | None, disrupted: Condition | None, lost: LostNodes) -> FailureCode:
    reason = pod.status.reason
    if reason in _STATUS_REASONS:
        return _STATUS_REASONS[reason]
    if reason.startswith("OutOf"):
        return FailureCode.DEVICE_ADMISSION
    if disrupted is not None:
        return _disruption_code(disrupted.reason, pod.spec.node_name in lost)
    if is_lost(pod, lost):
        return FailureCode.NODE_LOST
    if end is None:
        return FailureCode.UNKNOWN
    return _CONTAINER_REASONS.get(end.reason, FailureCode.APP_EXIT)


def _disruption_code(reason: str, node_is_lost: bool) -> FailureCode:
    if reason == "DeletionByPodGC" or (reason == "DeletionByTaintManager" and node_is_lost):
        return FailureCode.NODE_LOST
    return FailureCode.NODE_PRESSURE if reason == "TerminationByKubelet" else FailureCode.DISRUPTION


def _failed_at(pod: Pod, end: Terminated | None, disrupted: Condition | None, lost: LostNodes) -> datetime | None:
    """When the platform took the pod: its node's last word, else the disruption, else its end."""
    dark = lost.get(pod.spec.node_name) if pod.spec.node_name in lost else None
    finished = moment(end.finished_at) if end is not None else None
    return earliest(dark, changed_at(disrupted)) or finished or ended_at(pod)


def _raw(pod: Pod, end: Terminated | None, disrupted: Condition | None) -> str:
    if pod.status.reason or pod.status.message:
        return ": ".join(part for part in (pod.status.reason, pod.status.message) if part)
    if disrupted is not None:
        return ": ".join(part for part in (disrupted.reason, disrupted.message) if part)
    return (end.message or end.reason) if end is not None else ""
