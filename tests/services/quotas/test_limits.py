"""Limits of a local queue and of a person in it: what is beyond them waits at our own gate (decision 20)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from clusters.models import ObservedWorkload
from common.errors import InvalidInput
from jobs import selectors
from jobs.domain.operations import Operation
from jobs.models import Job
from jobs.services.operations import job_operate
from jobs.services.preview import job_preview
from quotas.limits import limits_effects, limits_let_in
from quotas.local_queues import local_queue_change
from quotas.models import Demand, LocalQueue
from tests.api.client import Api
from tests.cast import Cast, build_cast
from tests.pages.conftest import visitor_of
from tests.pages.visitor import words
from tests.services.support import refused
from tests.stage import BODY, Stage

SLEEP = {"command": "sleep infinity", "card_model": "h100"}


@pytest.fixture
def stage(cast: Cast) -> Iterator[Stage]:
    with Stage(cast) as stage:
        yield stage


def limit(cast: Cast, **limits: Any) -> LocalQueue:
    return local_queue_change(actor=cast.actor("lead-vision"), local=cast.local_queue("vision"), **limits)


def states(stage: Stage, *jobs: Job) -> list[str]:
    """State, or the reason of those that wait."""
    found = [stage.job(job) for job in jobs]
    return [job.reason_code if job.state == "queued" else job.state for job in found]


def text_of(stage: Stage, job: Job) -> str:
    viewer = stage.cast.actor("eng-vision-1")
    return selectors.reasons_of(viewer, [selectors.job_get(viewer=viewer, public_id=job.public_id)])[job.pk].text


def objects(job: Job) -> int:
    return ObservedWorkload.objects.filter(job_ulid=job.public_id, gone=False).count()


def ask(stage: Stage, job: Job, operation: Operation, **data: Any) -> None:
    viewer = stage.cast.actor("lead-vision")
    job_operate(
        actor=viewer, job=selectors.job_get(viewer=viewer, public_id=job.public_id), operation=operation, data=data
    )


def test_above_the_limit_no_object_is_made_and_the_job_goes_on_by_itself_when_cards_come_free(stage: Stage) -> None:
    limit(stage.cast, most_cards=8)
    first, second = stage.submit(cards=4, **SLEEP), stage.submit(cards=4, **SLEEP)
    third = stage.submit(cards=4, **SLEEP)
    stage.run(60)
    assert states(stage, first, second, third) == ["running", "running", "local_limit"]
    assert objects(third) == 0
    assert text_of(stage, third) == ("Needs 4 cards; the team's queue default may hold 8 at once, and 8 are taken.")
    ask(stage, first, Operation.CANCEL)
    stage.run(60)
    assert states(stage, first, second, third) == ["cancelled", "running", "running"]


def test_a_large_job_is_not_overtaken_for_ever_by_small_ones_and_a_higher_priority_goes_first(stage: Stage) -> None:
    limit(stage.cast, most_cards=8)
    runs = stage.submit(cards=4, **SLEEP)
    large, small = stage.submit(cards=8, **SLEEP), stage.submit(cards=2, **SLEEP)
    stage.run(40)
    assert states(stage, runs, large, small) == ["running", "local_limit", "local_limit"]
    assert "Jobs before it wait for cards too" in text_of(stage, small)
    high = stage.submit("lead-vision", cards=2, priority="high", **SLEEP)
    stage.run(40)
    assert states(stage, high, large, small) == ["running", "local_limit", "local_limit"]
    ask(stage, small, Operation.PRIORITY, priority="high")
    stage.run(40)
    assert states(stage, large, small) == ["local_limit", "running"]


def test_one_person_at_the_own_limit_stands_in_nobody_elses_way(stage: Stage) -> None:
    limit(stage.cast, most_cards_each=4)
    mine = [stage.submit(cards=4, **SLEEP) for _ in range(2)]
    other = stage.submit("lead-vision", cards=4, **SLEEP)
    stage.run(60)
    assert states(stage, *mine, other) == ["running", "personal_limit", "running"]
    assert text_of(stage, mine[1]) == (
        "Needs 4 cards; one person may hold 4 in the queue default, and the owner has 4."
    )


def test_a_held_job_gives_its_place_away_and_asks_anew_when_it_is_resumed(stage: Stage) -> None:
    limit(stage.cast, most_cards=4)
    first, second = stage.submit(cards=4, **SLEEP), stage.submit(cards=4, **SLEEP)
    stage.run(40)
    ask(stage, first, Operation.HOLD)
    stage.run(80)
    assert states(stage, first, second) == ["held", "running"]
    ask(stage, first, Operation.RESUME)
    stage.run(60)
    assert states(stage, first, second) == ["local_limit", "running"]
    ask(stage, second, Operation.CANCEL)
    stage.run(80)
    assert states(stage, first, second) == ["running", "cancelled"]


def test_a_service_that_grows_beyond_the_limit_keeps_the_replicas_it_has(stage: Stage) -> None:
    limit(stage.cast, most_cards=4)
    service = stage.submit(cards=1, kind="inference", replicas=2, **SLEEP)
    other = stage.submit(cards=2, **SLEEP)
    stage.run(60)
    ask(stage, service, Operation.SCALE, replicas=3)
    stage.run(60)
    row = ObservedWorkload.objects.get(job_ulid=service.public_id, gone=False)
    assert (states(stage, service, other), row.cards_held) == (["running", "running"], 2)
    shown = stage.job(service)
    assert shown.reason_code == "local_limit" and shown.reason_since > (shown.started_at or shown.reason_since)
    assert text_of(stage, service) == (
        "Has 2 of the 3 cards it is to have, and does not grow now: the team's queue default may hold 4 at once, and 4"
        " are taken."
    )
    ask(stage, other, Operation.CANCEL)
    stage.run(80)
    row.refresh_from_db()
    assert row.cards_held == 3
    assert (stage.job(service).reason_code, text_of(stage, service)) == ("running", "All pods run.")


def test_page_list_and_api_say_why_a_service_does_not_grow(stage: Stage) -> None:
    limit(stage.cast, most_cards_each=4)
    service = stage.submit(cards=1, kind="inference", replicas=2, **SLEEP)
    stage.submit(cards=2, **SLEEP)
    stage.run(60)
    ask(stage, service, Operation.SCALE, replicas=4)
    stage.run(60)
    said = (
        "Has 2 of the 4 cards it is to have, and does not grow now: one person may hold 4 in the queue default, and the"
        " owner has 4."
    )
    owner = visitor_of(stage.cast, "eng-vision-1")
    assert said in words(owner.get(f"/jobs/{service.public_id}/")) and said in words(owner.get("/jobs/"))
    body = Api("eng-vision-1").get(f"jobs/{service.public_id}")
    assert (body["state"], body["reason"]["code"], body["reason"]["text"]) == ("running", "personal_limit", said)


def test_a_lower_limit_interrupts_nothing_and_tells_who_is_above_it_and_who_waits(stage: Stage) -> None:
    jobs = [stage.submit(cards=4, **SLEEP) for _ in range(2)]
    stage.run(40)
    local = limit(stage.cast, most_cards=4)
    waits = stage.submit(cards=2, **SLEEP)
    stage.run(40)
    assert states(stage, *jobs, waits) == ["running", "running", "local_limit"]
    effect = limits_effects([local], timezone.now())[local.pk]
    assert (effect.taken, effect.waiting, effect.over) == (8, (waits.public_id,), (jobs[1].public_id,))
    limit(stage.cast, most_cards=None)
    stage.run(60)
    assert states(stage, *jobs, waits) == ["running", "running", "running"]


def test_what_is_larger_than_the_limit_is_refused_at_submit_and_in_the_answer_while_typing(stage: Stage) -> None:
    limit(stage.cast, most_cards=8, most_cards_each=4)
    for cards, code in ((16, "above_limit"), (8, "above_personal_limit")):
        error = refused(lambda cards=cards: stage.submit(cards=cards, **SLEEP), InvalidInput)
        assert isinstance(error, InvalidInput)
        assert [(problem.attr, problem.code) for problem in error.problems] == [("cards", code)]
        preview = job_preview(actor=stage.cast.actor("eng-vision-1"), data={**BODY, **SLEEP, "cards": cards})
        assert preview.verdict == "never"
    assert not Job.objects.exists()


def test_the_answer_while_typing_knows_what_is_taken(stage: Stage) -> None:
    limit(stage.cast, most_cards=8, most_cards_each=4)
    stage.submit(cards=4, **SLEEP)
    stage.run(40)
    ask_as = {"data": {**BODY, **SLEEP, "cards": 4}}
    mine = job_preview(actor=stage.cast.actor("eng-vision-1"), **ask_as)
    assert (mine.verdict, mine.obstacle) == ("later", "personal_limit")
    assert job_preview(actor=stage.cast.actor("lead-vision"), **ask_as).verdict == "now"
    limit(stage.cast, most_cards=4)
    others = job_preview(actor=stage.cast.actor("lead-vision"), **ask_as)
    assert (others.verdict, others.obstacle) == ("later", "local_limit")


def test_two_that_let_in_at_the_same_time_never_pass_the_limit_together(transactional_db: None) -> None:
    cast = build_cast()
    local = limit(cast, most_cards=8)
    group = cast.groups["h100"]
    for number in range(8):
        Demand.objects.create(job_ulid=f"{number:026d}", local_queue=local, group=group, owner_id=1, cards=3)

    def let_in(number: int) -> None:
        try:
            limits_let_in({f"{number:026d}": local.pk}, timezone.now())
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(let_in, range(8)))
    assert sum(Demand.objects.values_list("let_in", flat=True)) == 6
    assert list(Demand.objects.filter(let_in=3).order_by("pk").values_list("pk", flat=True)) == list(
        Demand.objects.order_by("pk").values_list("pk", flat=True)[:2]
    )


@pytest.mark.parametrize(
    ("limits", "field", "code"),
    [
        ({"most_cards": 0}, "most_cards", "zero"),
        ({"most_cards": -1}, "most_cards", "negative"),
        ({"most_cards": 2_000_000_000}, "most_cards", "too_large"),
        ({"most_cards": 1.5}, "most_cards", "not_whole"),
        ({"most_cards": ""}, "most_cards", "not_whole"),
        ({"most_cards_each": True}, "most_cards_each", "not_a_number"),
        ({"most_cards_each": "9" * 5_000}, "most_cards_each", "too_large"),
        ({"most_cards": 4, "most_cards_each": 5}, "most_cards_each", "above_queue"),
    ],
)
def test_what_is_no_limit_is_refused_with_a_sentence(cast: Cast, limits: dict[str, Any], field: str, code: str) -> None:
    error = refused(lambda: limit(cast, **limits), InvalidInput)
    assert isinstance(error, InvalidInput)
    assert [(problem.attr, problem.code) for problem in error.problems] == [(field, code)]
    assert str(error.problems[0].message).endswith(".")
