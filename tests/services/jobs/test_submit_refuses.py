"""Bad input of submit: a clear problem at its field, and nothing is stored."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Membership, Role, Team, User
from accounts.services import team_archive
from clusters.models import Node, NodeGroup
from jobs.labels import IMAGE_PROBLEMS, QUANTITY_PROBLEMS
from jobs.models import Job
from jobs.services import fields, intent, limits
from jobs.services.submit import job_submit
from quotas.models import LocalQueue, Share, TeamQueue
from tests.cast import Cast
from tests.services.support import needs_chinese, problems_of, texts_of, without
from tests.stage import BODY

LEFT_OUT = object()


@dataclass(frozen=True)
class Bad:
    """One wrong value: its field, the value, and the code of the problem."""

    attr: str
    value: Any
    code: str
    beside: tuple[tuple[str, Any], ...] = ()

    @property
    def body(self) -> dict[str, Any]:
        changed = {**BODY, **dict(self.beside), self.attr: self.value}
        return without(changed, *(name for name, value in changed.items() if value is LEFT_OUT))


NO_CARDS = (("cards", 0),)

BAD_INPUT = [
    Bad("framework", LEFT_OUT, "required"),
    Bad("framework", None, "required"),
    Bad("framework", "", "required"),
    Bad("framework", "caffe", "unknown_choice"),
    Bad("framework", "PyTorch", "unknown_choice"),
    Bad("framework", ["pytorch"], "unknown_choice"),
    Bad("framework", {"pytorch": 1}, "unknown_choice"),
    Bad("framework", 7, "unknown_choice"),
    Bad("kind", "serving", "unknown_choice"),
    Bad("kind", "serving", "unknown_choice"),
    Bad("replicas", 2, "no_service"),
    Bad("image", LEFT_OUT, "image_blank"),
    Bad("image", "", "image_blank"),
    Bad("image", "   ", "image_blank"),
    Bad("image", 5, "not_text"),
    Bad("image", ["a"], "not_text"),
    Bad("image", "a\x00b", "nul"),
    Bad("image", "a\ud800b", "half_character"),
    Bad("image", "a/" * 260 + "b", "image_too_long"),
    Bad("image", "my image:1", "image_spaces"),
    Bad("image", "https://registry.example/team/bert:1", "image_scheme"),
    Bad("image", "docker://bert", "image_scheme"),
    Bad("image", "registry.example/team/BERT:latest", "image_upper_case"),
    Bad("image", "BERT", "image_upper_case"),
    Bad("image", "bert:", "image_malformed"),
    Bad("image", ":1.0", "image_malformed"),
    Bad("image", "/bert", "image_malformed"),
    Bad("image", "registry.example//bert", "image_malformed"),
    Bad("image", "registry.example/bert@sha256:abc", "image_malformed"),
    Bad("image", "bert:1:2", "image_malformed"),
    Bad("image", "-bert", "image_malformed"),
    Bad("image", "bert;rm -rf", "image_spaces"),
    Bad("image", "$(id)", "image_malformed"),
    Bad("image", "伯特:1", "image_malformed"),
    Bad("cards", LEFT_OUT, "required"),
    Bad("cards", None, "required"),
    Bad("cards", "", "required"),
    Bad("cards", -1, "cards_negative"),
    Bad("cards", "-8", "cards_negative"),
    Bad("cards", 1_000_000_000, "cards_too_large"),
    Bad("cards", 10**40, "cards_too_large"),
    Bad("cards", 1e9, "cards_not_whole"),
    Bad("cards", "1e9", "cards_not_whole"),
    Bad("cards", "\uff18", "cards_not_whole"),
    Bad("cards", "٨", "cards_not_whole"),
    Bad("cards", 0.5, "cards_not_whole"),
    Bad("cards", 8.0, "cards_not_whole"),
    Bad("cards", "1.0", "cards_not_whole"),
    Bad("cards", "2e0", "cards_not_whole"),
    Bad("cards", "1000m", "cards_not_whole"),
    Bad("cards", "0x10", "cards_not_whole"),
    Bad("cards", "eight", "cards_not_whole"),
    Bad("cards", True, "cards_not_a_number"),
    Bad("cards", [8], "cards_not_a_number"),
    Bad("cards", {"count": 8}, "cards_not_a_number"),
    Bad("cards", 11, "no_shape"),
    Bad("cards", 11, "no_shape", (("card_model", "ascend-910b"),)),
    Bad("cards", 3, "no_shape", (("card_model", "ascend-910b"),)),
    Bad("cards", 40, "never_fits"),
    Bad("cards", 24, "never_fits", (("card_model", "ascend-910b"),)),
    Bad("priority", LEFT_OUT, "required"),
    Bad("priority", "asap", "unknown_choice"),
    Bad("priority", 100, "unknown_choice"),
    Bad("priority", "high", "above_maximum"),
    Bad("priority", "urgent", "above_maximum", (("priority_reason", "the paper is due"),)),
    Bad("name", "", "blank"),
    Bad("name", "  ", "blank"),
    Bad("name", "\u3000\t\n", "blank"),
    Bad("name", "\x07\x1b", "blank"),
    Bad("name", "a" * 301, "too_long"),
    Bad("name", 5, "not_text"),
    Bad("name", ["a"], "not_text"),
    Bad("command", "x" * 16_385, "too_long"),
    Bad("command", "字" * 6_000, "too_long"),
    Bad("command", ["python", "train.py"], "not_text"),
    Bad("command", "echo \x00", "nul"),
    Bad("command", "echo \ud800", "half_character"),
    Bad("env", "A=1", "not_pairs"),
    Bad("env", ["A=1"], "not_pairs"),
    Bad("env", {"A": 1}, "not_pairs"),
    Bad("env", {"A": None}, "not_pairs"),
    Bad("env", {"A": {"B": "C"}}, "not_pairs"),
    Bad("env", {"BIG": "x" * 2**20}, "too_large"),
    Bad("env", {f"N{number}": "1" for number in range(201)}, "too_large"),
    Bad("env", {f"N{number}": "x" * 1_000 for number in range(66)}, "too_large"),
    Bad("env", {"1A": "x"}, "name_invalid"),
    Bad("env", {"": "x"}, "name_invalid"),
    Bad("env", {"A-B": "x"}, "name_invalid"),
    Bad("env", {"A\n": "x"}, "name_invalid"),
    Bad("env", {"名": "x"}, "name_invalid"),
    Bad("env", {"SLUICE_JOB": "x"}, "name_reserved"),
    Bad("env", {"A": "x\x00"}, "nul"),
    Bad("env", {"A": "x\ud800"}, "half_character"),
    Bad("max_run_seconds", 59, "out_of_range"),
    Bad("max_run_seconds", -1, "out_of_range"),
    Bad("max_run_seconds", 30 * 24 * 3600 + 1, "out_of_range"),
    Bad("max_run_seconds", 10**30, "out_of_range"),
    Bad("max_run_seconds", 90.5, "out_of_range"),
    Bad("max_run_seconds", "1h", "out_of_range"),
    Bad("max_run_seconds", True, "out_of_range"),
    Bad("retry_limit", -1, "out_of_range"),
    Bad("retry_limit", 11, "out_of_range"),
    Bad("retry_limit", "many", "out_of_range"),
    Bad("retry_limit", [1], "out_of_range"),
    Bad("cpu", "4", "follows_from_cards"),
    Bad("memory", "16Gi", "follows_from_cards"),
    Bad("cpu", "100Mi", "cpu_byte_unit", NO_CARDS),
    Bad("cpu", "0", "cpu_too_small", NO_CARDS),
    Bad("cpu", "-1", "cpu_negative", NO_CARDS),
    Bad("cpu", "1e3", "cpu_not_a_number", NO_CARDS),
    Bad("cpu", "1,5", "cpu_not_a_number", NO_CARDS),
    Bad("cpu", "inf", "cpu_not_a_number", NO_CARDS),
    Bad("cpu", 0.5, "cpu_not_a_number", NO_CARDS),
    Bad("cpu", [4], "cpu_not_a_number", NO_CARDS),
    Bad("cpu", "0.5m", "cpu_not_whole", NO_CARDS),
    Bad("cpu", "2000", "cpu_too_large", NO_CARDS),
    Bad("memory", "512m", "memory_unit_unknown", NO_CARDS),
    Bad("memory", "10GB", "memory_unit_unknown", NO_CARDS),
    Bad("memory", "64", "memory_unit_missing", NO_CARDS),
    Bad("memory", 64, "memory_unit_missing", NO_CARDS),
    Bad("memory", "1e9", "memory_not_a_number", NO_CARDS),
    Bad("memory", "lots", "memory_not_a_number", NO_CARDS),
    Bad("memory", "-1Gi", "memory_negative", NO_CARDS),
    Bad("memory", "0.1Mi", "memory_too_small", NO_CARDS),
    Bad("memory", "65Ti", "memory_too_large", NO_CARDS),
    Bad("team", "language", "unknown_team"),
    Bad("team", "nobody", "unknown_team"),
    Bad("team", 1, "not_text"),
    Bad("team", "a\x00", "nul"),
    Bad("local_queue", "night", "unknown_queue"),
    Bad("local_queue", {}, "not_text"),
    Bad("cluster", "nowhere", "unknown_cluster"),
    Bad("cluster", 1, "not_text"),
    Bad("card_model", "b200", "unknown_model"),
    Bad("card_model", 100, "not_text"),
    Bad("queue", "vision", "unknown_field"),
    Bad("id", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "unknown_field"),
    Bad("priority_reason", 5, "not_text"),
    Bad("priority_reason", "a\x00", "nul"),
    Bad("priority_reason", "a\ud800", "half_character"),
]


@pytest.fixture
def cast(standing_cast: Cast) -> Cast:
    return standing_cast


def _name(bad: Bad) -> str:
    return f"{bad.attr}={str(bad.value)[:20]!a}"


def _submit(cast: Cast, body: dict[str, Any], username: str = "eng-vision-1") -> Any:
    return job_submit(actor=cast.actor(username), data=body)


@pytest.mark.parametrize("bad", BAD_INPUT, ids=_name)
def test_bad_input_is_one_problem_at_its_field_and_stores_nothing(cast: Cast, bad: Bad) -> None:
    problems = problems_of(lambda: _submit(cast, bad.body))
    assert {attr: problem.code for attr, problem in problems.items()} == {bad.attr: bad.code}


def test_all_problems_are_told_at_once(cast: Cast) -> None:
    problems = problems_of(lambda: _submit(cast, {"framework": "x", "image": "A b", "cards": -1, "name": " "}))
    assert {attr: problem.code for attr, problem in problems.items()} == {
        "framework": "unknown_choice",
        "image": "image_spaces",
        "cards": "cards_negative",
        "name": "blank",
        "priority": "required",
    }


def test_a_count_without_shape_names_the_two_nearest_good_ones(cast: Cast) -> None:
    assert _sentence(cast, {"cards": 11}) == "11 cards cannot be split into equal pods. Take 10 or 12."
    ascend = {"cards": 11, "card_model": "ascend-910b"}
    assert _sentence(cast, ascend) == "11 cards cannot be split into equal pods. Take 8 or 16."
    most = {"cards": 17, "card_model": "ascend-910b"}
    assert _sentence(cast, most) == "17 cards cannot be split into equal pods. Take 16."


def test_more_cards_than_the_model_has_names_how_many_there_are(cast: Cast) -> None:
    assert "only 32 cards" in _sentence(cast, {"cards": 40, "card_model": "h100"})


def _sentence(cast: Cast, changes: dict[str, Any]) -> str:
    return texts_of(lambda: _submit(cast, {**BODY, **changes}))["cards"]


@needs_chinese
def test_a_reader_of_chinese_gets_the_same_numbers_in_chinese(cast: Cast) -> None:
    sentence = texts_of(lambda: _submit(cast, {**BODY, "cards": 11}), "zh-hans")["cards"]
    assert sentence != _sentence(cast, {"cards": 11})
    assert all(number in sentence for number in ("10", "11", "12"))


# --------------------------------------------------------------------------- team, queue and rights


def test_an_archived_team_takes_no_job(cast: Cast) -> None:
    member = cast.actor("eng-vision-1")  # read before the team was archived, as by a form that was open
    team_archive(actor=cast.actor("admin"), team=cast.teams["vision"])
    for actor in (member, cast.actor("eng-vision-1")):
        problems = problems_of(lambda actor=actor: job_submit(actor=actor, data={**BODY, "team": "vision"}))
        assert problems["team"].code == "unknown_team"
        problems = problems_of(lambda actor=actor: job_submit(actor=actor, data=BODY))
        assert problems["team"].code == "no_team"


def test_a_person_without_a_team_is_told_whom_to_ask(cast: Cast) -> None:
    for username in ("admin", User.objects.create_user("newcomer").username):
        assert problems_of(lambda username=username: _submit(cast, BODY, username))["team"].code == "no_team"


def test_a_person_in_two_teams_says_which_one(cast: Cast) -> None:
    Membership.objects.create(user=cast.users["eng-vision-1"], team=cast.teams["robotics"], role=Role.ENGINEER)
    assert problems_of(lambda: _submit(cast, BODY))["team"].code == "required"
    assert _submit(cast, {**BODY, "team": "robotics"}).job.team == cast.teams["robotics"]


def test_a_team_without_a_queue_is_told_so(cast: Cast) -> None:
    team = Team.objects.create(slug="new", name="New", space="slu-new-000000")
    Membership.objects.create(user=cast.users["eng-vision-1"], team=team, role=Role.ENGINEER)
    assert problems_of(lambda: _submit(cast, {**BODY, "team": "new"}))["team"].code == "no_queue"


def test_a_queue_without_any_group_is_told_so(cast: Cast) -> None:
    Share.objects.filter(queue=cast.queues["vision"]).delete()
    assert problems_of(lambda: _submit(cast, BODY))["card_model"].code == "no_group"


def test_a_shared_pool_takes_no_training(cast: Cast) -> None:
    group = _shared_group(cast)
    problem = problems_of(lambda: _submit(cast, {**BODY, "cards": 1, "card_model": group.slug}))["card_model"]
    assert problem.code == "shared_pool"
    job = _submit(cast, {**BODY, "cards": 1, "card_model": group.slug, "kind": "development"}).job
    assert job.group == group


def _shared_group(cast: Cast) -> NodeGroup:
    group = NodeGroup.objects.create(
        cluster=cast.cluster,
        slug="slices",
        title="Slices",
        vendor="nvidia",
        card_model="H100 1g",
        sharing="mig",
        unit="slice",
        cards_per_node=14,
        position=9,
    )
    Node.objects.create(
        cluster=cast.cluster, group=group, name="slices-01", health="ready", installed=14, seen_at=timezone.now()
    )
    Share.objects.create(queue=cast.queues["vision"], group=group, basis_points=5_000, nominal=7)
    return group


def test_a_lead_may_ask_for_high_and_with_a_reason_for_urgent(cast: Cast) -> None:
    assert _submit(cast, {**BODY, "priority": "high"}, "lead-vision").job.priority == "high"
    for reason in (None, "", "  "):
        body = {**BODY, "priority": "urgent", "priority_reason": reason}
        problems = problems_of(lambda body=body: _submit(cast, body, "lead-vision"))
        assert {attr: problem.code for attr, problem in problems.items()} == {"priority_reason": "required"}
    urgent = {**BODY, "priority": "urgent", "priority_reason": "the demo is tomorrow"}
    assert _submit(cast, urgent, "lead-vision").job.priority == "urgent"


def test_a_lead_elsewhere_is_an_engineer_here(cast: Cast) -> None:
    Membership.objects.create(user=cast.users["lead-language"], team=cast.teams["vision"], role=Role.ENGINEER)
    body = {**BODY, "team": "vision", "priority": "high"}
    assert problems_of(lambda: _submit(cast, body, "lead-language"))["priority"].code == "above_maximum"


def test_a_local_queue_of_another_team_is_unknown(cast: Cast) -> None:
    LocalQueue.objects.create(queue=cast.queues["language"], slug="night", name="Night")
    problem = problems_of(lambda: _submit(cast, {**BODY, "local_queue": "night"}))["local_queue"]
    assert problem.code == "unknown_queue"
    LocalQueue.objects.create(queue=cast.queues["vision"], slug="night", name="Night")
    assert _submit(cast, {**BODY, "local_queue": "night"}).job.local_queue.queue == cast.queues["vision"]


def test_a_queue_of_another_cluster_is_not_used_by_accident(cast: Cast) -> None:
    assert TeamQueue.objects.filter(team=cast.teams["vision"]).count() == 1
    assert _submit(cast, BODY).job.cluster == cast.cluster


# --------------------------------------------------------------------------- nothing is left untested


ELSEWHERE = {
    ("team", "no_team"),
    ("team", "required"),
    ("team", "no_queue"),
    ("card_model", "no_group"),
    ("cluster", "no_gate"),
    ("cluster", "watched_only"),
    ("cards", "no_gang"),
    ("cards", "above_limit"),
    ("cards", "above_personal_limit"),
    ("card_model", "shared_pool"),
    ("card_model", "only_shared"),
    ("priority_reason", "required"),
    ("replicas", "out_of_range"),
    ("max_run_seconds", "no_limit"),
    ("local_queue", "queue_draining"),
}
"""Problems whose tests need more than a body."""


def test_every_check_of_submit_has_a_test_here() -> None:
    tested = {(bad.attr, bad.code) for bad in BAD_INPUT} | ELSEWHERE
    codes = {code for _attr, code in tested}
    for attr, code in _checks_in_source():
        assert (attr, code) in tested if attr else code in codes, f"{attr}: {code} has no test"


def _checks_in_source() -> set[tuple[str | None, str]]:
    """(field or None, code) of every `add(…)` in the source of the checks."""
    found: set[tuple[str | None, str]] = set()
    trees = (ast.parse(inspect.getsource(module)) for module in (intent, fields, limits))
    for node in chain.from_iterable(map(ast.walk, trees)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add"):
            continue
        attr, code = node.args[0], node.args[1]
        field = attr.value if isinstance(attr, ast.Constant) else None
        if isinstance(code, ast.Constant):
            found.add((field, code.value))
        elif field == "image":
            found |= {("image", f"image_{problem}") for problem in IMAGE_PROBLEMS}
        else:
            found |= {(unit, f"{unit}_{problem}") for unit, problem in QUANTITY_PROBLEMS}
    return found


def test_no_job_is_left_by_all_this(cast: Cast) -> None:
    for bad in BAD_INPUT[::10]:
        problems_of(lambda bad=bad: _submit(cast, bad.body))
    assert not Job.objects.exists()
