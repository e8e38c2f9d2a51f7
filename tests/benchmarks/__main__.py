"""`python -m tests.benchmarks [--write] [name…]`: run all benchmarks or some, and print one table.

With ``--write`` the table of a whole run replaces the one in docs/benchmarks.md and its Chinese twin.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.benchmarks.database import durable_database
from tests.benchmarks.measure import Row, machine_unit, table

BENCHMARKS = ("cold", "memory", "live", "writes")
DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("benchmarks.md", "benchmarks.zh-CN.md")
BEGIN, END = "<!-- table -->", "<!-- end of table -->"


def main() -> None:
    words = sys.argv[1:]
    chosen = [word for word in words if word != "--write"]
    with durable_database() as url:
        os.environ |= {
            "DATABASE_URL": url,
            "DJANGO_SETTINGS_MODULE": "console.settings.test",
            "SLUICE_CLUSTER_ADDRESSES": "127.0.0.0/8",
        }
        rows = list(run(chosen or BENCHMARKS))
    unit = f"Machine unit: {machine_unit():.2f} s."
    sys.stdout.write(f"\n{table(rows)}\n\n{unit}\n")
    if "--write" in words and not chosen:
        for page in PAGES:
            write(DOCS / page, f"{table(rows)}\n\n{unit}")


def run(names: Sequence[str]) -> Iterator[Row]:
    """Rows as they are measured; each is also told at once."""
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    for name in names:
        for row in importlib.import_module(f"tests.benchmarks.{name}").rows():
            sys.stderr.write(f"{row.number} {row.what}\n    {row.ours} against {row.reference}: {row.ratio}\n")
            yield row


def write(page: Path, text: str) -> None:
    """Put a table in the place of the one that stands on the page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
