"""Every reason as a sentence (decision 56), and every fixed word with its label."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import pytest
from django.utils import timezone
from django.utils.translation import override

from clusters.domain.reasons import ReasonCode
from jobs import labels
from jobs.domain.operations import Effect, Makes, Operation, Place, Refusal
from jobs.domain.words import Flag, Framework, JobState, Kind, Priority
from jobs.reasons import event_text, known_codes, reason_text

LONGEST = 160
FULL: dict[str, Any] = {
    "cards": 64,
    "pods": 8,
    "group": "H100 NVLink",
    "asked": 64,
    "more": 12,
    "maximum": 32,
    "nominal": 16,
    "used": 12,
    "victims": 3,
    "per_pod": 8,
    "free": 21,
    "out": 11,
    "blocks": [8, 5, 5, 3],
    "evictions": 2,
    "by": "01J8Z6T9K3M5N7P9R1S3T5V7W9",
    "ready": 3,
    "pulling": 5,
    "rank": 6,
    "exit_code": 137,
    "restarts": 5,
    "waiting": 2,
    "node": "h100-nvlink-03",
    "queue": "night",
    "limit": 80,
    "taken": 24,
    "why": "exams",
    "raw": "0/4 nodes are available",
    "by_person": "Chen Jing",
    "until": "2026-03-12T10:15:00+00:00",
}
FACTS = [
    pytest.param({}, id="nothing is known"),
    pytest.param(FULL, id="everything is known"),
    pytest.param({**FULL, "pods": 1, "rank": 0}, id="one pod"),
    pytest.param({**FULL, "more": 1, "victims": 1, "blocks": []}, id="one of each"),
    pytest.param(dict.fromkeys(FULL), id="everything is null"),
    pytest.param(dict.fromkeys(FULL, "100 % of %(cards)s"), id="percent signs in the facts"),
]


def test_every_code_has_a_sentence_and_every_sentence_a_code() -> None:
    assert known_codes() == {code.value for code in ReasonCode}


@pytest.mark.parametrize("facts", FACTS)
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_reason_is_a_short_sentence_whatever_is_known(language: str, facts: dict[str, Any]) -> None:
    for code in ReasonCode:
        with override(language):
            text = reason_text(code.value, facts)
        assert text and text == text.strip() and "\n" not in text
        if facts is FULL:
            assert len(text) <= LONGEST, f"{len(text)} characters: {text}"
            assert "?" not in text and "%" not in text, text


@pytest.mark.parametrize(
    ("code", "facts", "text"),
    [
        (
            "split_over_nodes",
            {"pods": 1, "per_pod": 8, "group": "H100", "free": 8, "blocks": [5, 3]},
            "Needs 8 cards on one node. H100 has 8 free, split 5 + 3.",
        ),
        pytest.param(
            "not_placed",
            {"pods": 1, "per_pod": 4, "free": 8, "group": "Ascend 910B3", "misfit": "label [accelerator-type] Failed"},
            "Admitted, but no machine of Ascend 910B3 has cards of the wanted type. Tell an admin.",
            id="C-35: the label of its machines does not match",
        ),
        pytest.param(
            "waiting_for_quota",
            {"cards": 2, "group": "H100", "asked": 2, "nominal": 2, "used": 0, "more": 2},
            "Needs 2 cards of H100. The team's own share of 2 covers them, but others borrow 2 of it now.",
            id="C-26: none is used and none is free",
        ),
        (
            "split_over_nodes",
            {"pods": 2, "per_pod": 6, "group": "H100", "free": 13, "blocks": [5, 5, 3]},
            "Needs 2 nodes with 6 free cards each. H100 has 13 free, split 5 + 5 + 3.",
        ),
        (
            "waiting_for_quota",
            {"cards": 8, "group": "H100", "more": 1},
            "Needs 8 cards of H100; 1 more has to come free.",
        ),
        (
            "waiting_for_quota",
            {"cards": 8, "group": "H100", "more": 3},
            "Needs 8 cards of H100; 3 more have to come free.",
        ),
        ("waiting_for_quota", {"cards": 8, "group": "H100"}, "Needs 8 cards; the quota of H100 has fewer left."),
        (
            "waiting_for_quota",
            {"cards": 8, "group": "H100", "more": 0},
            "Needs 8 cards; the quota of H100 has fewer left.",
        ),
        (
            "never_fits",
            {"cards": 24, "maximum": 16},
            "Can never start as asked: 24 cards wanted, at most 16 exist for this team.",
        ),
        (
            "never_fits",
            {"cards": 8, "group": "H100", "nominal": 3, "maximum": 6},
            "Can never start as asked: 8 cards of H100 wanted; the team's share is 3, and with all that it may borrow "
            "at most 6.",
        ),
        (
            "no_place",
            {"pods": 2, "per_pod": 6, "group": "H100", "free": 7, "out": 11},
            "Needs 2 nodes with 6 free cards each. H100 has 7 free. Out of service there: 11.",
        ),
        (
            "waiting_above_share",
            {"cards": 16, "group": "H100", "nominal": 6, "used": 6, "out": 4},
            "Needs 16 cards; the team's own share of H100 is 6, with 6 in use. It starts when others leave enough idle."
            " Out of service there: 4.",
        ),
        (
            "waiting_for_maintenance",
            {"until": "2026-03-12T10:15:00+00:00", "max_run_seconds": 172_800},
            "It would not end before maintenance of the nodes that could hold it; it is kept here until 2026-03-12 "
            "10:15. With a longest run below 2 days it may start before.",
        ),
        ("waiting_for_preemption", {"victims": 1}, "1 job of lower rank is ending to make room."),
        ("waiting_for_preemption", {"victims": 2}, "2 jobs of lower rank are ending to make room."),
        ("waiting_for_preemption", {}, "1 job of lower rank is ending to make room."),
        ("pulling_image", {"pods": 1}, "Pulling the image."),
        ("pulling_image", {"pods": 4, "ready": 1}, "Pulling the image: 1 of 4 pods are up."),
        (
            "app_exit",
            {"pods": 1, "rank": 0, "exit_code": 3},
            "The program ended with exit code 3. See the end of its log.",
        ),
        (
            "app_exit",
            {"pods": 2, "rank": 1, "exit_code": 3},
            "Rank 1 ended first, with exit code 3. See the end of its log.",
        ),
        ("node_lost", {"node": "n3"}, "Node n3 stopped answering. Not the program's fault."),
        ("node_lost", {}, "A node stopped answering. Not the program's fault."),
        ("cancelled_by_person", {"by_person": "Chen Jing"}, "Cancelled by Chen Jing."),
        ("cancelled_by_person", {}, "Cancelled."),
        ("a_code_of_tomorrow", {"cards": 8}, "a_code_of_tomorrow"),
    ],
)
def test_the_sentence_names_what_matters(code: str, facts: dict[str, Any], text: str) -> None:
    assert reason_text(code, facts) == text


def test_a_preemption_names_the_other_job_only_where_the_reader_may_know_it() -> None:
    unnamed = reason_text("preempted_quota_reclaimed", {"by": FULL["by"]})
    named = reason_text("preempted_quota_reclaimed", {"by": FULL["by"], "by_name": "llm 7b"})
    assert named == f"{unnamed} The cards went to llm 7b."
    assert FULL["by"] not in named


@pytest.mark.parametrize("operation", list(Operation))
def test_every_act_of_a_person_has_a_sentence_in_the_timeline(operation: Operation) -> None:
    code = f"asked_{operation.value}"
    assert event_text(code, {}) not in {"", code}


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        (
            {"by_person": "Chen Jing", "by_name": "llm 7b", "until": "2026-03-12T10:15:00+00:00"},
            "Preempted by Chen Jing. It gives way to llm 7b and is in the queue again by 18:15, in its old place.",
        ),
        (
            {"by": FULL["by"], "until": "2026-03-12T02:00:00+08:00"},
            "Preempted by a team lead or a platform admin. It gives way and is in the queue again by 02:00, in its old"
            " place.",
        ),
    ],
)
def test_a_preemption_says_by_whom_for_whom_and_until_when_on_the_readers_clock(
    facts: dict[str, Any], text: str
) -> None:
    with timezone.override("Asia/Shanghai"), override("en"):
        assert reason_text("preempted_by_person", facts) == text


@pytest.mark.parametrize("until", [None, "soon", "2026-03-12T10:15:00", 7])
def test_a_time_that_cannot_be_read_is_a_question_mark(until: Any) -> None:
    assert "by ?," in reason_text("preempted_by_person", {"until": until})


def test_a_change_of_priority_is_told_with_its_reason() -> None:
    facts = {"from": "normal", "to": "urgent", "reason": "paper deadline"}
    with override("en"):
        told = event_text("asked_priority", facts)
        assert told == "Asked to change the priority from normal to urgent. Reason: paper deadline"
        assert event_text("asked_priority", {"from": "low", "to": "normal"}).endswith("from low to normal.")
        assert "?" in event_text("asked_priority", {"from": "low", "to": "of tomorrow"})


def test_what_was_seen_is_told_in_the_timeline_as_the_reason() -> None:
    assert event_text("node_lost", {"node": "n3"}) == reason_text("node_lost", {"node": "n3"})


@pytest.mark.parametrize(
    ("words", "table"),
    [
        (JobState, labels.STATES),
        (JobState, labels.STATE_ICONS),
        (Flag, labels.FLAGS),
        (Kind, labels.KINDS),
        (Framework, labels.FRAMEWORKS),
        (Priority, labels.PRIORITIES),
        (Priority, labels.PRIORITY_HINTS),
        (Operation, labels.OPERATIONS),
        (Effect, labels.EFFECTS),
        (Refusal, labels.REFUSALS),
    ],
)
def test_every_word_has_a_label(words: type[StrEnum], table: Mapping[StrEnum, object]) -> None:
    assert set(table) == set(words)
    assert all(str(label) for label in table.values())


@pytest.mark.parametrize(("words", "table"), [(Place, labels.PLACES), (Makes, labels.MAKES)])
def test_nothing_to_say_is_an_empty_label(words: type[StrEnum], table: Mapping[StrEnum, object]) -> None:
    assert set(table) == set(words)
    assert [word.name for word, label in table.items() if not str(label)] in (["NONE"], ["NOTHING"])
