"""Cards that queues of others still have: set aside in every division, so that nobody is given them twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from clusters.adoption_models import FoundQueue
from clusters.models import Cluster
from quotas.models import TeamQueue

Aside = Mapping[str, Mapping[str, int]]
"""Node group → team queue ('' = none) → cards."""


@dataclass(frozen=True, slots=True)
class FoundCards:
    """One queue of others. ``queue`` is the team queue that shall have its cards one day."""

    pk: int
    queue: str
    cards: Mapping[str, int]
    counted: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Found:
    """All queues of others on one cluster."""

    queues: tuple[FoundCards, ...]

    def aside(self) -> Aside:
        """What they have by now."""
        return _summed((each.queue, each.cards) for each in self.queues)

    def counted(self) -> Aside:
        """What the newest division set aside for them."""
        return _summed((each.queue, each.counted) for each in self.queues)


def found_of(cluster: Cluster) -> Found:
    """One query, two where there are some."""
    rows = FoundQueue.objects.filter(cluster=cluster).exclude(cards={}, counted={})
    found = list(rows.order_by("pk").values_list("pk", "team", "cards", "counted"))
    slug_of = dict(TeamQueue.objects.filter(cluster=cluster).values_list("team", "slug")) if found else {}
    return Found(tuple(FoundCards(pk, slug_of.get(team, ""), cards, counted) for pk, team, cards, counted in found))


def cards_aside(cluster: Cluster) -> Aside:
    """What is set aside by the division that holds. At most two queries."""
    return found_of(cluster).counted()


def aside_keep(found: Found) -> None:
    """Write down that a division set aside what they have by now; in its transaction."""
    for each in found.queues:
        if each.cards != each.counted:
            FoundQueue.objects.filter(pk=each.pk).update(counted=each.cards)


def _summed(parts: Iterable[tuple[str, Mapping[str, int]]]) -> Aside:
    summed: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for queue, cards in parts:
        for group, count in cards.items():
            if count:
                summed[group][queue] += count
    return {group: dict(by_queue) for group, by_queue in sorted(summed.items())}
