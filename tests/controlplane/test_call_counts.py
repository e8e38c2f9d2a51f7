"""What the console costs an API server: two creates and one delete in the life of a job, and no list beside the looks.

A look lists every followed kind once. Everything else is told by watches.
"""

from __future__ import annotations

from collections import Counter

import pytest

from clusters.backends.kueue_volcano import mirror
from clusters.backends.kueue_volcano.lists import FOLLOWED
from jobs.models import Attempt, Job
from jobs.reconcile.loop import sweep
from tests.controlplane.audit import Call
from tests.controlplane.console import Console
from tests.controlplane.test_stories_watch import wait, watching, work_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.every_kueue]

JOBS, PODS = 2, 2  # all cards there are


def live(console: Console, jobs: list[Job]) -> None:
    """Queued, running, ended, logs read, objects cleared: by sweeps and the watcher alone."""
    for job in jobs:
        work_until(job, "running")
        console.exit_pods(job)
    for job in jobs:
        work_until(job, "succeeded")

    def all_are_cleared() -> bool:
        console.collect_logs()
        sweep()
        return not Attempt.objects.filter(released_at=None).exists()

    wait(all_are_cleared, "logs are read and objects cleared", 60)


def asked(console: Console, mark: int) -> list[Call]:
    return console.plane.audit.calls(mark, user=console.plane.user_of("runtime"))


def test_a_life_costs_two_creates_and_one_delete_and_no_list(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror, "ROUND_SECONDS", 3600.0)
    with watching(console):
        mark = console.plane.audit.mark()
        live(console, [console.submit(cards=8 * PODS, name=f"job {number}") for number in range(JOBS)])
        calls = asked(console, mark)
    counts = Counter((call.verb, call.kind) for call in calls)
    logs = counts.pop(("get", "pods/log"))
    assert counts.pop(("get", ""), 0) <= 2  # what is served: once in a round, in its turn after the lists
    assert counts == {("create", "jobs"): JOBS, ("create", "podgroups"): JOBS, ("delete", "jobs"): JOBS}
    assert {call.status for call in calls} == {200, 201}
    assert JOBS * PODS <= logs <= 2 * JOBS * PODS


def test_a_watcher_lists_each_kind_once_in_a_round_whatever_happens(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "ROUND_SECONDS", 5.0)
    mark = console.plane.audit.mark()
    with watching(console):
        live(console, [console.submit(cards=8)])
        wait(lambda: _rounds(asked(console, mark)) >= 3, "it has listed everything three times", 30)
        calls = asked(console, mark)
    watches = Counter(call.kind for call in calls if call.verb == "watch")
    assert watches == {followed.kind.plural: 1 for followed in FOLLOWED}
    lists = Counter(call.kind for call in calls if call.verb == "list")
    assert max(lists.values()) - min(lists.values()) <= 1 and lists.keys() == watches.keys()


def _rounds(calls: list[Call]) -> int:
    lists = Counter(call.kind for call in calls if call.verb == "list")
    return min((lists[followed.kind.plural] for followed in FOLLOWED), default=0)
