"""B11a: the memory of a watcher that mirrors 10,000 jobs, in a process of its own."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator

import psutil

from tests.benchmarks.measure import Row

JOBS = 10_000


def rows() -> Iterator[Row]:
    command = [sys.executable, "-m", "tests.benchmarks.memory"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": ".:platform"}, capture_output=True, check=True)
    raw, grown = map(int, done.stdout.split())
    ratio = grown / raw
    what = f"memory of a watcher's mirror of {JOBS:,} jobs; reference: the bytes that it was told"
    yield Row("B11a", what, f"{grown / 1e6:.0f} MB", f"{raw / 1e6:.0f} MB", f"{ratio:.2f}", "<= 3", ratio <= 3)


def main() -> None:
    """Print the raw bytes and how much the process has grown by holding them as the watcher does."""
    import django

    django.setup()
    from clusters.backends.kueue_volcano.lists import FOLLOWED, list_all
    from clusters.backends.kueue_volcano.snapshot import Snapshot
    from tests.benchmarks import crowd
    from tests.benchmarks.cold import size
    from tests.benchmarks.prepared import prepared_server

    with prepared_server(JOBS) as server:
        client = server.client()
        client.get("/readyz")
        gc.collect()
        before = psutil.Process().memory_info().rss
        snapshot = Snapshot(crowd.INSTALLATION)
        for followed in FOLLOWED:
            snapshot.replace(followed.kind, list_all(client, followed, crowd.INSTALLATION).items)
        assert len(snapshot.observed()) == JOBS
        gc.collect()
        grown = psutil.Process().memory_info().rss - before
        sys.stdout.write(f"{size(server)} {grown}\n")


if __name__ == "__main__":
    main()
