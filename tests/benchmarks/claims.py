"""`python -m tests.benchmarks.claims JOBS`: seconds in which as many due jobs are claimed, in a sweep's batches."""

from __future__ import annotations

import sys
import time


def main(jobs: int) -> None:
    import django

    django.setup()
    from django.conf import settings
    from django.utils import timezone

    from clusters.models import Cluster
    from jobs.models import JobSync
    from jobs.reconcile.claims import claim_due

    Cluster.objects.update(rest_until=None)  # jobs of a cluster that rests are not claimed
    live = JobSync.objects.filter(job__state__in=("queued", "creating", "running", "retrying"))
    JobSync.objects.update(due_at=None, token="", lease_until=None)
    live.update(due_at=timezone.now())
    claimed: set[int] = set()
    begun = time.perf_counter()
    while batch := claim_due(timezone.now(), settings.SLUICE["SWEEP_BATCH"]).job_ids:
        assert claimed.isdisjoint(batch)
        claimed.update(batch)
    seconds = time.perf_counter() - begun
    assert len(claimed) == jobs, len(claimed)
    sys.stdout.write(f"{seconds}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
