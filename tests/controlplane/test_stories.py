"""Stories of jobs through API and worker on the real schedulers."""

from __future__ import annotations

import pytest

from jobs.models import Job
from tests.controlplane.console import Console, open_console
from tests.controlplane.plane import Plane

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def console(plane: Plane, transactional_db: None) -> Console:
    return open_console(plane)


def test_a_gang_runs_whole_and_succeeds(console: Console) -> None:
    job = console.submit(cards=16)
    assert (job.pods, job.cards_per_pod) == (2, 8)
    console.until(job, "running", "running")
    assert len(console.pods(job)) == 2
    console.exit_pods(job)
    done = console.until(job, "succeeded", "completed")
    run = done.attempts.get().runs.get()
    assert run.cards == 16 and len(run.nodes) == 2 and run.end_cause == "succeeded"
    console.until_true(lambda: not any(console.held_quota().values()), "quota is given back")
    assert Job.objects.count() == 1
