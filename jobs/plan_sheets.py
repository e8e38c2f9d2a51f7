"""The editor of a plan in sheets that a person can read: some node groups with their teams, narrowed as asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import QueryDict

from quotas.selectors.sheets import cut, sheet_of


@dataclass(frozen=True, slots=True)
class Narrowed:
    """What of a plan somebody wants to see: one node group or all (empty), teams whose name has a text, and a sheet."""

    group: str = ""
    team: str = ""
    page: str = ""

    @classmethod
    def of(cls, query: QueryDict) -> Narrowed:
        return cls(query.get("group", ""), query.get("team", "").strip()[:100], query.get("page", ""))

    def address(self, page: int | None = None) -> str:
        """As the end of an address, for this sheet or another one."""
        found = {"group": self.group, "team": self.team, "page": str(page) if page else self.page}
        return f"?{urlencode({name: value for name, value in found.items() if value})}"


@dataclass(frozen=True, slots=True)
class PlanSheet:
    """The queues of each node group on it, in the order of names, and where it stands among the others."""

    queues: Mapping[str, list[str]]
    number: int
    count: int


def plan_sheet(titles: Mapping[str, str], teams: Mapping[str, str], asked: Narrowed) -> PlanSheet:
    """The sheet that is asked for. ``titles`` are node groups and ``teams`` queues, both in their order, with names."""
    groups = [slug for slug in titles if not asked.group or slug == asked.group]
    queues = [slug for slug, name in teams.items() if asked.team.casefold() in name.casefold()]
    sheets = cut((place, range(len(queues))) for place in range(len(groups)))
    number = sheet_of(sheets, asked.page)
    sheet = sheets[number - 1]
    shown = [queue for place, queue in enumerate(queues) if sheet.teams is None or place in sheet.teams]
    return PlanSheet({groups[place]: shown for place in sheet.groups}, number, len(sheets))
