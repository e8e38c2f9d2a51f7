"""The quota table is cut into sheets without losing or repeating a row."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from quotas.selectors.sheets import cut, sheet_of

GROUPS = st.lists(st.integers(0, 30), max_size=12).map(
    lambda sizes: [(100 + number, list(range(size))) for number, size in enumerate(sizes)]
)


@given(GROUPS, st.integers(1, 12))
def test_every_team_of_every_group_is_on_one_sheet_and_none_is_too_long(
    groups: list[tuple[int, list[int]]], rows: int
) -> None:
    sheets = cut(groups, rows)
    sizes = dict(groups)
    seen: list[tuple[int, int]] = []
    for sheet in sheets:
        shown = [
            (group, team)
            for group in sheet.groups
            for team in sizes[group]
            if sheet.teams is None or team in sheet.teams
        ]
        assert len(shown) <= rows
        seen += shown
    assert seen == [(group, team) for group, teams in groups for team in teams]
    assert sheets and {group for sheet in sheets for group in sheet.groups} == set(sizes)


@given(st.text(max_size=12) | st.none(), st.integers(0, 5))
def test_whatever_page_is_asked_for_there_is_one(asked: str | None, groups: int) -> None:
    sheets = cut([(number, [1]) for number in range(groups)], 1)
    assert 1 <= sheet_of(sheets, asked) <= len(sheets)
