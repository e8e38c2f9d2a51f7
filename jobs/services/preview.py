"""What would happen to a job if it were submitted now. Asks, stores nothing, and forecasts nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from accounts.actors import Actor
from clusters.models import NodeGroup
from common.errors import FieldProblem
from jobs.card_sharing import group_sharing
from jobs.domain.choice import Candidate, starts_now
from jobs.domain.shape import Shape
from jobs.domain.words import Kind
from jobs.services.intent import candidates_of, check_place
from jobs.services.limits import keeps_back
from quotas.domain.limits import By
from quotas.domain.sharing import WHOLE_SPEED, times_text
from quotas.models import LocalQueue
from quotas.selectors import QueuePlace
from quotas.selectors.places import GroupPlace


class Verdict(StrEnum):
    NOW = "now"
    LATER = "later"
    NEVER = "never"
    UNKNOWN = "unknown"  # too little was said yet


class Obstacle(StrEnum):
    """What a job would wait for."""

    LENT = "lent"  # the own share covers it, others have borrowed it
    QUOTA = "quota"  # fewer cards of the group's quota are idle than it needs
    BLOCKS = "blocks"  # enough cards are free, but not together
    LOCAL_LIMIT = "local_limit"  # its local queue may hold no more cards now
    PERSONAL_LIMIT = "personal_limit"  # its owner may hold no more in that local queue


@dataclass(frozen=True, slots=True)
class Preview:
    """The answer while typing. Counts are in the group's unit; ``borrowed`` is what the own share does not cover."""

    verdict: Verdict
    obstacle: Obstacle | None = None
    group: NodeGroup | None = None
    shape: Shape | None = None
    queued_ahead: int = 0
    idle: int = 0
    blocks: tuple[int, ...] = ()
    borrowed: int = 0
    problems: tuple[FieldProblem, ...] = ()
    is_service: bool = False  # its replicas start one by one
    queue: LocalQueue | None = None  # whose limit keeps it back
    slowdown: int = WHOLE_SPEED  # run time there per mille of that on whole cards

    @property
    def sharing(self) -> str:
        """How it would have its cards; '' without any."""
        return group_sharing(self.group) if self.group is not None else ""

    @property
    def slower(self) -> str:
        """`1.3` where work takes 1.3 times as long; '' where it takes no longer."""
        return times_text(self.slowdown) if self.slowdown > WHOLE_SPEED else ""


_OF_LIMITS = {By.QUEUE: Obstacle.LOCAL_LIMIT, By.PERSON: Obstacle.PERSONAL_LIMIT}
_NOT_YET = frozenset({"required", "no_team", "no_queue"})
"""Codes of problems that say nothing against the job, only that more must be known."""


def job_preview(*, actor: Actor, data: Mapping[str, Any]) -> Preview:
    """Queue, node group and shape as submit would choose them, and whether the job would start at once."""
    found = check_place(actor, data)
    if found.problems:
        known = all(problem.code in _NOT_YET for problem in found.problems)
        return Preview(Verdict.UNKNOWN if known else Verdict.NEVER, problems=found.problems)
    if found.place is None or found.shape is None:
        return Preview(Verdict.UNKNOWN)
    if found.group is None:  # no cards, no quota: any node with room for it
        return Preview(Verdict.NOW, shape=found.shape)
    outlook = _outlook(found.place, found.group, found.shape)
    if found.local_queue is not None:
        kept_by = keeps_back(actor, found.local_queue, found.group.group, found.shape.cards, data)
        if kept_by is not None:
            outlook = replace(outlook, verdict=Verdict.LATER, obstacle=_OF_LIMITS[kept_by], queue=found.local_queue)
    return replace(outlook, is_service=data.get("kind") == Kind.INFERENCE.value)


def _outlook(place: QueuePlace, group: GroupPlace, shape: Shape) -> Preview:
    candidate = next(c for c in candidates_of(place) if c.slug == group.group.slug)
    obstacle = None
    if not starts_now(candidate, shape):
        obstacle = _obstacle(candidate, shape)
    return Preview(
        verdict=Verdict.NOW if obstacle is None else Verdict.LATER,
        obstacle=obstacle,
        group=group.group,
        shape=shape,
        queued_ahead=candidate.queued_ahead,
        idle=candidate.cohort_free,
        blocks=tuple(sorted((block for block in candidate.free_blocks if block), reverse=True)),
        borrowed=max(0, shape.cards - candidate.free_nominal),
        slowdown=group.slowdown,
    )


def _obstacle(candidate: Candidate, shape: Shape) -> Obstacle:
    if shape.cards <= candidate.cohort_free:
        return Obstacle.BLOCKS
    return Obstacle.LENT if shape.cards <= candidate.free_nominal else Obstacle.QUOTA
