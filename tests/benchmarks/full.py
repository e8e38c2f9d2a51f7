"""What is measured with ten thousand live jobs and a million that have ended: B5, B11b, B13b."""

from __future__ import annotations

from collections.abc import Iterator

from tests.benchmarks import pages, whole
from tests.benchmarks.filled import filled
from tests.benchmarks.measure import Row

FEW, MANY = (100, 1_000), (10_000, 1_000_000)
"""Live jobs, and those that have ended."""


def rows() -> Iterator[Row]:
    with filled(*FEW) as few, filled(*MANY) as many:
        yield from pages.rows_of(few, many)
        if not pages.ONLY:
            yield from whole.rows_of(many)
