"""The one rule table from facts to an observed state (decisions 2, 8, 9 and 44). Pure.

Rows are tried in order, the first whose conditions all hold wins, the last catches everything. The table
itself generates docs/states.md, and a property test shows that it is total.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from clusters.contract import EvictionCause, FailureCode, Outcome, PodFacts, PodPhase, WaitCode, WorkloadFacts
from clusters.domain.reasons import FactValue, Reason, ReasonCode

NOT_PICKED_UP_AFTER = timedelta(seconds=60)
NOT_PLACED_AFTER = timedelta(seconds=120)
"""Decision 9 without topology-aware admission; with it the gate chose the nodes and NOT_PLACED_AFTER_TOPOLOGY holds."""
NOT_PLACED_AFTER_TOPOLOGY = timedelta(seconds=300)
STALLED_AFTER = timedelta(minutes=10)
"""Decision 10: a service whose replicas are all admitted and none is ready for so long."""


class ObservedState(StrEnum):
    QUEUED = "queued"
    CREATING = "creating"
    RUNNING = "running"
    RETRYING = "retrying"  # a service inside its one attempt
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"  # keep the last state and show the raw text


@dataclass(frozen=True, slots=True)
class GroupSnapshot:
    """Free cards per node of one node group at the last look, and the threshold that goes with the cluster.

    ``out`` = cards that nobody holds and nobody can get: sick, or on a node that takes no work.
    """

    title: str
    free_blocks: tuple[int, ...] = ()
    topology_aware: bool = True
    out: int = 0

    @property
    def free(self) -> int:
        return sum(self.free_blocks)


EMPTY_GROUP = GroupSnapshot(title="")


@dataclass(frozen=True, slots=True)
class Look:
    """What a rule may ask: the facts, the group's nodes, the time."""

    facts: WorkloadFacts
    group: GroupSnapshot
    now: datetime

    @property
    def admitted(self) -> bool:
        """Admitted now, not only before the newest eviction."""
        facts = self.facts
        return facts.admitted_at is not None and (facts.evicted_at is None or facts.admitted_at > facts.evicted_at)

    @property
    def reserved(self) -> bool:
        facts = self.facts
        return facts.reserved_at is not None and (facts.evicted_at is None or facts.reserved_at > facts.evicted_at)

    @property
    def waits_since(self) -> datetime:
        """When it last entered the queue, as far as the facts say."""
        facts = self.facts
        return max(at for at in (facts.created_at, facts.queued_at, facts.evicted_at) if at is not None)

    def waits_by(self, *codes: WaitCode) -> bool:
        return self.facts.wait is not None and self.facts.wait.code in codes

    def evicted_by(self, cause: EvictionCause) -> bool:
        return self.facts.evictions > 0 and not self.admitted and self.facts.eviction_cause is cause

    def count(self, *phases: PodPhase) -> int:
        return sum(1 for pod in self.facts.pods if pod.phase in phases)

    @property
    def cards_per_pod(self) -> int:
        return self.facts.cards // max(1, self.facts.wanted_pods)


@dataclass(frozen=True, slots=True)
class Derived:
    """The outcome of the table: state, flags, reason, and the row that decided."""

    state: ObservedState
    reason: Reason
    stopping: bool = False
    held: bool = False
    degraded: bool = False
    row: str = ""


Condition = Callable[[Look], bool]


def _image_problem(look: Look) -> FailureCode | None:
    return next((pod.image_problem for pod in look.facts.pods if pod.image_problem is not None), None)


def _crashing(look: Look) -> list[PodFacts]:
    """Replicas whose program ended and is started again, the most restarted first."""
    crashing = [pod for pod in look.facts.pods if pod.phase is PodPhase.PULLING and pod.restarts]
    return sorted(crashing, key=lambda pod: (-pod.restarts, pod.rank))


CONDITIONS: dict[str, Condition] = {
    "another owner has the name": lambda look: look.facts.foreign_owner,
    "ended well": lambda look: look.facts.outcome is Outcome.SUCCEEDED,
    "ended by its launcher": lambda look: look.facts.outcome_by_policy,
    "ended badly": lambda look: look.facts.outcome is Outcome.FAILED,
    "held": lambda look: not look.facts.active,
    "admitted": lambda look: look.admitted,
    "not admitted": lambda look: not look.admitted,
    "quota reserved": lambda look: look.reserved,
    "evicted by a higher priority": lambda look: look.evicted_by(EvictionCause.HIGHER_PRIORITY),
    "evicted by the owner of the cards": lambda look: look.evicted_by(EvictionCause.QUOTA_RECLAIMED),
    "evicted while borrowing": lambda look: look.evicted_by(EvictionCause.WHILE_BORROWING),
    "evicted for a fair share": lambda look: look.evicted_by(EvictionCause.FAIR_SHARE),
    "evicted with its queue": lambda look: look.evicted_by(EvictionCause.QUEUE_DRAINED),
    "the queue is held": lambda look: look.waits_by(WaitCode.QUEUE_HELD),
    "the queue is missing": lambda look: look.waits_by(WaitCode.QUEUE_MISSING),
    "the queue is misconfigured": lambda look: look.waits_by(WaitCode.QUEUE_MISCONFIGURED),
    "the group is not offered": lambda look: look.waits_by(WaitCode.NOT_OFFERED),
    "it can never fit": lambda look: look.waits_by(WaitCode.NEVER_FITS),
    "victims are ending": lambda look: look.waits_by(WaitCode.PREEMPTING),
    "no set of nodes can hold it": lambda look: look.waits_by(WaitCode.PLACES),
    "enough cards are free in pieces": lambda look: look.group.free >= look.facts.cards > 0,
    "it would have to borrow": lambda look: look.waits_by(WaitCode.ABOVE_NOMINAL),
    "quota is short": lambda look: look.waits_by(WaitCode.QUOTA),
    "a check has not answered": lambda look: look.waits_by(WaitCode.CHECK),
    "the gate says something else": lambda look: look.waits_by(WaitCode.OTHER),
    "no word from the gate": lambda look: look.facts.wait is None,
    "waiting for a minute": lambda look: look.now - look.waits_since >= NOT_PICKED_UP_AFTER,
    "an image cannot be pulled": lambda look: _image_problem(look) is not None,
    "the gang does not fit": lambda look: look.facts.unplaceable,
    "for too long": lambda look: (
        look.facts.admitted_at is not None
        and look.now - look.facts.admitted_at
        >= (NOT_PLACED_AFTER_TOPOLOGY if look.group.topology_aware else NOT_PLACED_AFTER)
    ),
    "its nodes are not free yet": lambda look: look.facts.waiting_release,
    "a pod pulls": lambda look: look.count(PodPhase.PULLING) > 0,
    "all pods run": lambda look: (
        look.count(PodPhase.RUNNING, PodPhase.SUCCEEDED) >= look.facts.wanted_pods and look.count(PodPhase.RUNNING) > 0
    ),
    "some pods run": lambda look: look.count(PodPhase.RUNNING) > 0,
    "it was complete before": lambda look: (
        look.facts.ready_at is not None
        and look.facts.admitted_at is not None
        and look.facts.ready_at >= look.facts.admitted_at
    ),
    "no pod is to come": lambda look: look.count(PodPhase.WAITING, PodPhase.PULLING, PodPhase.RUNNING) == 0,
    "pods exist": lambda look: bool(look.facts.pods),
    "no pod has a node": lambda look: all(pod.node is None for pod in look.facts.pods),
    "it is a service": lambda look: look.facts.is_service,
    "a program ends again and again": lambda look: bool(_crashing(look)),
    "none is ready for ten minutes": lambda look: (
        look.facts.stalled_since is not None and look.now - look.facts.stalled_since >= STALLED_AFTER
    ),
    "a signal no rule knows": lambda look: bool(look.facts.unknown),
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One row: all conditions must hold. ``code`` None = the failure's or image problem's own code."""

    name: str
    when: tuple[str, ...]
    state: ObservedState
    code: ReasonCode | None
    held: bool = False
    degraded: bool = False


Q, C, R = ObservedState.QUEUED, ObservedState.CREATING, ObservedState.RUNNING
Y = ObservedState.RETRYING

RULES: tuple[Rule, ...] = (
    Rule("name conflict", ("another owner has the name",), Q, ReasonCode.NAME_CONFLICT),
    Rule(
        "launcher ended",
        ("ended well", "ended by its launcher"),
        ObservedState.SUCCEEDED,
        ReasonCode.COMPLETED_BY_LAUNCHER,
    ),
    Rule("completed", ("ended well",), ObservedState.SUCCEEDED, ReasonCode.COMPLETED),
    Rule("failed", ("ended badly",), ObservedState.FAILED, None),
    Rule("held", ("held",), Q, ReasonCode.HELD, held=True),
    Rule("unknown signal", ("a signal no rule knows",), ObservedState.UNKNOWN, ReasonCode.UNKNOWN_SIGNAL),
    Rule("queue drained", ("evicted with its queue",), Q, ReasonCode.QUEUE_DRAINED),
    # What keeps it from ever starting again counts for more than why it was stopped.
    Rule("queue held", ("not admitted", "the queue is held"), Q, ReasonCode.QUEUE_HELD),
    Rule("queue missing", ("not admitted", "the queue is missing"), Q, ReasonCode.QUEUE_MISSING),
    Rule("queue misconfigured", ("not admitted", "the queue is misconfigured"), Q, ReasonCode.QUEUE_MISCONFIGURED),
    Rule("not offered", ("not admitted", "the group is not offered"), Q, ReasonCode.NOT_OFFERED),
    Rule("never fits", ("not admitted", "it can never fit"), Q, ReasonCode.NEVER_FITS),
    Rule("preempted inside the team", ("evicted by a higher priority",), Q, ReasonCode.PREEMPTED_HIGHER_PRIORITY),
    Rule("taken back", ("evicted by the owner of the cards",), Q, ReasonCode.PREEMPTED_QUOTA_RECLAIMED),
    Rule("taken while borrowing", ("evicted while borrowing",), Q, ReasonCode.PREEMPTED_WHILE_BORROWING),
    Rule("taken for a fair share", ("evicted for a fair share",), Q, ReasonCode.PREEMPTED_FAIR_SHARE),
    Rule("victims ending", ("not admitted", "victims are ending"), Q, ReasonCode.WAITING_FOR_PREEMPTION),
    Rule(
        "free in pieces",
        ("not admitted", "no set of nodes can hold it", "enough cards are free in pieces"),
        Q,
        ReasonCode.SPLIT_OVER_NODES,
    ),
    Rule("no place", ("not admitted", "no set of nodes can hold it"), Q, ReasonCode.NO_PLACE),
    Rule("above the share", ("not admitted", "it would have to borrow"), Q, ReasonCode.WAITING_ABOVE_SHARE),
    Rule("quota short", ("not admitted", "quota is short"), Q, ReasonCode.WAITING_FOR_QUOTA),
    Rule("check pending", ("not admitted", "a check has not answered"), Q, ReasonCode.WAITING_FOR_CHECK),
    Rule("check after quota", ("not admitted", "quota reserved"), Q, ReasonCode.WAITING_FOR_CHECK),
    Rule("other wait", ("not admitted", "the gate says something else"), Q, ReasonCode.WAITING),
    Rule(
        "not picked up",
        ("not admitted", "no word from the gate", "waiting for a minute"),
        Q,
        ReasonCode.NOT_PICKED_UP,
    ),
    Rule("submitted", ("not admitted",), Q, ReasonCode.SUBMITTED),
    Rule("service up", ("admitted", "it is a service", "all pods run"), R, ReasonCode.RUNNING),
    Rule(
        "service up in part",
        ("admitted", "it is a service", "some pods run"),
        R,
        ReasonCode.PARTLY_READY,
        degraded=True,
    ),
    Rule(
        "service crashes",
        ("admitted", "it is a service", "a program ends again and again"),
        Y,
        ReasonCode.CRASH_LOOP,
    ),
    Rule("image problem", ("admitted", "an image cannot be pulled"), C, None),
    Rule("not placed", ("admitted", "the gang does not fit", "for too long"), C, ReasonCode.NOT_PLACED),
    Rule("placing", ("admitted", "the gang does not fit"), C, ReasonCode.PLACING),
    Rule("waiting for release", ("admitted", "its nodes are not free yet"), C, ReasonCode.WAITING_FOR_RELEASE),
    Rule(
        "service stuck",
        ("admitted", "it is a service", "none is ready for ten minutes"),
        Y,
        ReasonCode.ROLLOUT_STUCK,
    ),
    Rule("running", ("admitted", "all pods run"), R, ReasonCode.RUNNING),
    Rule(
        "partly ready",
        ("admitted", "some pods run", "it was complete before"),
        R,
        ReasonCode.PARTLY_READY,
        degraded=True,
    ),
    Rule("finishing", ("admitted", "it was complete before", "no pod is to come"), R, ReasonCode.FINISHING),
    Rule("not started", ("admitted", "no pod has a node", "for too long"), C, ReasonCode.NOT_PLACED),
    Rule("pulling", ("admitted", "a pod pulls"), C, ReasonCode.PULLING_IMAGE),
    Rule("waiting for pods", ("admitted", "pods exist"), C, ReasonCode.WAITING_FOR_PODS),
    Rule("starting", (), C, ReasonCode.STARTING),
)


LACKS_CARDS = frozenset(
    {
        ReasonCode.SPLIT_OVER_NODES,
        ReasonCode.NO_PLACE,
        ReasonCode.WAITING_ABOVE_SHARE,
        ReasonCode.WAITING_FOR_QUOTA,
        ReasonCode.NOT_PLACED,
    }
)
"""Reasons that cards which are out of service have a part in."""


def derive(facts: WorkloadFacts, group: GroupSnapshot, now: datetime) -> Derived:
    """Observed state and reason of one attempt. Total: the last row has no condition."""
    look = Look(facts, group, now)
    rule = next(rule for rule in RULES if all(CONDITIONS[name](look) for name in rule.when))
    return Derived(
        state=rule.state,
        reason=explain(rule.code, look),
        stopping=facts.ending,
        held=rule.held,
        degraded=rule.degraded,
        row=rule.name,
    )


def explain(code: ReasonCode | None, look: Look) -> Reason:
    """The reason with its numbers; ``code`` None takes the failure's or image problem's own code."""
    facts, wait, group = look.facts, look.facts.wait, look.group
    values: dict[str, FactValue] = {"cards": facts.cards, "pods": facts.wanted_pods, "group": group.title}
    if code is None:
        if facts.outcome is Outcome.FAILED:
            return _failure_reason(facts)
        return Reason(_failure_code(_image_problem(look) or FailureCode.UNKNOWN), values)
    if wait is not None and not look.admitted:
        known = {"asked": wait.asked, "more": wait.more, "maximum": wait.maximum, "nominal": wait.nominal}
        values |= {key: value for key, value in known.items() if value is not None}
        if wait.used is not None:
            values["used"] = wait.used
        if wait.victims is not None:
            values["victims"] = wait.victims
        if wait.raw:
            values["raw"] = wait.raw
    if code in LACKS_CARDS and group.out:
        values["out"] = group.out
    if code in {ReasonCode.SPLIT_OVER_NODES, ReasonCode.NO_PLACE, ReasonCode.NOT_PLACED, ReasonCode.PLACING}:
        blocks = sorted((block for block in group.free_blocks if block > 0), reverse=True)
        values |= {"per_pod": look.cards_per_pod, "free": group.free, "blocks": blocks}
        if facts.misfit:
            values["misfit"] = facts.misfit
    if facts.evictions:
        values["evictions"] = facts.evictions
    if facts.evicted_by and code.value.startswith("preempted_"):
        values["by"] = facts.evicted_by
    if facts.admitted_pods is not None and 0 < facts.admitted_pods < facts.wanted_pods:
        values["waiting"] = facts.wanted_pods - facts.admitted_pods
    if code is ReasonCode.CRASH_LOOP and (crashing := _crashing(look)):
        values |= {"rank": crashing[0].rank, "restarts": crashing[0].restarts}
        if crashing[0].exit_code is not None:
            values["exit_code"] = crashing[0].exit_code
    if code in {ReasonCode.PULLING_IMAGE, ReasonCode.RUNNING, ReasonCode.PARTLY_READY, ReasonCode.WAITING_FOR_PODS}:
        values["ready"] = look.count(PodPhase.RUNNING, PodPhase.SUCCEEDED)
        values["pulling"] = look.count(PodPhase.PULLING)
    if code is ReasonCode.UNKNOWN_SIGNAL:
        values["raw"] = facts.unknown
    return Reason(code, values)


def _failure_code(code: FailureCode) -> ReasonCode:
    return ReasonCode.UNKNOWN_FAILURE if code is FailureCode.UNKNOWN else ReasonCode(code.value)


def _failure_reason(facts: WorkloadFacts) -> Reason:
    failure = facts.failure
    if failure is None:
        return Reason(ReasonCode.UNKNOWN_FAILURE)
    values: dict[str, FactValue] = {"pods": facts.wanted_pods}
    for key, value in (("rank", failure.rank), ("exit_code", failure.exit_code), ("node", failure.node)):
        if value is not None:
            values[key] = value
    if failure.raw:
        values["raw"] = failure.raw
    return Reason(_failure_code(failure.code), values)
