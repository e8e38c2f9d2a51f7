"""The table of rows as Markdown, and how a new run takes the place of an earlier one on a page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.measure import Row

BEGIN, END = "<!-- table -->", "<!-- end of table -->"
HEAD = ("| | Measure | Ours | Reference | Ratio | Goal | Met |", "|---|---|---|---|---|---|---|")
WORDS = {True: "yes", False: "no", None: ""}


def text(rows: Sequence[Row]) -> str:
    return "\n".join((*HEAD, *map(_line, rows)))


def _line(row: Row) -> str:
    cells = (row.number, row.what, row.ours, row.reference, row.ratio, row.goal, WORDS[row.met])
    return f"| {' | '.join(cells)} |"


def write(page: Path, rows: Sequence[Row], unit: str) -> None:
    """Rows of the same number are replaced, the others stay; in the order of their numbers."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    old, _, after = rest.partition(END)
    groups = _by_number(old.splitlines()) | _by_number([_line(row) for row in rows])
    lines = [line for number in sorted(groups, key=_order) for line in groups[number]]
    body = "\n".join((*HEAD, *lines))
    page.write_text(f"{before}{BEGIN}\n{body}\n\nMachine unit: {unit}.\n{END}{after}", encoding="utf-8")


def _by_number(lines: Sequence[str]) -> dict[str, list[str]]:
    """Lines of the table by number; those without one go with the line before them."""
    groups: dict[str, list[str]] = {}
    number = ""
    for line in lines:
        if not line.startswith("| ") or line in HEAD:
            continue
        number = line.split("|")[1].strip() or number
        groups.setdefault(number, []).append(line)
    return groups


def _order(number: str) -> tuple[int, str]:
    """B5a before B13a."""
    found = re.match(r"B(\d+)(.*)", number)
    assert found is not None, number
    return int(found[1]), found[2]
