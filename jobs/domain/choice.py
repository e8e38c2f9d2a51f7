"""Which node group a job goes to (decision 13). Pure: candidates in, one out, always of one vendor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jobs.domain.shape import NoShape, Shape, service_shape, shape_of
from jobs.domain.words import Framework, Kind


@dataclass(frozen=True, slots=True)
class Candidate:
    """One node group in which the team has a share."""

    slug: str
    vendor: str
    sharing: str
    cards_per_node: int
    capacity: int  # installed cards
    nominal: int
    free_nominal: int  # of the team's own quota
    cohort_free: int  # unused quota of everybody, which may be borrowed
    free_blocks: tuple[int, ...]
    queued_ahead: int = 0  # jobs of the team that wait for this group
    may_train: bool = False  # on its cut cards, by an admin's word

    @property
    def exclusive(self) -> bool:
        return self.sharing == "exclusive"


@dataclass(frozen=True, slots=True)
class Asked:
    """Cards as asked for: of the whole job, or with ``replicas`` of each replica of a service."""

    cards: int
    replicas: int | None = None

    @property
    def total(self) -> int:
        return self.cards * (self.replicas or 1)

    def on(self, candidate: Candidate) -> Shape:
        """The shape in this group. Raises NoShape."""
        size, vendor = candidate.cards_per_node, candidate.vendor
        if self.replicas is None:
            return shape_of(self.cards, cards_per_node=size, vendor=vendor)
        return service_shape(self.cards, self.replicas, cards_per_node=size, vendor=vendor)


def usable_candidates(candidates: Sequence[Candidate], kind: Kind) -> list[Candidate]:
    """Groups that have cards at all; cut cards take training only of teams that an admin allowed it (decision 26)."""
    return [c for c in candidates if c.cards_per_node > 0 and (c.exclusive or c.may_train or kind is not Kind.TRAINING)]


def choose_group(
    candidates: Sequence[Candidate],
    *,
    cards: int,
    framework: Framework,
    last_vendor: str | None,
    replicas: int | None = None,
) -> tuple[Candidate, Shape]:
    """The group for a job that named no card model, always one of whole cards; ``cards`` of each replica of a service.

    Vendor: the last job's of this framework, else Ascend for MindSpore, else that of the largest NVIDIA group.
    Of that vendor's groups: the first that starts now, else the one with the most free nominal quota.
    Raises NoShape when no group of the vendor can split the cards, LookupError when there is no group at all.
    """
    asked = Asked(cards, replicas)
    exclusive = [c for c in candidates if c.exclusive]
    if not exclusive:
        raise LookupError("no exclusive group")
    vendor = _vendor(exclusive, framework, last_vendor)
    same = sorted((c for c in exclusive if c.vendor == vendor), key=lambda c: (-c.capacity, c.slug))
    shaped: list[tuple[Candidate, Shape]] = []
    refused: NoShape | None = None
    for candidate in same:
        try:
            shaped.append((candidate, asked.on(candidate)))
        except NoShape as error:
            refused = refused or error.up_to(candidate.capacity)  # the largest group comes first
    if not shaped:
        raise refused or LookupError("no group")
    total = asked.total
    fitting = [pair for pair in shaped if total <= pair[0].capacity] or shaped
    now = [pair for pair in fitting if starts_now(*pair)]
    if now:
        return max(now, key=lambda pair: (pair[0].free_nominal >= total, pair[0].free_nominal, pair[0].slug))
    return max(fitting, key=lambda pair: (pair[0].free_nominal, -pair[0].queued_ahead, pair[0].slug))


def _vendor(candidates: Sequence[Candidate], framework: Framework, last_vendor: str | None) -> str:
    vendors = {c.vendor for c in candidates}
    if last_vendor in vendors:
        return str(last_vendor)
    if framework is Framework.MINDSPORE and "ascend" in vendors:
        return "ascend"
    nvidia = [c for c in candidates if c.vendor == "nvidia"]
    return max(nvidia or candidates, key=lambda c: (c.nominal, c.capacity, c.slug)).vendor


def starts_now(candidate: Candidate, shape: Shape) -> bool:
    """Would the gang start at once? Quota may be borrowed; every pod needs its block on one node.

    Jobs that wait before it do not matter: they wait because they do not fit, and a queue tries the next one.
    """
    if shape.cards > candidate.cohort_free:
        return False
    if shape.cards_per_pod == 0:
        return True
    return sum(block // shape.cards_per_pod for block in candidate.free_blocks) >= shape.pods
