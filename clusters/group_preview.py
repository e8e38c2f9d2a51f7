"""Which nodes a group would have under other labels, from the labels that the newest look has stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from clusters.domain.membership import Claim, Described, Membership, Selector, claims_on, label_values, membership
from clusters.group_models import GroupProposal
from clusters.group_nodes import claim_of, described_rows, sharing_of_group
from clusters.models import Cluster, Node, NodeGroup
from clusters.selectors import known_sum

LABELS_SHOWN = 40


@dataclass(frozen=True, slots=True)
class NodeFigures:
    """Cards of a node, and how many of them somebody holds."""

    installed: int
    held: int
    physical: int | None  # cards behind what is installed; None: it does not say


@dataclass(frozen=True, slots=True)
class Picture:
    """Nodes of a cluster as last seen, who is confirmed or put aside, and what is proposed."""

    nodes: Mapping[str, Described]
    figures: Mapping[str, NodeFigures]
    groups: Mapping[str, NodeGroup]
    proposals: Mapping[str, GroupProposal]  # those put aside as well

    @property
    def claims(self) -> dict[str, Claim]:
        """Of everything that somebody decided."""
        asides = [row for row in self.proposals.values() if row.is_aside]
        return {row.slug: claim_of(row) for row in (*self.groups.values(), *asides)}

    def decided(self) -> Membership:
        return membership(self.nodes.values(), list(self.claims.values()))

    def proposed(self, decided: Membership) -> Membership:
        """What the proposals have of the nodes that nobody claims."""
        left = [
            node for name, node in self.nodes.items() if name not in decided.groups and name not in decided.contested
        ]
        return membership(left, [claim_of(row) for row in self.proposals.values() if not row.is_aside])

    def title(self, slug: str) -> str:
        row = self.groups.get(slug) or self.proposals.get(slug)
        return row.title if row is not None else slug

    def cards(self, names: Iterable[str]) -> int:
        return sum(self.figures[name].installed for name in names)

    def physical(self, names: Iterable[str]) -> int | None:
        return known_sum(self.figures[name].physical for name in names)

    def held(self, names: Iterable[str]) -> int:
        return sum(self.figures[name].held for name in names)


@dataclass(frozen=True, slots=True)
class Preview:
    """What other labels do to a group. ``contested``: nodes that would be claimed twice, and by which other group."""

    joins: tuple[str, ...]
    leaves: tuple[str, ...]
    members: tuple[str, ...]  # afterwards
    contested: Mapping[str, str]
    cards_before: int
    cards_after: int
    held_on_leaving: int

    @property
    def changes(self) -> bool:
        return bool(self.joins or self.leaves)


def picture_of(cluster: Cluster) -> Picture:
    """Three queries."""
    rows = list(
        Node.objects.filter(cluster=cluster)
        .order_by("name")
        .values_list("name", "labels", "offers", "installed", "outside", "physical", "holders")
    )
    return Picture(
        nodes={node.name: node for node in described_rows((name, labels, offers) for name, labels, offers, *_ in rows)},
        figures={
            name: NodeFigures(installed, outside + sum(holder["cards"] for holder in holders), physical)
            for name, _labels, _offers, installed, outside, physical, holders in rows
        },
        groups={row.slug: row for row in NodeGroup.objects.filter(cluster=cluster).select_related("confirmed_by")},
        proposals={row.slug: row for row in GroupProposal.objects.filter(cluster=cluster).select_related("decided_by")},
    )


def preview(picture: Picture, row: NodeGroup | GroupProposal, selector: Selector) -> Preview:
    """Membership of one group, or of a proposal once it is confirmed, under these labels."""
    claims = picture.claims
    decided = picture.decided()
    now = decided if row.slug in claims else picture.proposed(decided)
    before = now.members(row.slug)
    claim = Claim(row.slug, row.resource, selector, sharing_of_group(row))
    others = [other for slug, other in claims.items() if slug != row.slug]
    after = membership(picture.nodes.values(), [*others, claim]).members(row.slug)
    return Preview(
        joins=tuple(sorted(after - before)),
        leaves=tuple(sorted(before - after)),
        members=tuple(sorted(after)),
        contested=_contested(picture, claim, others),
        cards_before=picture.cards(before),
        cards_after=picture.cards(after),
        held_on_leaving=picture.held(before - after),
    )


def _contested(picture: Picture, claim: Claim, others: Iterable[Claim]) -> dict[str, str]:
    """Nodes with cards that jobs of two groups could get. How they are shared sets no job apart: its labels do."""
    any_sharing = replace(claim, sharing=None)
    rivals = [replace(other, sharing=None) for other in others]
    found = {}
    for name, node in picture.nodes.items():
        slugs = claims_on(node, [any_sharing, *rivals])
        if claim.slug in slugs and len(slugs) > 1:
            found[name] = picture.title(next(slug for slug in slugs if slug != claim.slug))
    return found


def telling(picture: Picture, names: Iterable[str]) -> dict[str, dict[str, int]]:
    """Labels whose values differ between these nodes: what the group could be divided by."""
    found = label_values(picture.nodes[name] for name in names)
    return dict([(key, values) for key, values in found.items() if len(values) > 1][:LABELS_SHOWN])
