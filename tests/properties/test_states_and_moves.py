"""Whatever a cluster reports and whatever people ask: one state, one reason, one next move."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from clusters.contract import Outcome, WorkloadFacts
from clusters.domain.states import RULES, GroupSnapshot, ObservedState, derive
from clusters.facts_codec import facts_from_json, facts_to_json
from clusters.observed import held_cards
from jobs.domain.moves import Effect, JobView, Move, Rest, Sight
from jobs.domain.operations import Operation, Situation, cell
from jobs.domain.transitions import next_move
from jobs.domain.words import TERMINAL_STATES, Desired, JobState
from jobs.reasons import reason_text
from tests.builders import DAY, job_view, sees
from tests.properties.strategies import facts, groups, rests, sights, views

after_everything = st.integers(0, 7_200).map(lambda seconds: DAY + timedelta(days=1, seconds=seconds))


@given(facts)
def test_facts_survive_the_way_through_the_database(found: WorkloadFacts) -> None:
    assert facts_from_json(json.loads(json.dumps(facts_to_json(found)))) == found


@given(facts, groups, after_everything)
def test_every_combination_of_facts_has_exactly_one_state_and_a_sentence(
    found: WorkloadFacts, group: GroupSnapshot, now: datetime
) -> None:
    derived = derive(found, group, now)
    assert derive(found, group, now) == derived
    assert derived.row in {rule.name for rule in RULES}
    assert reason_text(derived.reason.code.value, derived.reason.facts)
    json.dumps(dict(derived.reason.facts))
    assert derived.stopping == found.ending


@given(facts, groups, after_everything)
def test_only_an_outcome_ends_and_only_running_pods_or_their_end_run(
    found: WorkloadFacts, group: GroupSnapshot, now: datetime
) -> None:
    state = derive(found, group, now).state
    ended = {ObservedState.SUCCEEDED: Outcome.SUCCEEDED, ObservedState.FAILED: Outcome.FAILED}
    if state in ended:
        assert found.outcome is ended[state]
    if state is ObservedState.RUNNING:
        assert found.admitted_at is not None and found.active and not found.unknown
    if found.admitted_at is None and found.outcome is None:
        assert state in {ObservedState.QUEUED, ObservedState.UNKNOWN}


@given(facts)
def test_held_cards_are_never_counted_twice(found: WorkloadFacts) -> None:
    running, held, ending = held_cards(found)
    assert min(running, held, ending) >= 0
    assert not (held and ending)
    if found.outcome is not None or found.admitted_at is found.reserved_at is None:
        assert (running, held) == (0, 0)


@given(views, sights, groups, after_everything)
def test_every_combination_of_intent_and_sight_has_a_next_move(
    job: JobView, sight: Sight, group: GroupSnapshot, now: datetime
) -> None:
    move = next_move(job, sight, group, now)
    assert next_move(job, sight, group, now) == move
    assert reason_text(move.reason.code.value, move.reason.facts)
    assert len(move.effects) <= 1
    assert move.due_in is None or move.due_in >= timedelta(0)
    if move.effects or move.stop_cause:
        assert move.due_in is not None  # a call that was lost, or a step that died, is made good
    if move.next_attempt:
        wanted = JobState.QUEUED if job.desired is Desired.REQUEUE else JobState.RETRYING
        assert move.state is wanted and move.ending is not None
    assert not (move.held and move.state in TERMINAL_STATES)
    assert move.state is JobState.RUNNING or not move.degraded
    if job.state not in TERMINAL_STATES:
        assert (move.state in TERMINAL_STATES) == (move.ending is not None and not move.next_attempt)


@given(views, sights, groups, after_everything)
def test_what_has_ended_stays_ended_within_its_attempt(
    job: JobView, sight: Sight, group: GroupSnapshot, now: datetime
) -> None:
    ended = replace(job, state=JobState.FAILED, attempt=replace(job.attempt, ended=True))
    move = next_move(ended, sight, group, now)
    assert (move.state, move.reason) == (JobState.FAILED, ended.reason)
    assert move.ending is None and not move.next_attempt
    assert set(move.effects) <= {Effect.STOP}


@given(views, sights, groups, after_everything)
def test_nothing_is_started_against_the_wish_of_people(
    job: JobView, sight: Sight, group: GroupSnapshot, now: datetime
) -> None:
    move = next_move(job, sight, group, now)
    if job.desired is Desired.CANCEL:
        assert not move.next_attempt
        assert set(move.effects) <= {Effect.STOP}
    if job.desired is Desired.REQUEUE:
        assert set(move.effects) <= {Effect.STOP}
    gives_way = job.rest is not None and not job.rest.is_over(now)
    if job.held or gives_way:
        assert not {Effect.SUBMIT, Effect.RELEASE} & set(move.effects)
    elif move.state not in TERMINAL_STATES:
        assert Effect.HOLD not in move.effects
    if not job.held:
        assert not move.held


@given(views, sights, groups, after_everything)
def test_whoever_gives_way_is_looked_at_until_it_is_over_and_told_so_then(
    job: JobView, sight: Sight, group: GroupSnapshot, now: datetime
) -> None:
    move = next_move(job, sight, group, now)
    if job.rest is None:
        assert not move.rest_over
    elif job.rest.is_over(now) or move.state in TERMINAL_STATES:
        assert move.rest_over
    else:
        assert not move.rest_over
        assert move.due_in is not None and move.due_in <= job.rest.until - now


@given(facts, groups, rests, after_everything)
def test_whoever_gave_way_is_let_back_into_the_queue_at_last(
    found: WorkloadFacts, group: GroupSnapshot, rest: Rest, now: datetime
) -> None:
    """Whatever happens to the beneficiary: from the end of the rest on, only its release is asked for."""
    held = replace(found, active=False, outcome=None, evicted_at=None, failure=None, pods=())
    job = job_view(JobState.QUEUED, rest=rest, reason=rest.reason)
    later = max(now, rest.until)
    over = next_move(job, sees(held), group, later)
    assert (over.effects, over.rest_over, over.held) == ((Effect.RELEASE,), True, False)
    again = next_move(replace(job, rest=None), sees(held), group, later)
    assert again.effects == (Effect.RELEASE,), "also when the step that ended the rest died after it was recorded"


@given(views, sights, groups, after_everything)
def test_only_a_priority_that_differs_is_set_and_only_where_an_object_can_take_it(
    job: JobView, sight: Sight, group: GroupSnapshot, now: datetime
) -> None:
    move = next_move(job, sight, group, now)
    seen = sight.facts.priority if sight.facts is not None and not sight.gone else None
    if Effect.PRIORITY in move.effects:
        assert job.can_prioritise and None not in (seen, job.priority) and seen != job.priority
        assert sight.facts is not None and sight.facts.outcome is None and not sight.facts.being_deleted


@given(views, sights, groups, after_everything)
def test_deciding_again_after_a_step_shows_people_the_same(
    job: JobView, sight: Sight, group: GroupSnapshot, now: datetime
) -> None:
    move = next_move(job, sight, group, now)
    if move.next_attempt or sight.gone:
        return  # the next step looks at another object, or at none
    again = next_move(applied(job, move, now), sight, group, now)
    assert (again.state, again.reason.code) == (move.state, move.reason.code)
    assert (again.ending, again.next_attempt, again.stop_cause) == (None, False, None)
    if Effect.SUBMIT in move.effects or Effect.STOP in move.effects:
        assert not set(again.effects) & {Effect.SUBMIT} and (again.effects == () or job.attempt.ended)


def applied(job: JobView, move: Move, now: datetime) -> JobView:
    """The view after a move was carried out and written back."""
    attempt = replace(
        job.attempt,
        submitted_at=now if Effect.SUBMIT in move.effects else job.attempt.submitted_at,
        stop_asked_at=now if Effect.STOP in move.effects else job.attempt.stop_asked_at,
        stop_cause=job.attempt.stop_cause or move.stop_cause or "",
        ended=job.attempt.ended or move.ending is not None,
    )
    rest = None if move.rest_over else job.rest
    return replace(job, state=move.state, reason=move.reason, is_stopping=move.stopping, attempt=attempt, rest=rest)


situations = st.builds(Situation, st.sampled_from(JobState), *(st.booleans() for _ in range(4)))


@given(st.sampled_from(Operation), situations)
def test_every_operation_has_an_answer_in_every_situation(operation: Operation, situation: Situation) -> None:
    found = cell(operation, situation)
    assert (found.effect is None) != (found.refusal is None)
