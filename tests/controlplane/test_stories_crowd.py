"""A hundred jobs at once on the real schedulers, and one that jumps the queue."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from jobs.models import Attempt, Job, JobEvent, JobSync, Run
from tests.controlplane.console import Console

pytestmark = pytest.mark.django_db(transaction=True)

CROWD, CARDS, AT_ONCE = 100, 2, 16
SPACE = "slu-vision-000000"


def end_what_runs(console: Console) -> None:
    """Every pod that runs at this moment ends well."""
    pods = [pod["metadata"]["name"] for pod in console.plane.pods(SPACE) if pod["status"].get("phase") == "Running"]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda pod: console.plane.exit_pod(SPACE, pod), pods))


def test_of_a_hundred_jobs_none_is_lost_or_made_twice_and_an_urgent_one_is_next(console: Console) -> None:
    console.shares(vision=100, language=0)
    mark = console.plane.audit.mark()
    for number in range(CROWD):
        console.submit(cards=CARDS, name=f"job {number}")
    console.until_true(
        lambda: Job.objects.filter(state="running").count() == AT_ONCE and JobSync.objects.filter(failures=0).count(),
        lambda: f"{Counter(Job.objects.values_list('state', flat=True))}",
    )
    urgent = console.submit("lead-vision", cards=CARDS, priority="urgent", priority_reason="a deadline", name="urgent")
    console.until(urgent, "running")
    (victim,) = console.until_true(
        lambda: list(Run.objects.filter(end_cause="higher_priority")), "it is told who gave way"
    )
    assert Run.objects.filter(started_at__isnull=False).count() == AT_ONCE + 1  # nobody else came in before it

    def all_ended() -> bool:
        end_what_runs(console)
        return not Job.objects.exclude(state="succeeded").exists()

    console.until_true(all_ended, lambda: f"{Counter(Job.objects.values_list('state', flat=True))}", seconds=240)
    calls = console.plane.audit.calls(mark, user=console.plane.user_of("runtime"))
    made = Counter((call.resource, call.name) for call in calls if call.verb == "create" and call.status == 201)
    names = set(Attempt.objects.values_list("object_name", flat=True))
    assert len(names) == CROWD + 1
    assert made == {(kind, name): 1 for kind in ("jobs", "podgroups") for name in names}
    assert Run.objects.count() == CROWD + 2  # the victim ran twice
    assert Run.objects.filter(attempt=victim.attempt).count() == 2
    assert JobEvent.objects.filter(code="completed").count() == CROWD + 1
    assert not JobSync.objects.exclude(last_error="", token="").exists()
    console.until_free()
