"""`python -m tests.benchmarks [--write] [--renew] [part…]`: run all benchmarks or some, and print one table.

With ``--write`` the rows replace those of the same number in docs/benchmarks.md and its Chinese twin; the others stay.
With ``--renew`` everything is run five times, and new gates are derived (gates.py). Without it a row that misses its
gate is named, and the exit code is 1.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from tests.benchmarks import gates, table
from tests.benchmarks.database import durable_servers
from tests.benchmarks.measure import Row, machine_unit

PARTS = (
    "cold",
    "memory",
    "live",
    "writes",
    "single",
    "full",
    "crash",
    "dispatch",
    "quota_pages",
    "nodes_pages",
    "zero",
)
DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("benchmarks.md", "benchmarks.zh-CN.md")


def main() -> int:
    words = sys.argv[1:]
    parts = [word for word in words if not word.startswith("--")] or list(PARTS)
    if unknown := sorted(set(parts) - set(PARTS)):
        sys.stderr.write(f"There is no part {', '.join(unknown)}; there are {', '.join(PARTS)}.\n")
        return 2
    renew = "--renew" in words
    with durable_servers() as servers:
        os.environ |= {
            "DATABASE_URL": servers.database_url,
            "DJANGO_SETTINGS_MODULE": "console.settings.test",
            "SLUICE_CLUSTER_ADDRESSES": "127.0.0.0/8",
        }
        runs = run(parts, gates.RUNS if renew else 1)
    rows, unit = runs[-1], f"{machine_unit():.2f} s"
    sys.stdout.write(f"\n{table.text(rows)}\n\nMachine unit: {unit}.\n")
    if "--write" in words:
        for page in PAGES:
            table.write(DOCS / page, rows, unit)
    if renew:
        gates.write(gates.read() | gates.derived(runs))
        return 0
    failures = gates.failures(rows, gates.read())
    for failure in failures:
        sys.stderr.write(f"Gate missed: {failure}\n")
    return 1 if failures else 0


def run(parts: Sequence[str], times: int) -> list[list[Row]]:
    """The rows of each of so many runs; each row is also told as it is measured."""
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    runs: list[list[Row]] = [[] for _ in range(times)]
    for part in parts:
        with _prepared(importlib.import_module(f"tests.benchmarks.{part}")) as rows:
            for found in runs:
                for row in rows():
                    sys.stderr.write(f"{row.number} {row.what}\n    {row.ours} against {row.reference}: {row.ratio}\n")
                    found.append(row)
    return runs


def _prepared(part: Any) -> AbstractContextManager[Callable[[], Iterator[Row]]]:
    """What gives the rows of a part, as often as it is called. Most parts begin anew each time; one that has
    ``prepared`` does so once.
    """
    found: AbstractContextManager[Callable[[], Iterator[Row]]]
    found = part.prepared() if hasattr(part, "prepared") else nullcontext(part.rows)
    return found


if __name__ == "__main__":
    sys.exit(main())
