"""The words of a job: states, flags, kinds, frameworks, priorities. Pure; labels are in `jobs.labels`."""

from __future__ import annotations

from datetime import timedelta
from enum import IntEnum, StrEnum


class JobState(StrEnum):
    """The only states a person sees (decision 2)."""

    QUEUED = "queued"
    CREATING = "creating"
    RUNNING = "running"
    RETRYING = "retrying"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class CardSharing(StrEnum):
    """How a job has its cards."""

    EXCLUSIVE = "exclusive"  # whole ones, which nobody else uses meanwhile
    SHARED = "shared"  # slices of cards that others use too


TERMINAL_STATES = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED})
LIVE_STATES = frozenset(JobState) - TERMINAL_STATES
WAITING_STATES = frozenset({JobState.QUEUED, JobState.RETRYING})


class Flag(StrEnum):
    """Stands beside the state."""

    HELD = "held"
    STOPPING = "stopping"
    DEGRADED = "degraded"


class Desired(StrEnum):
    """What people want of the job now."""

    RUN = "run"
    CANCEL = "cancel"
    REQUEUE = "requeue"  # stop the present attempt and make the next one


class Kind(StrEnum):
    TRAINING = "training"
    DEVELOPMENT = "development"
    INFERENCE = "inference"


class Framework(StrEnum):
    PYTORCH = "pytorch"
    TENSORFLOW = "tensorflow"
    MINDSPORE = "mindspore"
    MPI = "mpi"
    COMMAND = "command"


class Priority(StrEnum):
    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    URGENT = "urgent"


class PriorityValue(IntEnum):
    """What the gate compares (decision 11); inference adds 50."""

    LOW = 100
    NORMAL = 200
    HIGH = 300
    URGENT = 400


def priority_value(priority: Priority, kind: Kind) -> int:
    return int(PriorityValue[priority.name]) + (50 if kind is Kind.INFERENCE else 0)


class AttemptEnd(StrEnum):
    """How an attempt ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"  # by a person's cancel or requeue, or by our own limit
    LOST = "lost"  # object gone, nothing seen


INFRA_RETRY_LIMIT = 2
"""Decision 4: retries after infrastructure causes; application failures retry as often as the job says (0)."""
MAX_APP_RETRIES = 10
REST_MAX = timedelta(minutes=15)
"""Decision 5: a preempted job gives way at most so long."""
