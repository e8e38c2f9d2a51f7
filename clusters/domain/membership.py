"""Which nodes are members of which group, by their labels. Pure.

A group claims the nodes that carry all labels of its selector and report cards of its resource, shared its way. A node
that two groups claim is in neither: a job of the one could get a node of the other, and only a person knows whose it
is. What nobody claims is proposed as groups that no label of a claim could mix up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from clusters.contract import SharingMode
from clusters.domain.accelerators import promised

Selector = tuple[tuple[str, str], ...]
"""Labels that a node must carry, sorted by key."""

LABELS_MAX = 200
_SAYS_NOTHING = (  # of what the cards of a node are; large clusters carry many of them
    "beta.kubernetes.io/",
    "feature.node.kubernetes.io/cpu-",
    "feature.node.kubernetes.io/kernel-",
    "feature.node.kubernetes.io/system-",
)


@dataclass(frozen=True, slots=True)
class Described:
    """A node as far as its membership goes. ``offers``: resources of cards it reports and how each is shared, best
    first; empty where its driver is broken.
    """

    name: str
    labels: Mapping[str, str]
    offers: Mapping[str, SharingMode]


@dataclass(frozen=True, slots=True)
class Claim:
    """What makes a node a member. ``sharing`` None: however the cards are shared."""

    slug: str
    resource: str
    selector: Selector
    sharing: SharingMode | None = None


@dataclass(frozen=True, slots=True)
class Membership:
    """``groups``: node -> slug of its only claim; ``contested``: node -> the slugs of those that claim it."""

    groups: Mapping[str, str]
    contested: Mapping[str, tuple[str, ...]]

    def members(self, slug: str) -> frozenset[str]:
        return frozenset(name for name, group in self.groups.items() if group == slug)


def membership(nodes: Iterable[Described], claims: Sequence[Claim]) -> Membership:
    """Every node in one group at most, whatever the order of nodes and claims."""
    groups, contested = {}, {}
    for node in nodes:
        slugs = claims_on(node, claims)
        if len(slugs) == 1:
            groups[node.name] = slugs[0]
        elif slugs:
            contested[node.name] = slugs
    return Membership(groups, contested)


def claims_on(node: Described, claims: Iterable[Claim]) -> tuple[str, ...]:
    """Slugs of the claims on a node, sorted. Where it offers whole cards and slices, those on the better count."""
    fitting = [claim for claim in claims if _fits(node, claim)]
    if len(fitting) > 1:
        promise = promised(node.labels)
        for resource in (*node.offers, *((promise[0],) if promise is not None else ())):
            if better := [claim for claim in fitting if claim.resource == resource]:
                fitting = better
                break
    return tuple(sorted(claim.slug for claim in fitting))


def _fits(node: Described, claim: Claim) -> bool:
    if not carries(node.labels, claim.selector):
        return False
    if not node.offers:  # its driver is broken: its labels alone say whose it is
        return bool(claim.selector)
    return claim.resource in node.offers and claim.sharing in (None, node.offers[claim.resource])


def carries(labels: Mapping[str, str], selector: Selector) -> bool:
    return all(labels.get(key) == value for key, value in selector)


def are_disjoint(one: Selector, other: Selector) -> bool:
    """Whether no node can carry both: some label must have two different values."""
    values = dict(other)
    return any(key in values and values[key] != value for key, value in one)


def set_apart(base: Selector, resource: str, labels: Mapping[str, str], claims: Iterable[Claim]) -> Selector:
    """``base`` and, of the labels by which overlapping claims choose their nodes, those that this node carries too."""
    keys = {
        key
        for claim in claims
        if claim.resource == resource and not are_disjoint(base, claim.selector)
        for key, _value in claim.selector
    }
    return tuple(sorted({**{key: labels[key] for key in keys if key in labels}, **dict(base)}.items()))


def telling_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """The labels by which an admin may choose nodes."""
    kept = ((key, value) for key, value in sorted(labels.items()) if not key.startswith(_SAYS_NOTHING))
    return dict(list(kept)[:LABELS_MAX])


def label_values(nodes: Iterable[Described]) -> dict[str, dict[str, int]]:
    """How many nodes carry which value of which label; those that name one node each are left out."""
    counts: defaultdict[str, dict[str, int]] = defaultdict(dict)
    total = 0
    for node in nodes:
        total += 1
        for key, value in node.labels.items():
            counts[key][value] = counts[key].get(value, 0) + 1
    return {
        key: dict(sorted(values.items()))
        for key, values in sorted(counts.items())
        if len(values) < total or total == 1 or len(values) == 1
    }
