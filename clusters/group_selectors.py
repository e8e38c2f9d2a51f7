"""Node groups for the people who decide about them: proposed, confirmed, put aside, and nodes claimed twice."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as _

from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.connected import CONNECTED_KIND
from clusters.contract import SharingMode
from clusters.group_models import GroupProposal
from clusters.group_preview import Picture, picture_of, telling
from clusters.labels import SHARING
from clusters.models import Cluster, Node, NodeGroup
from common.errors import NotFound
from common.texts import storable

PROPOSED, CONFIRMED, ASIDE = "proposed", "confirmed", "aside"
NODES_SHOWN = 12


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group in one of its three states, with the nodes it has now, in its own unit."""

    row: NodeGroup | GroupProposal
    state: str
    nodes: tuple[str, ...]
    cards: int
    held: int
    physical: int | None  # cards behind ``cards``; None: some node does not say

    @property
    def sharing_label(self) -> str | Promise:
        return SHARING[SharingMode(self.row.sharing)]

    @property
    def is_shared(self) -> bool:
        return self.row.sharing != SharingMode.EXCLUSIVE.value

    @property
    def labels(self) -> list[tuple[str, str]]:
        return sorted(self.row.selector.items())

    @property
    def version(self) -> int:
        return self.row.version

    @property
    def nodes_shown(self) -> tuple[str, ...]:
        return self.nodes[:NODES_SHOWN]

    @property
    def nodes_more(self) -> int:
        return max(0, len(self.nodes) - NODES_SHOWN)


@dataclass(frozen=True, slots=True)
class Contested:
    """A node that several groups claim, so that it is in none."""

    node: str
    titles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroupsView:
    """Everything that is decided or waits for a decision on one cluster."""

    cluster: Cluster
    proposed: tuple[GroupRow, ...]
    confirmed: tuple[GroupRow, ...]
    aside: tuple[GroupRow, ...]
    contested: tuple[Contested, ...]
    has_labels: bool  # False: membership is not the admin's to decide, as in the sandbox

    @property
    def rows(self) -> tuple[GroupRow, ...]:
        return (*self.proposed, *self.confirmed, *self.aside)


@dataclass(frozen=True, slots=True)
class GroupDetail:
    """One group with the labels by which it could be divided: label -> value -> nodes."""

    group: GroupRow
    telling: dict[str, dict[str, int]]


def groups_view(*, viewer: Actor, cluster: Cluster) -> GroupsView:
    """Four queries, whatever the size. Raises NotAllowed."""
    require(viewer, Action.CLUSTER_MANAGE)
    return _view(cluster, picture_of(cluster))


def group_detail(*, viewer: Actor, cluster: Cluster, slug: str) -> GroupDetail:
    """One group in whatever state; four queries. Raises NotAllowed, NotFound."""
    require(viewer, Action.CLUSTER_MANAGE)
    picture = picture_of(cluster)
    slug = storable(slug)
    found = next((row for row in _view(cluster, picture).rows if row.row.slug == slug), None)
    if found is None:
        raise NotFound("not_found", _("There is no node group of this name on this cluster."))
    return GroupDetail(found, telling(picture, found.nodes))


def open_proposals() -> dict[str, int]:
    """How many groups wait for a word, by the slug of their cluster; one query."""
    rows = GroupProposal.objects.filter(is_aside=False).order_by().values_list("cluster__slug", flat=True)
    return dict(Counter(rows))


def _view(cluster: Cluster, picture: Picture) -> GroupsView:
    decided = picture.decided()
    proposed = picture.proposed(decided)
    observed = _observed(cluster)
    open_ones = [row for row in picture.proposals.values() if not row.is_aside]
    asides = [row for row in picture.proposals.values() if row.is_aside]

    def row_of(row: NodeGroup | GroupProposal, state: str, nodes: frozenset[str]) -> GroupRow:
        names = tuple(sorted(nodes))
        return GroupRow(row, state, names, picture.cards(names), picture.held(names), picture.physical(names))

    return GroupsView(
        cluster=cluster,
        proposed=tuple(row_of(row, PROPOSED, proposed.members(row.slug)) for row in open_ones),
        confirmed=tuple(
            row_of(row, CONFIRMED, frozenset(observed.get(row.slug, ()))) for row in picture.groups.values()
        ),
        aside=tuple(row_of(row, ASIDE, decided.members(row.slug)) for row in asides),
        contested=tuple(
            Contested(node, tuple(picture.title(slug) for slug in slugs))
            for node, slugs in sorted(decided.contested.items())
        ),
        has_labels=cluster.kind == CONNECTED_KIND,
    )


def _observed(cluster: Cluster) -> dict[str, list[str]]:
    """Nodes of the confirmed groups as they count everywhere else."""
    found: dict[str, list[str]] = {}
    rows = Node.objects.filter(cluster=cluster).exclude(group=None).values_list("group__slug", "name")
    for slug, name in rows:
        found.setdefault(slug, []).append(name)
    return found
