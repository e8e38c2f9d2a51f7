"""What a change of the plan would do before anybody makes it. Reads only.

Thirteen queries, whatever the number of jobs. What is said of jobs follows the gate's order, its quota, its choice of
nodes and its rules of taking back, as the simulation of a cluster does (`quotas.domain.gate`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.models import Cluster
from quotas.domain.foresight import Foresight, foresee
from quotas.domain.live import Holding, Live, Taken, Verdict, Waiting
from quotas.domain.plan import Division, GroupChange, PartChange, Plan, PlanDiff, RuleChange, SharedOut, diff, divide
from quotas.plans.live import live_jobs
from quotas.plans.services import proposed, restored
from quotas.plans.store import Stored, cards_now, stored
from quotas.selectors.sharing import whole_groups

Place = tuple[str, str]  # (queue, group)


@dataclass(frozen=True, slots=True)
class PreviewRow:
    """One team's part of one node group that changes, or in which jobs are affected. In the group's unit.

    ``beyond``: cards held above the own share, so borrowed or over. ``starts``: jobs that start at once by quota.
    """

    change: PartChange
    held: int
    beyond_before: int
    beyond_after: int
    waiting_jobs: int
    starts_before: int
    starts_after: int


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A waiting job, and when it starts: today and with the plan. Of a service, its first replica that waits."""

    waiting: Waiting
    before: Verdict
    after: Verdict


@dataclass(frozen=True, slots=True)
class PlanPreview:
    """What would hold and what would happen. ``taken`` is taken back at once; ``returnable`` if its owners asked.

    ``queued``: in the gate's order, those whose verdict changes before the others.
    """

    version: int
    after: Division
    diff: PlanDiff
    rows: tuple[PreviewRow, ...]
    taken: tuple[Taken, ...]
    returnable: tuple[Holding, ...]
    returnable_cards: int  # whole cards, with what is taken at once
    newly_returnable: int  # of these, what cannot be taken back today
    queued: tuple[QueuedJob, ...]

    @property
    def waiting_jobs(self) -> int:
        return len(self.queued)

    @property
    def starts_before(self) -> int:
        return sum(each.before.starts for each in self.queued)

    @property
    def starts_after(self) -> int:
        return sum(each.after.starts for each in self.queued)

    @property
    def groups(self) -> tuple[GroupChange, ...]:
        return self.diff.groups

    @property
    def rules(self) -> tuple[RuleChange, ...]:
        return self.diff.rules


def plan_preview(*, viewer: Actor, cluster: Cluster, plan: Plan) -> PlanPreview:
    """What saving ``plan`` would do. Raises NotAllowed, and InvalidInput as saving would."""
    require(viewer, Action.SHARES_MANAGE)
    before = stored(cluster)
    return division_preview(cluster, before, proposed(cluster, before, plan))


def rollback_preview(*, viewer: Actor, cluster: Cluster, number: int) -> PlanPreview:
    """What going back to a version would do. Raises NotAllowed, NotFound."""
    require(viewer, Action.SHARES_MANAGE)
    before = stored(cluster)
    return division_preview(cluster, before, restored(cluster, before, number))


def recount_preview(*, viewer: Actor, cluster: Cluster, only_changes: bool = False) -> PlanPreview:
    """What dividing the cards of this moment would do. Raises NotAllowed.

    With ``only_changes`` no jobs are looked at where that changes nothing.
    """
    require(viewer, Action.SHARES_MANAGE)
    before = stored(cluster)
    after = Division(before.division.plan, cards_now(cluster, before), before.aside)
    return division_preview(
        cluster, before, after, Live() if only_changes and not diff(before.division, after) else None
    )


def division_preview(cluster: Cluster, before: Stored, after: Division, live: Live | None = None) -> PlanPreview:
    """What dividing the cluster so would do; ``live`` is what jobs hold and wait for, None = as last seen."""
    live = live_jobs(cluster) if live is None else live
    whole = whole_groups(cluster)
    now, then = foresee(before.division, live), foresee(after, live)
    return PlanPreview(
        version=before.number,
        after=after,
        diff=diff(before.division, after),
        rows=_rows(before.division, after, live, now, then),
        taken=then.taken,
        returnable=then.returnable,
        returnable_cards=_returnable(then, whole),
        newly_returnable=max(0, _returnable(then, whole) - _returnable(now, whole)),
        queued=_queued(now, then),
    )


def _queued(now: Foresight, then: Foresight) -> tuple[QueuedJob, ...]:
    today: dict[str, Verdict] = {}
    for waiting, verdict in now.verdicts:
        today.setdefault(waiting.job_ulid, verdict)
    found: dict[str, QueuedJob] = {}
    for waiting, verdict in then.verdicts:
        found.setdefault(waiting.job_ulid, QueuedJob(waiting, today[waiting.job_ulid], verdict))
    return tuple(sorted(found.values(), key=lambda each: each.before is each.after))


def _returnable(foresight: Foresight, whole: Collection[str]) -> int:
    holdings = [*(each.holding for each in foresight.taken), *foresight.returnable]
    return sum(each.cards for each in holdings if each.group in whole)


def _rows(before: Division, after: Division, live: Live, now: Foresight, then: Foresight) -> tuple[PreviewRow, ...]:
    old, new = divide(before), divide(after)
    held: dict[Place, int] = defaultdict(int)
    for holding in live.holdings:
        held[holding.queue, holding.group] += holding.cards
    waits = _count((each.queue, each.group, each.job_ulid) for each in live.waiting)
    starts_now = _count((each.queue, each.group, each.job_ulid) for each in now.started)
    starts_then = _count((each.queue, each.group, each.job_ulid) for each in then.started)
    rows = []
    for group in after.cards:
        for queue in sorted(after.plan.queues):
            place = (queue, group)
            row = PreviewRow(
                change=_change(place, before, after, old, new),
                held=held[place],
                beyond_before=max(0, held[place] - old.part(*place).nominal),
                beyond_after=max(0, held[place] - new.part(*place).nominal),
                waiting_jobs=waits[place],
                starts_before=starts_now[place],
                starts_after=starts_then[place],
            )
            if _says_something(row):
                rows.append(row)
    return tuple(rows)


def _change(place: Place, before: Division, after: Division, old: SharedOut, new: SharedOut) -> PartChange:
    queue, group = place
    return PartChange(
        queue,
        group,
        before.plan.queue(queue).part(group),
        after.plan.queue(queue).part(group),
        old.part(queue, group),
        new.part(queue, group),
    )


def _count(jobs: Iterable[tuple[str, str, str]]) -> dict[Place, int]:
    """Jobs by place; a service counts once, however many of its replicas are meant."""
    found: dict[Place, set[str]] = defaultdict(set)
    for queue, group, job_ulid in jobs:
        found[queue, group].add(job_ulid)
    return defaultdict(int, {place: len(ulids) for place, ulids in found.items()})


def _says_something(row: PreviewRow) -> bool:
    change = row.change
    return (change.before, change.cards_before) != (change.after, change.cards_after) or bool(
        row.beyond_after or row.starts_before != row.starts_after
    )
