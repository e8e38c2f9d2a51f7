"""Why a Workload is not admitted: Kueue's words as a code with numbers. Pure.

The texts are those of Kueue 0.17 to 0.19 and are no interface: what no pattern knows is OTHER, with the text as it
is. Kueue 0.19 can also give a finer reason, which is asked where the text says nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from clusters.backends.kueue_volcano.conditions import find
from clusters.backends.kueue_volcano.quantities import whole
from clusters.backends.kueue_volcano.wire import (
    AdmissionCheck,
    ClusterQueue,
    Condition,
    FlavorAmounts,
    LocalQueue,
)
from clusters.contract import Wait, WaitCode
from clusters.domain.shortage import shortage_code

_UNUSED = re.compile(r"insufficient unused quota for (\S+) in flavor (\S+), (\S+) more needed")
_MAXIMUM = re.compile(r"insufficient quota for (\S+) in flavor (\S+?),? .*?> maximum capacity \(([^)]*)\)")
_VICTIMS = re.compile(r"Pending the (?:preemption|migration) of (\d{1,9}) workload")

_PATTERNS: tuple[tuple[re.Pattern[str], WaitCode], ...] = tuple(
    (re.compile(pattern), code)
    for pattern, code in (
        (_VICTIMS.pattern, WaitCode.PREEMPTING),
        (_UNUSED.pattern, WaitCode.QUOTA),
        (r"but will fit after these preemptions complete", WaitCode.PREEMPTING),
        (r"no longer fits after processing another workload", WaitCode.QUOTA),
        (r"overlapping preemption targets with another workload", WaitCode.QUOTA),
        (r"topology \S+ (?:doesn't allow|allows) to fit", WaitCode.PLACES),
        (r"no topology domains at level", WaitCode.PLACES),  # every node is full, cordoned or gone
        (r"> maximum capacity \(", WaitCode.NEVER_FITS),
        (r"failed admission checks", WaitCode.CHECK),
        (r"Queue \S+ (?:doesn't exist|not found)", WaitCode.QUEUE_MISSING),
        (r"Queue \S+ is (?:inactive|stopped)", WaitCode.QUEUE_HELD),
        (r"namespace doesn't match ClusterQueue selector", WaitCode.QUEUE_MISCONFIGURED),
        (r"flavor \S+ not found", WaitCode.QUEUE_MISCONFIGURED),
        (r"resource \S+ unavailable in ClusterQueue", WaitCode.NOT_OFFERED),
        (r"flavor \S+ doesn't match node affinity", WaitCode.NOT_OFFERED),
        (r"untolerated taint .+ in flavor", WaitCode.NOT_OFFERED),
    )
)
"""The first that is found counts: a text about several flavors says of each why not, the best of them first here."""

_REASONS = {
    "WaitingForQuota": WaitCode.QUOTA,
    "ExceedsMaxQuota": WaitCode.NEVER_FITS,
    "NoMatchingFlavor": WaitCode.NOT_OFFERED,
    "TopologyPlacementFailed": WaitCode.PLACES,
    "WaitingForPreemptedWorkloads": WaitCode.PREEMPTING,
    "Misconfigured": WaitCode.QUEUE_MISCONFIGURED,
    "Suspended": WaitCode.QUEUE_HELD,
}
_HOLDS = frozenset({"Hold", "HoldAndDrain"})


@dataclass(frozen=True, slots=True)
class Asking:
    """What waits: cards in all, and how the cluster calls them and their node group."""

    cards: int
    resource: str = ""
    flavor: str = ""


@dataclass(frozen=True, slots=True)
class Queue:
    """A team's way into the cluster as its two objects are now; None = there is no such object."""

    local_name: str
    local: LocalQueue | None
    cluster: ClusterQueue | None

    def blocked(self) -> tuple[WaitCode, str] | None:
        """Why nothing at all can enter, if so (C-41)."""
        if self.local is None:
            return WaitCode.QUEUE_MISSING, f"LocalQueue {self.local_name} doesn't exist"
        if self.local.spec.stop_policy in _HOLDS:
            return WaitCode.QUEUE_HELD, f"LocalQueue {self.local_name}: {self.local.spec.stop_policy}"
        name = self.local.spec.cluster_queue
        if self.cluster is None:
            return WaitCode.QUEUE_MISSING, f"ClusterQueue {name} doesn't exist"
        if self.cluster.spec.stop_policy in _HOLDS:
            return WaitCode.QUEUE_HELD, f"ClusterQueue {name}: {self.cluster.spec.stop_policy}"
        active = find(self.cluster.status.conditions, "Active") if self.cluster.status is not None else None
        if active is None or active.status != "False":
            return None
        code = WaitCode.QUEUE_HELD if active.reason == "Stopped" else WaitCode.QUEUE_MISCONFIGURED
        return code, f"ClusterQueue {name}: {active.reason}: {active.message}"

    def quota(self, resource: str, flavor: str) -> tuple[int | None, int | None]:
        """(nominal, held) cards of a flavor; None where the queue has none, or its usage is not told."""
        if self.cluster is None:
            return None, None
        flavors = tuple(flavor for group in self.cluster.spec.resource_groups for flavor in group.flavors)
        nominal = _amount(flavors, resource, flavor, "nominal_quota")
        status = self.cluster.status
        if nominal is None or status is None:
            return nominal, None
        return nominal, _amount(status.flavors_reservation, resource, flavor, "total") or 0


def _amount(flavors: tuple[FlavorAmounts, ...], resource: str, flavor: str, what: str) -> int | None:
    for part in flavors:
        if part.name == flavor:
            for amount in part.resources:
                if amount.name == resource:
                    return whole(getattr(amount, what))
    return None


def wait_of(word: Condition | None, asking: Asking, queue: Queue | None) -> Wait | None:
    """The gate's word (its QuotaReserved condition) about what waits in this queue. None = it has said nothing."""
    blocked = queue.blocked() if queue is not None else None
    if blocked is not None:
        return Wait(blocked[0], asked=asking.cards, raw=blocked[1])
    if word is None or (not word.reason and not word.message):
        return None
    code = next((code for pattern, code in _PATTERNS if pattern.search(word.message)), None)
    if code is None:
        code = _REASONS.get(word.reason, WaitCode.OTHER)
    return _with_numbers(code, word.message or word.reason, asking, queue)


def _with_numbers(code: WaitCode, raw: str, asking: Asking, queue: Queue | None) -> Wait:
    unused, maximum = _about(_UNUSED, raw, asking.resource), _about(_MAXIMUM, raw, asking.resource)
    if code in (WaitCode.QUOTA, WaitCode.NEVER_FITS) and unused is None and maximum is None and "in flavor" in raw:
        return Wait(WaitCode.OTHER, asked=asking.cards, raw=raw)  # of CPU or memory: a quota that nobody here set
    named = unused or maximum
    nominal, used = queue.quota(asking.resource, named[0] if named else asking.flavor) if queue else (None, None)
    if code is WaitCode.QUOTA and nominal is not None and used is not None:
        code = shortage_code(asking.cards, nominal, used)
    victims = _VICTIMS.search(raw)
    return Wait(
        code,
        asked=asking.cards,
        more=unused[1] if unused else None,
        maximum=maximum[1] if maximum else None,
        nominal=nominal,
        used=used,
        victims=int(victims[1]) if victims else None,
        raw=raw,
    )


def _about(pattern: re.Pattern[str], text: str, resource: str) -> tuple[str, int] | None:
    """(flavor, number) of what the text says about this resource."""
    return next(
        ((match[2].rstrip(","), whole(match[3])) for match in pattern.finditer(text) if match[1] == resource), None
    )


def check_wait(checks: tuple[AdmissionCheck, ...], asking: Asking) -> Wait | None:
    """Quota is reserved, and an admission check has not agreed yet; its name stands in ``raw``."""
    open_checks = [check for check in checks if check.state != "Ready"]
    if not open_checks:
        return None
    raw = "; ".join(f"{check.name}: {check.message or check.state}" for check in open_checks)
    return Wait(WaitCode.CHECK, asked=asking.cards, raw=raw)
