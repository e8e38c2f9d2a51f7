"""Whose a found queue may be."""

from __future__ import annotations

import pytest

from quotas.domain.likeness import proposed_team

TEAMS = {"vision": "Vision", "language": "Language Models", "robotics": "Robotics", "rob": "Rob"}


@pytest.mark.parametrize(
    ("queue", "spaces", "team"),
    [
        ("vision-gpu-queue", (), "vision"),
        ("cq-lang", (), "language"),
        ("models_prod", (), "language"),
        ("shared", ("team-robotics",), "robotics"),
        ("cluster-queue", ("default",), ""),
        ("vision-language", (), ""),
        ("vi", (), ""),
        ("", (), ""),
    ],
)
def test_a_team_is_proposed_by_names_that_are_alike_and_only_where_it_is_one(
    queue: str, spaces: tuple[str, ...], team: str
) -> None:
    assert proposed_team(queue, spaces, TEAMS) == team


def test_without_teams_nobody_is_proposed() -> None:
    assert proposed_team("vision", (), {}) == ""
