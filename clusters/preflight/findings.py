"""Short ways to say a finding. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from clusters.preflight.words import Finding, Problem, Verdict

OK = Finding(Verdict.OK)
NOT_READ = Finding(Verdict.UNKNOWN, Problem.NOT_READ)

_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")


def limited(problem: Problem, **facts: str | int) -> Finding:
    return Finding(Verdict.LIMITED, problem, facts)


def missing(problem: Problem, **facts: str | int) -> Finding:
    return Finding(Verdict.MISSING, problem, facts)


def listed(words: Iterable[str]) -> str:
    return ", ".join(sorted(words))


def parsed_version(text: str) -> tuple[int, ...] | None:
    """(1, 35, 4) of v1.35.4; None for what is no version."""
    found = _VERSION.match(text)
    return tuple(int(part) for part in found.groups() if part is not None) if found else None
