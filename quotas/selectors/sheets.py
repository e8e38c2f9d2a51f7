"""The quota table in sheets that a person can read: some whole node groups, or a part of the teams of a large one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clusters.models import NodeGroup
from quotas.models import TeamQueue

ROWS = 48
"""Of teams on one sheet; what a page costs follows from it, however many teams and groups there are."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """Keys of the groups on it, and of the teams whose rows it has; None = of all."""

    groups: tuple[int, ...]
    teams: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """On which sheet, counted from 1, a node group begins."""

    title: str
    cluster: str
    number: int


def quota_sheets() -> tuple[list[Sheet], list[Start]]:
    """All sheets, at least one, and where each group begins. Two queries."""
    teams: dict[int, list[int]] = defaultdict(list)
    for cluster, team in TeamQueue.objects.order_by("slug").values_list("cluster_id", "team_id"):
        teams[cluster].append(team)
    groups = NodeGroup.objects.order_by("cluster_id", "position", "slug")
    found = list(groups.values_list("pk", "cluster_id", "title", "cluster__name"))
    sheets = cut((pk, teams[cluster]) for pk, cluster, _title, _name in found)
    first: dict[int, int] = {}
    for number, sheet in enumerate(sheets, start=1):
        for pk in sheet.groups:
            first.setdefault(pk, number)
    return sheets, [Start(title, name, first[pk]) for pk, _cluster, title, name in found]


def cut(groups: Iterable[tuple[int, Sequence[int]]], rows: int = ROWS) -> list[Sheet]:
    """Sheets of at most so many rows. A group that is larger has its own ones; others stay whole."""
    sheets: list[Sheet] = []
    begun: list[int] = []
    left = rows
    for group, teams in groups:
        if begun and len(teams) > left:
            sheets.append(Sheet(tuple(begun)))
            begun, left = [], rows
        if len(teams) <= rows:
            begun.append(group)
            left -= len(teams)
        else:
            parts = (teams[at : at + rows] for at in range(0, len(teams), rows))
            sheets += [Sheet((group,), frozenset(part)) for part in parts]
    if begun or not sheets:
        sheets.append(Sheet(tuple(begun)))
    return sheets


def sheet_of(sheets: Sequence[Sheet], asked: str | None) -> int:
    """The number that was asked for, from 1; the nearest one there is."""
    number = int(asked) if asked and asked.isascii() and asked.isdecimal() and len(asked) < 9 else 1
    return max(1, min(number, len(sheets)))
