"""Rows of nodes and groups as the matching of labels wants them."""

from __future__ import annotations

from collections.abc import Iterable

from clusters.contract import SharingMode
from clusters.domain.accelerators import is_known
from clusters.domain.membership import Claim, Described, Selector
from clusters.group_models import GroupTraits


def sharing_of_group(row: GroupTraits) -> SharingMode | None:
    """How its members' cards are shared. None for cards that no catalogue knows: an admin may say so later."""
    return SharingMode(row.sharing) if is_known(row.resource) else None


def selector_of_group(row: GroupTraits) -> Selector:
    return tuple(sorted(row.selector.items()))


def claim_of(row: GroupTraits) -> Claim:
    return Claim(row.slug, row.resource, selector_of_group(row), sharing_of_group(row))


def described_rows(rows: Iterable[tuple[str, dict[str, str], list[list[str]]]]) -> list[Described]:
    """From ``name``, ``labels`` and ``offers`` of nodes."""
    return [
        Described(name, labels, {resource: SharingMode(mode) for resource, mode in offers})
        for name, labels, offers in rows
    ]
