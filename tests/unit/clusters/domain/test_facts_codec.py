"""Facts survive the way through a JSON column, and a row stays small."""

from __future__ import annotations

import json

import msgspec
import pytest

from clusters.contract import FailureCode, PodPhase, Wait, WaitCode, WorkloadFacts
from clusters.facts_codec import facts_from_json, facts_to_json
from tests.builders import CREATED, admitted, at, evicted, failed, pod, queued, running, succeeded

EVERYTHING = evicted(
    at(10, 20),
    evicted_by="01J8Z6T9K3M5N7P9R1S3T5V7W9",
    wait=Wait(WaitCode.PREEMPTING, asked=8, more=3, maximum=32, nominal=8, used=8, victims=2, raw='say "no"\\'),
    pods=(pod(0, PodPhase.PULLING, image_problem=FailureCode.IMAGE_TIMEOUT, image_problem_since=at(10, 6)),),
    unplaceable=True,
    waiting_release=True,
    foreign_owner=True,
    unknown="训练 🚀",
)


@pytest.mark.parametrize(
    "facts",
    [
        WorkloadFacts(created_at=CREATED),
        queued(WaitCode.QUOTA),
        queued(active=False, wanted_pods=0, cards=0),
        admitted(phases=(PodPhase.WAITING, PodPhase.PULLING)),
        running(count=3),
        succeeded(outcome_by_policy=True),
        failed(FailureCode.NODE_LOST, exit_code=None),
        EVERYTHING,
    ],
)
def test_facts_come_back_as_they_were(facts: WorkloadFacts) -> None:
    assert facts_from_json(json.loads(json.dumps(facts_to_json(facts)))) == facts


def test_what_is_not_known_takes_no_room() -> None:
    assert set(facts_to_json(WorkloadFacts(created_at=CREATED))) <= {
        "created_at",
        "active",
        "wanted_pods",
        "cards",
        "evictions",
        "ending",
        "unplaceable",
        "waiting_release",
        "outcome_by_policy",
        "foreign_owner",
    }


def test_characters_that_no_column_takes_are_replaced() -> None:
    odd = queued(Wait(WaitCode.OTHER, raw="a\x00b\ud800c"), unknown="\x00")
    back = facts_from_json(json.loads(json.dumps(facts_to_json(odd))))
    assert back.wait is not None
    assert (back.wait.raw, back.unknown) == ("a\ufffdb\ufffdc", "\ufffd")


@pytest.mark.parametrize("row", [{}, {"created_at": "yesterday"}, {"created_at": CREATED.isoformat(), "cards": "x"}])
def test_a_row_that_is_no_facts_is_refused(row: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        facts_from_json(row)


def test_a_fact_of_another_version_is_passed_over() -> None:
    assert facts_from_json({"created_at": CREATED.isoformat(), "colour": "red"}) == WorkloadFacts(created_at=CREATED)
