"""docs/faults.md names a test for every fault, or says that there is none yet; each test it names exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("docs/faults.md", "docs/faults.zh-CN.md")
NONE_YET = {"docs/faults.md": "not yet", "docs/faults.zh-CN.md": "尚无"}
FAULTS = [f"R{number}" for number in range(1, 32)]
_ROW = re.compile(r"^\| (R\d+) \|.*\| (.*) \|$", re.MULTILINE)
_TEST = re.compile(r"`(tests/[^`:]+\.py)(?:::(test_\w+))?`")


def _rows(page: str) -> dict[str, str]:
    """The last column by fault."""
    return dict(_ROW.findall((ROOT / page).read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES)
def test_every_fault_has_a_test_or_the_honest_word(page: str) -> None:
    rows = _rows(page)
    assert list(rows) == FAULTS
    for fault, tests in rows.items():
        assert _TEST.search(tests) or NONE_YET[page] in tests, fault


def test_every_test_that_is_named_exists() -> None:
    for fault, tests in _rows(PAGES[0]).items():
        for path, name in _TEST.findall(tests):
            tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
            functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
            assert name in functions if name else any(f.startswith("test_") for f in functions), (fault, path, name)


def test_both_languages_name_the_same_tests() -> None:
    english, chinese = ({fault: _TEST.findall(tests) for fault, tests in _rows(page).items()} for page in PAGES)
    assert english == chinese
