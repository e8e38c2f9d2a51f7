"""`python -m tests.benchmarks [name…]`: run all benchmarks or some, print one table."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from tests.benchmarks.measure import Row, machine_unit, table

BENCHMARKS = ("cold", "memory", "live", "writes")


def main() -> None:
    from tests.benchmarks.database import durable_database

    with durable_database() as url:
        os.environ["DATABASE_URL"] = url
        os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings.test"
        os.environ["SLUICE_CLUSTER_ADDRESSES"] = "127.0.0.0/8"
        rows = list(run(sys.argv[1:] or BENCHMARKS))
    sys.stdout.write(f"\n{table(rows)}\n\nMachine unit: {machine_unit():.2f} s\n")


def run(names: Iterator[str]) -> Iterator[Row]:
    import importlib

    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    for name in names:
        for row in importlib.import_module(f"tests.benchmarks.{name}").rows():
            sys.stderr.write(f"{row}\n")
            yield row


if __name__ == "__main__":
    main()
