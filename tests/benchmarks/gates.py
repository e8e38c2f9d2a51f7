"""What a later run is held to: the mean of five runs and a fifth more, or less where more is better.

gates.json holds the runs of each gauge; the bound follows from them. A gauge is a ratio or a size wherever there is
one, because the machines that run this are never quite idle.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.measure import Row

FILE = Path(__file__).with_name("gates.json")
RUNS = 5
MARGIN = 0.2


@dataclass(frozen=True)
class Gate:
    """``more_is_better``: a speed; otherwise a time, a size or a ratio of them."""

    runs: tuple[float, ...]
    more_is_better: bool

    @property
    def bound(self) -> float:
        mean = statistics.fmean(self.runs)
        return mean * (1 - MARGIN) if self.more_is_better else mean * (1 + MARGIN)

    def holds(self, value: float) -> bool:
        return value >= self.bound if self.more_is_better else value <= self.bound

    def __str__(self) -> str:
        return f"{'>=' if self.more_is_better else '<='} {self.bound:.2f}"


def read(file: Path = FILE) -> dict[str, Gate]:
    """By number of the row."""
    if not file.exists():
        return {}
    return {
        number: Gate(tuple(each["runs"]), each["more_is_better"])
        for number, each in json.loads(file.read_text(encoding="utf-8")).items()
    }


def write(gates: Mapping[str, Gate], file: Path = FILE) -> None:
    told = {
        number: {"runs": [round(value, 3) for value in gate.runs], "more_is_better": gate.more_is_better}
        for number, gate in sorted(gates.items())
    }
    file.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


def derived(runs: Sequence[Sequence[Row]]) -> dict[str, Gate]:
    """From whole runs of the same benchmarks."""
    found: dict[str, list[Row]] = {}
    for rows in runs:
        for row in rows:
            if row.gauge is not None:
                found.setdefault(row.number, []).append(row)
    return {
        number: Gate(tuple(row.gauge for row in rows if row.gauge is not None), rows[0].goal.startswith(">="))
        for number, rows in found.items()
    }


def failures(rows: Iterable[Row], gates: Mapping[str, Gate]) -> list[str]:
    """One line for each gate that does not hold."""
    return [
        f"{row.number} {row.gauge:.2f}, and its gate is {gates[row.number]}: {row.what}"
        for row in rows
        if row.gauge is not None and row.number in gates and not gates[row.number].holds(row.gauge)
    ]
