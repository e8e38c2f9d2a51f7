"""Random facts and views: anything a backend could report, sensible or not."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import strategies as st

from clusters.contract import (
    EvictionCause,
    Failure,
    FailureCode,
    Outcome,
    PodFacts,
    PodPhase,
    Wait,
    WaitCode,
    WorkloadFacts,
)
from clusters.domain.reasons import Reason, ReasonCode
from clusters.domain.states import GroupSnapshot
from jobs.domain.moves import AttemptView, JobView, Rest, Sight
from jobs.domain.words import TERMINAL_STATES, Desired, JobState, Kind
from tests.builders import DAY

words = st.text(alphabet=st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=12)
moments = st.integers(0, 24 * 3600 * 10).map(lambda tenths: DAY + timedelta(seconds=tenths / 10))
maybe_moments = st.none() | moments
small = st.integers(0, 64)

waits = st.builds(
    Wait,
    code=st.sampled_from(WaitCode),
    asked=st.none() | small,
    more=st.none() | small,
    maximum=st.none() | small,
    nominal=st.none() | small,
    used=st.none() | small,
    victims=st.none() | small,
    raw=words,
)
failures = st.builds(
    Failure,
    code=st.sampled_from(FailureCode),
    rank=st.none() | small,
    exit_code=st.none() | st.integers(0, 255),
    node=st.none() | words,
    at=maybe_moments,
    raw=words,
)
pod_facts = st.builds(
    PodFacts,
    rank=small,
    name=words,
    phase=st.sampled_from(PodPhase),
    node=st.none() | words,
    cards=st.integers(0, 8),
    exit_code=st.none() | st.integers(0, 255),
    image_problem=st.none() | st.sampled_from(FailureCode),
    image_problem_since=maybe_moments,
    started_at=maybe_moments,
    ended_at=maybe_moments,
    restarts=st.integers(0, 20),
)
facts = st.builds(
    WorkloadFacts,
    created_at=moments,
    active=st.booleans(),
    priority=st.none() | st.sampled_from((100, 200, 300)),
    wanted_pods=st.integers(0, 4),
    cards=small,
    queued_at=maybe_moments,
    reserved_at=maybe_moments,
    admitted_at=maybe_moments,
    scheduled_at=maybe_moments,
    ready_at=maybe_moments,
    evicted_at=maybe_moments,
    released_at=maybe_moments,
    ended_at=maybe_moments,
    evictions=st.integers(0, 3),
    eviction_cause=st.none() | st.sampled_from(EvictionCause),
    evicted_by=st.none() | words.filter(bool),
    ending=st.booleans(),
    wait=st.none() | waits,
    unplaceable=st.booleans(),
    waiting_release=st.booleans(),
    pods=st.lists(pod_facts, max_size=4).map(tuple),
    outcome=st.none() | st.sampled_from(Outcome),
    outcome_by_policy=st.booleans(),
    failure=st.none() | failures,
    foreign_owner=st.booleans(),
    unknown=st.just("") | words,
    admitted_pods=st.none() | st.integers(0, 4),
    stalled_since=maybe_moments,
)
groups = st.builds(
    GroupSnapshot,
    title=words,
    free_blocks=st.lists(st.integers(0, 8), max_size=4).map(tuple),
    topology_aware=st.booleans(),
)

STOP_CAUSES = ("", "time_limit", "stopped_at_limit", "image_not_found", "rollout_stuck")
attempts = st.builds(
    AttemptView,
    number=st.integers(1, 4),
    submitted_at=maybe_moments,
    seen=st.booleans(),
    stop_asked_at=maybe_moments,
    stop_cause=st.sampled_from(STOP_CAUSES),
    ended=st.just(False),
    logs_complete=st.booleans(),
    infra_failures=st.integers(0, 3),
    app_failures=st.integers(0, 3),
    ran_seconds=st.integers(0, 7_200),
)
reasons = st.builds(Reason, code=st.sampled_from(ReasonCode))
rests = st.builds(
    Rest,
    until=st.integers(-600, 7_800).map(lambda seconds: DAY + timedelta(days=1, seconds=seconds)),
    beneficiary=st.just("") | words,
    beneficiary_waits=st.booleans(),
)
_any_views = st.builds(
    JobView,
    desired=st.sampled_from(Desired),
    held=st.booleans(),
    kind=st.sampled_from(Kind),
    state=st.sampled_from(JobState),
    reason=reasons,
    is_stopping=st.booleans(),
    attempt=attempts,
    retry_limit=st.integers(0, 3),
    max_run=st.none() | st.integers(60, 7_200).map(lambda seconds: timedelta(seconds=seconds)),
    can_hold=st.booleans(),
    rest=st.none() | rests,
    priority=st.none() | st.sampled_from((100, 200, 300)),
    can_prioritise=st.booleans(),
    replicas=st.none() | st.integers(1, 4),
    can_scale=st.booleans(),
)
views = _any_views.map(lambda view: replace(view, attempt=replace(view.attempt, ended=view.state in TERMINAL_STATES)))
"""Jobs as the write-back leaves them: the newest attempt has ended exactly when the state is terminal."""
sights = st.builds(Sight, facts=st.none() | facts, gone=st.booleans(), complete_at=maybe_moments)
