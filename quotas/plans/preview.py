"""What a change of the plan would do before anybody makes it. Reads only.

Ten queries, whatever the number of jobs. What is said of jobs follows the gate's order and its rules of taking back,
by quota alone: whether the nodes have a place for a job is not looked at (`quotas.domain.foresight`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.models import Cluster
from quotas.domain.foresight import Foresight, Holding, Taken, foresee
from quotas.domain.plan import Division, GroupChange, PartChange, Plan, PlanDiff, RuleChange, SharedOut, diff, divide
from quotas.plans.live import Live, live_jobs
from quotas.plans.services import proposed, restored
from quotas.plans.store import Stored, cards_now, stored

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
class PlanPreview:
    """What would hold and what would happen. ``taken`` is taken back at once; ``returnable`` if its owners asked."""

    version: int
    after: Division
    diff: PlanDiff
    rows: tuple[PreviewRow, ...]
    taken: tuple[Taken, ...]
    returnable: tuple[Holding, ...]
    returnable_cards: int  # with what is taken at once
    newly_returnable: int  # of these, what cannot be taken back today
    waiting_jobs: int
    starts_before: int
    starts_after: int

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


def recount_preview(*, viewer: Actor, cluster: Cluster) -> PlanPreview:
    """What dividing the cards of this moment would do. Raises NotAllowed."""
    require(viewer, Action.SHARES_MANAGE)
    before = stored(cluster)
    return division_preview(cluster, before, Division(before.division.plan, cards_now(cluster, before), before.aside))


def division_preview(cluster: Cluster, before: Stored, after: Division) -> PlanPreview:
    """What dividing the cluster so would do."""
    live = live_jobs(cluster)
    now = foresee(before.division, live.holdings, live.waiting)
    then = foresee(after, live.holdings, live.waiting)
    return PlanPreview(
        version=before.number,
        after=after,
        diff=diff(before.division, after),
        rows=_rows(before.division, after, live, now, then),
        taken=then.taken,
        returnable=then.returnable,
        returnable_cards=_returnable(then),
        newly_returnable=max(0, _returnable(then) - _returnable(now)),
        waiting_jobs=len({each.job_ulid for each in live.waiting}),
        starts_before=_jobs(now),
        starts_after=_jobs(then),
    )


def _jobs(foresight: Foresight) -> int:
    return len({each.job_ulid for each in foresight.started})


def _returnable(foresight: Foresight) -> int:
    return sum(each.holding.cards for each in foresight.taken) + sum(each.cards for each in foresight.returnable)


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
