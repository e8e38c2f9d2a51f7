"""The fault points as the source names them, so that none can be added without a story that dies there."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path

from jobs.domain.moves import Effect
from jobs.domain.operations import Operation

ROOT = Path(__file__).resolve().parents[2]
APPS = ("accounts", "clusters", "jobs", "quotas", "platform/console")
REAL = ROOT / "clusters/backends/kueue_volcano"
"""Its points are reached on a real cluster only: tests/controlplane/test_crashes.py."""

_PLACEHOLDERS: dict[str, type[StrEnum]] = {"operation.value": Operation, "effect.value": Effect}
"""What stands in braces in the name of a point, and which words can stand there."""


def points_in_source() -> frozenset[str]:
    """Every name that `common.faults.reach` is called with, outside real clusters."""
    names: set[str] = set()
    for app in APPS:
        for path in (ROOT / app).rglob("*.py"):
            text = path.read_text()
            if "reach(" in text and not path.is_relative_to(REAL):
                names.update(_names(ast.parse(text)))
    return frozenset(names)


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "reach":
            yield from _expand(node.args[0])


def _expand(argument: ast.expr) -> Iterable[str]:
    if isinstance(argument, ast.Constant):
        return [str(argument.value)]
    assert isinstance(argument, ast.JoinedStr), ast.dump(argument)
    variants = [""]
    for part in argument.values:
        if isinstance(part, ast.Constant):
            words = [str(part.value)]
        else:
            assert isinstance(part, ast.FormattedValue)
            words = [word.value for word in _PLACEHOLDERS[ast.unparse(part.value)]]
        variants = [variant + word for variant in variants for word in words]
    return variants
