"""`python -m tests.benchmarks.overhead`: CPU seconds of a list of 200 jobs, our way and the barest way."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

JOBS, ROUNDS, REPEATS = 200, 9, 5


def main() -> None:
    import django

    django.setup()
    import msgspec

    from accounts.actors import actor_of
    from accounts.models import User
    from common.pages import keyset_page
    from common.renderers import JsonRenderer
    from jobs import selectors
    from jobs.api import schemas
    from jobs.listing import jobs_listed

    viewer = actor_of(User.objects.get(username="eng-vision-1"))
    filters = selectors.JobFilters()
    render = JsonRenderer().render
    encode = msgspec.json.Encoder().encode
    columns = [
        *("public_id", "display_name", "state", "is_held", "is_stopping", "is_degraded", "reason_code"),
        *("reason_facts", "reason_since", "state_since", "framework", "image", "kind", "priority", "cards", "pods"),
        *("cards_per_pod", "group__title", "team__slug", "local_queue__slug", "cluster__slug", "owner__username"),
        *("attempt_no", "submitted_at", "started_at", "ended_at", "rests_until", "is_demo", "acted_by__username"),
    ]

    def ours() -> bytes:
        page = keyset_page(selectors.job_rows(viewer=viewer, filters=filters), None, size=JOBS, read=jobs_listed)
        reasons = selectors.reasons_of(viewer, page.rows)
        return bytes(render([schemas.job_body(job, reasons[job.pk]) for job in page.rows]))

    def bare() -> bytes:
        rows = selectors.job_rows(viewer=viewer, filters=filters).order_by("-submitted_at", "-id")[:JOBS]
        return encode(list(rows.values_list(*columns)))

    assert len(json.loads(ours())) == len(json.loads(bare())) == JOBS
    times: dict[Callable[[], bytes], list[float]] = {ours: [], bare: []}
    for _ in range(ROUNDS):
        for side, taken in times.items():
            begun = time.process_time()
            for _ in range(REPEATS):
                side()
            taken.append((time.process_time() - begun) / REPEATS)
    sys.stdout.write(json.dumps(list(times.values())))


if __name__ == "__main__":
    main()
