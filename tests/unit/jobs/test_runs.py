"""Runs follow from facts (decision 46; cases C-47 and C-48)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from clusters.contract import EvictionCause, Outcome, PodPhase, WorkloadFacts
from jobs.domain.runs import RunView, advance_runs, close_unseen, held_seconds
from tests.builders import (
    ADMITTED,
    CREATED,
    MINUTE,
    admitted,
    at,
    deleted,
    evicted,
    failed,
    pod,
    queued,
    running,
    service,
    succeeded,
)

Look = tuple[datetime, WorkloadFacts]


def seen(looks: Iterable[Look]) -> tuple[RunView, ...]:
    """The runs after these looks; every look is taken twice, the second must not change anything."""
    runs: tuple[RunView, ...] = ()
    for now, facts in looks:
        runs = advance_runs(runs, facts, now)
        assert advance_runs(runs, facts, now + timedelta(seconds=7)) == runs
    return runs


def minutes(since: datetime | None, until: datetime | None) -> float:
    assert since is not None and until is not None
    return (until - since) / MINUTE


# Queued 10:00, admitted 10:05, preempted 10:20, admitted 11:00, not ready, requeued 11:10, admitted 12:00, done 12:30.
PREEMPTED = evicted(at(10, 20))
SECOND = replace(
    PREEMPTED, admitted_at=at(11), reserved_at=at(11), scheduled_at=None, ready_at=None, released_at=at(10, 20)
)
GIVEN_UP = replace(
    SECOND,
    evicted_at=at(11, 10),
    queued_at=at(11, 10),
    evictions=2,
    eviction_cause=EvictionCause.NOT_READY,
    released_at=at(11, 10),
)
THIRD = replace(GIVEN_UP, admitted_at=at(12), scheduled_at=at(12), ready_at=at(12))
DONE = replace(THIRD, outcome=Outcome.SUCCEEDED, ended_at=at(12, 30), released_at=at(12, 30))
WHOLE_STORY: list[Look] = [
    (at(10, 1), queued()),
    (at(10, 6), running()),
    (at(10, 21), PREEMPTED),
    (at(11, 1), SECOND),
    (at(11, 11), GIVEN_UP),
    (at(12, 1), THIRD),
    (at(12, 31), DONE),
]


def test_a_job_preempted_and_requeued_is_one_attempt_of_three_runs_with_all_its_waits() -> None:
    """C-47: waits 5 + 40 + 50, cards held 15 + 10 + 30, of which 45 minutes running."""
    runs = seen(WHOLE_STORY)
    assert [run.ordinal for run in runs] == [1, 2, 3]
    assert [minutes(run.queued_at, run.admitted_at) for run in runs] == [5, 40, 50]
    assert [minutes(run.admitted_at, run.ended_at) for run in runs] == [15, 10, 30]
    assert held_seconds(runs, at(13)) == 55 * 60
    ran = sum(minutes(run.started_at, run.ended_at) for run in runs if run.started_at)
    assert ran == 45
    assert [run.end_cause for run in runs] == ["higher_priority", "not_ready", "succeeded"]
    assert sum(run.was_evicted for run in runs) == 2
    assert not any(run.times_are_bounds for run in runs)
    assert [run.released_at for run in runs] == [at(10, 20), at(11, 10), at(12, 30)]


def test_between_two_runs_nothing_is_held() -> None:
    """C-48: two periods of one hour on eight cards are sixteen card-hours, the gap between them is none."""
    first = admitted(at(9), ready_at=at(9), evicted_at=at(10), evictions=1, queued_at=at(10), created_at=at(9))
    second = replace(first, admitted_at=at(10, 30), ready_at=at(10, 30))
    done = replace(second, outcome=Outcome.SUCCEEDED, ended_at=at(11, 30))
    runs = seen([(at(10, 1), first), (at(10, 31), second), (at(11, 31), done)])
    assert sum(held_seconds([run], at(12)) * run.cards for run in runs) == 16 * 3600
    assert [run.cards for run in runs] == [8, 8]


def test_a_run_opens_when_the_attempt_enters_the_queue() -> None:
    (run,) = seen([(at(10, 1), queued())])
    assert run == RunView(ordinal=1, queued_at=CREATED)
    assert run.open and held_seconds([run], at(11)) == 0


def test_a_service_has_one_run_from_its_first_admitted_replica_until_none_is_left() -> None:
    """Whichever replica was admitted first, and however many there are now; without any it waits in a new run."""
    up = (replace(pod(1), started_at=at(10, 7)),)
    looks = [
        (at(10, 1), service(wanted=2)),
        (at(10, 8), service(wanted=2, pods=up, admitted_at=ADMITTED)),
        (at(10, 20), service(wanted=2, pods=up, admitted_at=at(10, 15))),  # the first one was preempted and came back
        (at(10, 30), service(wanted=2)),
        (at(10, 31), service(wanted=2)),
        (at(10, 45), service(PodPhase.PULLING, PodPhase.PULLING, admitted_at=at(10, 40))),
    ]
    first, second = seen(looks)
    assert (first.admitted_at, first.started_at, first.ended_at) == (ADMITTED, at(10, 7), at(10, 30))
    assert first.times_are_bounds and first.end_cause == "evicted"
    assert (second.ordinal, second.queued_at, second.admitted_at, second.open) == (2, at(10, 30), at(10, 40), True)


def test_an_object_that_says_nothing_opens_a_run_at_its_creation() -> None:
    (run,) = seen([(at(10, 1), WorkloadFacts(created_at=CREATED))])
    assert run.queued_at == CREATED


def test_admission_placement_and_start_fill_the_open_run() -> None:
    looks = [
        (at(10, 1), queued()),
        (at(10, 6), admitted()),
        (at(10, 7), admitted(phases=(PodPhase.PULLING,) * 2, scheduled_at=at(10, 6))),
        (at(10, 9), running(count=2, scheduled_at=at(10, 6), ready_at=at(10, 8))),
    ]
    (run,) = seen(looks)
    assert (run.admitted_at, run.scheduled_at, run.started_at) == (ADMITTED, at(10, 6), at(10, 8))
    assert (run.nodes, run.cards) == (("node-1", "node-2"), 16)
    assert held_seconds([run], at(10, 35)) == 30 * 60


def test_a_run_keeps_its_nodes_when_its_pods_are_gone() -> None:
    (run,) = seen([(at(10, 6), running()), (at(10, 31), succeeded(phases=()))])
    assert run.nodes == ("node-1",)


def test_a_job_that_came_and_went_between_two_looks_is_one_whole_run() -> None:
    (run,) = seen([(at(10, 31), succeeded())])
    assert (run.queued_at, run.admitted_at, run.ended_at, run.end_cause) == (
        CREATED,
        ADMITTED,
        at(10, 30),
        "succeeded",
    )


def test_a_preemption_and_the_next_admission_seen_in_one_look_are_two_runs() -> None:
    runs = seen([(at(10, 6), running()), (at(11, 1), SECOND)])
    assert [(run.admitted_at, run.ended_at) for run in runs] == [(ADMITTED, at(10, 20)), (at(11), None)]
    assert runs[0].released_at == at(10, 20)


def test_a_first_look_after_a_preemption_knows_both_admissions_only_as_far_as_the_facts_do() -> None:
    runs = seen([(at(11, 1), SECOND)])
    assert [(run.admitted_at, run.ended_at) for run in runs] == [(None, at(10, 20)), (at(11), None)]
    assert [run.times_are_bounds for run in runs] == [True, False]


def test_evictions_nobody_saw_become_runs_whose_times_are_bounds() -> None:
    jumped = replace(PREEMPTED, evictions=3, admitted_at=at(11), evicted_at=at(11, 30), queued_at=at(11, 30))
    runs = seen([(at(10, 6), running()), (at(11, 31), jumped)])
    assert [run.ordinal for run in runs] == [1, 2, 3, 4]
    assert [run.was_evicted for run in runs] == [True, True, True, False]
    assert [run.times_are_bounds for run in runs] == [True, True, True, False]
    assert (runs[2].admitted_at, runs[2].ended_at) == (at(11), at(11, 30))
    assert in_order(runs)


def in_order(runs: tuple[RunView, ...]) -> bool:
    times = [at for run in runs for at in (run.queued_at, run.admitted_at, run.ended_at) if at is not None]
    return times == sorted(times)


def test_a_jump_of_evictions_before_the_first_look_is_closed_in_order() -> None:
    jumped = replace(GIVEN_UP, evictions=4)
    runs = seen([(at(11, 11), jumped)])
    assert len(runs) == 5 and in_order(runs)
    assert [run.end_cause for run in runs] == ["evicted", "evicted", "evicted", "not_ready", ""]


# --------------------------------------------------------------------------- hold


def test_held_time_belongs_to_no_run_when_the_job_was_held_in_the_queue() -> None:
    looks = [
        (at(10, 1), queued()),
        (at(10, 10), queued(active=False)),
        (at(10, 20), queued(active=False)),
        (at(11, 1), queued(queued_at=at(11))),
        (at(11, 6), running(at(11, 5), queued_at=at(11))),
    ]
    runs = seen(looks)
    assert [(run.queued_at, run.ended_at, run.end_cause) for run in runs] == [
        (CREATED, at(10, 10), "held"),
        (at(11), None, ""),
    ]
    assert minutes(runs[1].queued_at, runs[1].admitted_at) == 5


def test_a_running_job_that_is_held_ends_its_run_when_its_quota_is_free() -> None:
    ending = running(active=False, ending=True, phases=(PodPhase.ENDING,))
    freed = evicted(at(10, 22), EvictionCause.HELD, active=False, ending=True, wait=None)
    gone = replace(freed, ending=False, released_at=at(10, 24))
    resumed = replace(gone, active=True, queued_at=at(11))
    looks = [
        (at(10, 6), running()),
        (at(10, 21), ending),
        (at(10, 23), freed),
        (at(10, 25), gone),
        (at(11, 1), resumed),
    ]
    runs = seen(looks)
    assert [(run.queued_at, run.admitted_at, run.ended_at) for run in runs] == [
        (CREATED, ADMITTED, at(10, 22)),
        (at(11), None, None),
    ]
    assert (runs[0].end_cause, runs[0].released_at, runs[0].was_evicted) == ("held", at(10, 24), True)
    assert held_seconds(runs, at(12)) == 17 * 60


def test_a_job_held_before_it_was_ever_seen_has_no_run() -> None:
    assert seen([(at(10, 1), queued(active=False))]) == ()


def test_a_job_held_and_resumed_between_two_looks_goes_on_waiting() -> None:
    (run,) = seen([(at(10, 1), queued()), (at(10, 30), queued(queued_at=at(10, 20)))])
    assert run.queued_at == CREATED and run.open


# --------------------------------------------------------------------------- ends


def test_a_failed_job_closes_its_run_with_the_time_of_the_end_not_of_the_look() -> None:
    (run,) = seen([(at(10, 6), running()), (at(10, 45), failed())])
    assert (run.ended_at, run.end_cause, run.released_at) == (at(10, 30), "failed", at(10, 30))


def test_pods_that_end_slowly_are_released_later_than_the_quota_is_free() -> None:
    slow = failed(ending=True, released_at=None)
    looks = [(at(10, 6), running()), (at(10, 31), slow), (at(10, 33), replace(slow, released_at=at(10, 32)))]
    (run,) = seen(looks)
    assert (run.ended_at, run.released_at) == (at(10, 30), at(10, 32))


def test_the_release_of_an_earlier_run_is_not_taken_for_that_of_a_later_one() -> None:
    held_again = replace(SECOND, active=False, admitted_at=ADMITTED, reserved_at=ADMITTED)  # not admitted since 10:20
    runs = seen([(at(10, 6), running()), (at(10, 21), PREEMPTED), (at(10, 40), held_again)])
    assert [(run.end_cause, run.released_at) for run in runs] == [("higher_priority", at(10, 20)), ("held", None)]


def test_a_run_whose_release_nobody_saw_was_released_before_the_pods_of_the_next_had_nodes() -> None:
    slow = replace(PREEMPTED, released_at=None)
    runs = seen([(at(10, 6), running()), (at(10, 21), slow), (at(12, 31), DONE)])
    assert [(run.ended_at, run.released_at) for run in runs] == [
        (at(10, 20), at(12)),
        (at(11, 10), None),  # nobody knows whether it was ever admitted
        (at(12, 30), at(12, 30)),
    ]


def test_a_job_that_failed_without_ever_being_admitted_has_one_run_without_cards() -> None:
    never = queued(outcome=Outcome.FAILED, ended_at=at(10, 30))
    (run,) = seen([(at(10, 1), queued()), (at(10, 31), never)])
    assert (run.admitted_at, run.ended_at, run.cards) == (None, at(10, 30), 0)
    assert held_seconds([run], at(11)) == 0


@pytest.mark.parametrize("cards", [9, 20])
def test_a_run_holds_what_was_admitted(cards: int) -> None:
    """C-28: nine of twenty pods were admitted, so nine cards are held."""
    (run,) = seen([(at(10, 6), running(cards=cards))])
    assert run.cards == cards


def test_a_run_whose_object_is_being_deleted_stays_open_until_it_is_gone() -> None:
    runs = seen([(at(10, 6), running()), (at(10, 21), deleted(at(10, 20)))])
    assert [(run.admitted_at, run.ended_at) for run in runs] == [(ADMITTED, None)]
    (run,) = close_unseen(runs, at(10, 22), "cancelled", freed_at=at(10, 20))
    assert (run.ended_at, run.released_at) == (at(10, 20), at(10, 22))


def test_an_object_that_vanished_closes_its_run_with_a_bound() -> None:
    runs = seen([(at(10, 6), running())])
    (run,) = close_unseen(runs, at(10, 40), "lost")
    assert (run.ended_at, run.released_at, run.end_cause, run.times_are_bounds) == (
        at(10, 40),
        at(10, 40),
        "lost",
        True,
    )
    assert close_unseen((run,), at(11), "lost") == (run,)
    assert close_unseen((), at(11), "lost") == ()


def test_one_that_goes_and_has_its_last_pods_left_is_closed_and_not_yet_released() -> None:
    runs = seen([(at(10, 6), running())])
    (run,) = close_unseen(runs, at(10, 20), "requeued", freed_at=at(10, 20), pods_gone=False)
    assert (run.ended_at, run.released_at, run.end_cause) == (at(10, 20), None, "requeued")
    assert not run.times_are_bounds


def test_an_evicted_run_is_released_with_the_object_when_nobody_saw_its_pods_go() -> None:
    runs = seen([(at(10, 6), running()), (at(10, 21), evicted(at(10, 20), active=False))])
    assert runs[-1].ended_at == at(10, 20) and runs[-1].released_at is None
    (run,) = close_unseen(runs, at(10, 22), "cancelled")
    assert (run.ended_at, run.released_at, run.end_cause) == (at(10, 20), at(10, 22), runs[-1].end_cause)


def test_a_vanished_object_whose_quota_was_seen_to_be_free_ends_exactly_then() -> None:
    runs = seen([(at(10, 6), running())])
    (run,) = close_unseen(runs, at(10, 40), "cancelled", freed_at=at(10, 38))
    assert (run.ended_at, run.released_at, run.times_are_bounds) == (at(10, 38), at(10, 40), False)


@pytest.mark.parametrize("freed_at", [at(10, 4), at(10, 41)], ids=["before it was admitted", "after it was gone"])
def test_a_time_that_cannot_be_that_of_this_run_is_not_taken_for_it(freed_at: datetime) -> None:
    (run,) = close_unseen(seen([(at(10, 6), running())]), at(10, 40), "cancelled", freed_at=freed_at)
    assert (run.ended_at, run.times_are_bounds) == (at(10, 40), True)


def test_a_run_that_was_never_admitted_has_no_quota_to_free() -> None:
    (run,) = close_unseen(seen([(at(10, 1), queued())]), at(10, 40), "cancelled", freed_at=at(10, 38))
    assert (run.ended_at, run.times_are_bounds) == (at(10, 40), True)


def test_a_run_never_begins_before_the_one_before_it_ended_whatever_two_clocks_say() -> None:
    looks = [(at(10, 1), queued()), (at(10, 30), queued(active=False)), (at(10, 31), queued(queued_at=at(10, 29)))]
    assert [run.queued_at for run in seen(looks)] == [CREATED, at(10, 30)]


def test_a_run_never_ends_before_it_started_also_when_the_clock_was_put_back() -> None:
    up = running()
    runs = seen([(at(10, 9), replace(up, ready_at=at(10, 8)))])
    (held,) = advance_runs(runs, replace(up, active=False, admitted_at=None, reserved_at=None), at(9))
    (gone,) = close_unseen(runs, at(9), "cancelled")
    assert held.ended_at == gone.ended_at == gone.released_at == at(10, 8)


def test_a_vanished_object_never_ends_before_it_was_admitted() -> None:
    runs = seen([(at(10, 6), running())])
    (run,) = close_unseen(runs, at(10, 1), "lost")
    assert run.ended_at == ADMITTED
