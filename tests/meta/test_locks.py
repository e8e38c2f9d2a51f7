"""What is installed: every package by hash, from nowhere in particular, and each for a written reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ("requirements.lock", "requirements-dev.lock", "deploy/bootstrap.lock")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def entries(lock: str) -> list[str]:
    """One text per requirement, with its hashes."""
    text = re.sub(r"\\\n\s*", " ", (ROOT / lock).read_text(encoding="utf-8"))
    return [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]


def pinned(lock: str) -> dict[str, str]:
    """Version and marker by package."""
    pins = {}
    for entry in entries(lock):
        requirement = Requirement(HASH.sub("", entry).strip())
        pins[canonicalize_name(requirement.name)] = f"{requirement.specifier} {requirement.marker or ''}"
    return pins


def named(source: str) -> set[str]:
    """The packages that a file of wishes names itself."""
    lines = (ROOT / source).read_text(encoding="utf-8").splitlines()
    wishes = [line.split("#")[0].strip() for line in lines]
    return {canonicalize_name(Requirement(wish).name) for wish in wishes if wish and not wish.startswith("-r")}


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_address(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert not re.search(r"://|--(extra-)?index-url|--find-links| @ ", text)


@pytest.mark.parametrize("lock", LOCKS)
def test_every_requirement_is_pinned_and_hashed(lock: str) -> None:
    assert entries(lock)
    for entry in entries(lock):
        assert HASH.search(entry), entry
        assert [spec.operator for spec in Requirement(HASH.sub("", entry).strip()).specifier] == ["=="], entry


def test_the_lock_of_development_holds_the_whole_lock_of_production() -> None:
    production, development = pinned("requirements.lock"), pinned("requirements-dev.lock")
    assert {name: development.get(name) for name in production} == production


@pytest.mark.parametrize(
    ("source", "lock"), [("requirements.in", "requirements.lock"), ("requirements-dev.in", "requirements-dev.lock")]
)
def test_every_wish_is_locked(source: str, lock: str) -> None:
    assert named(source) <= set(pinned(lock))


@pytest.mark.parametrize("page", ["docs/dependencies.md", "docs/dependencies.zh-CN.md"])
def test_every_package_of_production_has_a_written_reason_and_no_other(page: str) -> None:
    rows = re.findall(r"^\| (\S+) \| (.+) \|$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    reasons = {canonicalize_name(name): reason.strip() for name, reason in rows[2:]}  # after the head and its line
    assert set(reasons) == named("requirements.in")
    assert all(reasons.values())
