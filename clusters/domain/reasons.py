"""Reason codes: why a job is in its state. A code and typed facts are stored; sentences are rendered per reader.

`jobs.reasons` holds one sentence per code, and a test compares the two lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

FactValue = int | str | list[int] | None


class ReasonCode(StrEnum):
    # queued
    SUBMITTED = "submitted"
    NOT_PICKED_UP = "not_picked_up"
    NOT_SENT = "not_sent"
    WAITING_FOR_QUOTA = "waiting_for_quota"
    WAITING_ABOVE_SHARE = "waiting_above_share"
    SPLIT_OVER_NODES = "split_over_nodes"
    NO_PLACE = "no_place"
    NEVER_FITS = "never_fits"
    NOT_OFFERED = "not_offered"
    WAITING_FOR_PREEMPTION = "waiting_for_preemption"
    QUEUE_HELD = "queue_held"
    QUEUE_MISSING = "queue_missing"
    QUEUE_MISCONFIGURED = "queue_misconfigured"
    WAITING_FOR_CHECK = "waiting_for_check"
    WAITING = "waiting"
    WAITING_FOR_MAINTENANCE = "waiting_for_maintenance"
    LOCAL_LIMIT = "local_limit"
    PERSONAL_LIMIT = "personal_limit"
    HELD = "held"
    PREEMPTED_HIGHER_PRIORITY = "preempted_higher_priority"
    PREEMPTED_QUOTA_RECLAIMED = "preempted_quota_reclaimed"
    PREEMPTED_WHILE_BORROWING = "preempted_while_borrowing"
    PREEMPTED_FAIR_SHARE = "preempted_fair_share"
    PREEMPTED_BY_PERSON = "preempted_by_person"
    QUEUE_DRAINED = "queue_drained"
    REQUEUING = "requeuing"
    REQUEUED_BY_PERSON = "requeued_by_person"
    RELEASED_NOT_PLACED = "released_not_placed"
    HELD_NOT_PLACED = "held_not_placed"
    NAME_CONFLICT = "name_conflict"
    # creating
    STARTING = "starting"
    PLACING = "placing"
    NOT_PLACED = "not_placed"
    WAITING_FOR_RELEASE = "waiting_for_release"
    PULLING_IMAGE = "pulling_image"
    IMAGE_NAME_INVALID = "image_name_invalid"
    IMAGE_NOT_FOUND = "image_not_found"
    IMAGE_UNAUTHORIZED = "image_unauthorized"
    IMAGE_TIMEOUT = "image_timeout"
    WAITING_FOR_PODS = "waiting_for_pods"
    # running
    RUNNING = "running"
    PARTLY_READY = "partly_ready"
    FINISHING = "finishing"
    # a service that holds its cards and does not come up
    CRASH_LOOP = "crash_loop"
    ROLLOUT_STUCK = "rollout_stuck"
    # ended, and between attempts
    COMPLETED = "completed"
    COMPLETED_BY_LAUNCHER = "completed_by_launcher"
    STOPPED_AT_LIMIT = "stopped_at_limit"
    APP_EXIT = "app_exit"
    OUT_OF_MEMORY = "out_of_memory"
    TIME_LIMIT = "time_limit"
    BAD_CONFIG = "bad_config"
    NODE_LOST = "node_lost"
    NODE_SHUTDOWN = "node_shutdown"
    EVICTED_NODE_PRESSURE = "evicted_node_pressure"
    DEVICE_ADMISSION_ERROR = "device_admission_error"
    DISRUPTION = "disruption"
    NEVER_READY = "never_ready"
    REJECTED = "rejected"
    UNKNOWN_FAILURE = "unknown_failure"
    OUTCOME_NOT_RECORDED = "outcome_not_recorded"
    CANCELLING = "cancelling"
    CANCELLED_BY_PERSON = "cancelled_by_person"
    UNKNOWN_SIGNAL = "unknown_signal"


KEEPS_TRYING = frozenset({ReasonCode.CRASH_LOOP, ReasonCode.ROLLOUT_STUCK})
"""It retries inside one attempt, and waits in no queue meanwhile."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A code with the numbers and names its sentence needs."""

    code: ReasonCode
    facts: Mapping[str, FactValue] = field(default_factory=dict)
