"""Single fields of submit that need no database: what is made of them, and the problem otherwise."""

from __future__ import annotations

import pytest

from jobs.services.fields import Checks, command_field, env_field, name_field

HALF = "\ud800"  # half of a surrogate pair: JSON can carry it, no store can


def codes(checks: Checks) -> list[tuple[str, str]]:
    return [(problem.attr, problem.code) for problem in checks.problems]


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("registry.example:5000/team/bert:1.0", "bert"),
        ("registry.example/bert@sha256:" + "0" * 64, "bert"),
        ("bert", "bert"),
        ("", "job"),
        ("registry.example/" + "a" * 400, "a" * 300),
    ],
)
def test_a_job_without_a_name_is_called_like_its_image(image: str, name: str) -> None:
    checks = Checks({})
    assert name_field(checks, image) == name
    assert codes(checks) == []


@pytest.mark.parametrize("typed", ["  ", "\u3000", "\u200b", "\x00"])
def test_a_name_of_which_nothing_can_be_seen_is_refused(typed: str) -> None:
    checks = Checks({"name": typed})
    name_field(checks, "bert")
    assert codes(checks) == [("name", "blank")]


def test_half_a_character_is_left_out_of_a_name() -> None:
    checks = Checks({"name": f"bert{HALF}"})
    assert name_field(checks, "bert") == "bert"
    assert codes(checks) == []


@pytest.mark.parametrize(("text", "code"), [("sleep 1\x00", "nul"), (f"echo {HALF}", "half_character")])
def test_a_command_that_cannot_be_stored_is_refused(text: str, code: str) -> None:
    checks = Checks({"command": text})
    command_field(checks)
    assert codes(checks) == [("command", code)]


@pytest.mark.parametrize(("value", "code"), [("a\x00", "nul"), (HALF, "half_character")])
def test_an_environment_that_cannot_be_stored_is_refused(value: str, code: str) -> None:
    checks = Checks({"env": {"MODE": value}})
    assert env_field(checks) == {}
    assert codes(checks) == [("env", code)]
