"""What a form promises to a team: within what it may borrow, what others may lend, and what is divided at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.settings import base
from jobs.services.intent import check_place
from jobs.services.lookups import Lookups
from jobs.services.preview import Obstacle, Verdict, job_preview
from quotas.models import GroupCards, LocalQueue, Share
from quotas.selectors import places, queue_places
from quotas.selectors.places import GroupPlace
from tests.cast import Cast
from tests.services.jobs.situations import fill
from tests.stage import BODY, Stage


@pytest.fixture
def cast(standing_cast: Cast) -> Cast:
    return standing_cast


def place(cast: Cast, team: str = "vision") -> GroupPlace:
    (queue,) = queue_places(cast.teams[team].pk)
    return next(found for found in queue.groups if found.group.slug == "h100")


def limit(cast: Cast, team: str, **limits: int) -> None:
    Share.objects.filter(queue=cast.queues[team], group=cast.groups["h100"]).update(**limits)


def test_without_limits_everything_idle_may_be_borrowed(cast: Cast) -> None:
    assert (place(cast).capacity, place(cast).cohort_free, place(cast).free_nominal) == (32, 32, 13)


def test_nobody_is_promised_more_than_they_may_borrow(cast: Cast) -> None:
    limit(cast, "vision", borrow_basis_points=2_500)
    assert (place(cast).capacity, place(cast).cohort_free) == (21, 21)
    limit(cast, "vision", borrow_basis_points=0)
    assert (place(cast).capacity, place(cast).cohort_free) == (13, 13)
    preview = job_preview(actor=cast.actor("eng-vision-1"), data={**BODY, "card_model": "h100", "cards": 16})
    assert preview.verdict is Verdict.NEVER
    assert [problem.code for problem in preview.problems] == ["never_fits"]
    assert str(preview.problems[0].message) == (
        "Your team's share of H100 NVLink is 13, and with all that it may borrow at most 13, so 16 can never start. "
        "Ask for fewer."
    )


def test_a_card_model_that_is_not_known_is_answered_with_those_that_are(cast: Cast) -> None:
    preview = job_preview(actor=cast.actor("eng-vision-1"), data={**BODY, "card_model": "H100", "cards": 8})
    assert str(preview.problems[0].message) == (
        "Your team's queue has no card model of this name. It has these: a100, ascend-910b, h100."
    )


def test_nobody_is_promised_what_others_keep(cast: Cast) -> None:
    limit(cast, "language", lend_basis_points=0)
    assert (place(cast).capacity, place(cast).cohort_free) == (19, 19)
    assert (place(cast, "language").capacity, place(cast, "language").cohort_free) == (32, 32)


def test_cards_that_are_divided_no_more_are_nobodys(cast: Cast) -> None:
    GroupCards.objects.update_or_create(group=cast.groups["h100"], defaults={"cards": 24})
    Share.objects.filter(group=cast.groups["h100"]).update(nominal=8)
    assert (place(cast).cohort_free, place(cast).capacity) == (24, 32)


def test_a_team_whose_cards_are_lent_is_told_so(cast: Cast) -> None:
    """C-26: nothing used, nothing free, and a job that the own share would cover."""
    with Stage(cast) as stage:
        fill(stage, "h100", 32)
        preview = job_preview(actor=cast.actor("eng-language-1"), data={**BODY, "card_model": "h100", "cards": 8})
        assert (preview.verdict, preview.obstacle) == (Verdict.LATER, Obstacle.LENT)
        limit(cast, "language", nominal=0)
        preview = job_preview(actor=cast.actor("eng-language-1"), data={**BODY, "card_model": "h100", "cards": 8})
        assert (preview.obstacle, preview.idle) == (Obstacle.QUOTA, 0)


# --------------------------------------------------------------------------- what a submit may know of a moment ago


@pytest.fixture
def clock(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Seconds of the clock, to be changed by the test; figures are kept as in production."""
    now = [1_000.0]
    settings.SLUICE = {**settings.SLUICE, "FIGURES_SECONDS": base.SLUICE["FIGURES_SECONDS"]}
    monkeypatch.setattr(places, "monotonic", lambda: now[0])
    monkeypatch.setattr(places, "_recent", {})
    yield now


def known_to_submit(cast: Cast, team: str = "vision") -> GroupPlace:
    (queue,) = Lookups(cast.actor(f"eng-{team}-1")).places(cast.teams[team])
    return next(found for found in queue.groups if found.group.slug == "h100")


def test_a_submit_knows_what_is_free_to_within_a_second(cast: Cast, clock: list[float]) -> None:
    with Stage(cast) as stage:
        before = known_to_submit(cast)
        fill(stage, "h100", 32)
        assert (before.cohort_free, sum(before.free_blocks)) == (32, 32)
        clock[0] += 0.99
        assert known_to_submit(cast) == before
        assert (place(cast).cohort_free, place(cast).free_blocks) == (0, ())
        clock[0] += 0.01
        assert (known_to_submit(cast).cohort_free, known_to_submit(cast).free_blocks) == (0, ())


def test_other_shares_of_the_team_count_for_a_submit_at_once(cast: Cast, clock: list[float]) -> None:
    assert (known_to_submit(cast).capacity, known_to_submit(cast, "language").capacity) == (32, 32)
    limit(cast, "vision", borrow_basis_points=0)
    assert (known_to_submit(cast).capacity, known_to_submit(cast, "language").capacity) == (13, 32)
    Share.objects.filter(queue=cast.queues["vision"], group=cast.groups["h100"]).delete()
    with pytest.raises(StopIteration):
        known_to_submit(cast)


def test_a_queue_that_was_closed_is_closed_for_a_submit_at_once(cast: Cast, clock: list[float]) -> None:
    known_to_submit(cast)
    LocalQueue.objects.filter(queue=cast.queues["vision"]).update(state=LocalQueue.State.DRAINING)
    (queue,) = Lookups(cast.actor("eng-vision-1")).places(cast.teams["vision"])
    assert {local.state for local in queue.local_queues} == {"draining"}


def test_many_submits_read_what_is_free_once(cast: Cast, clock: list[float]) -> None:
    known_to_submit(cast)
    with CaptureQueriesContext(connection) as captured:
        for _ in range(5):
            Lookups(cast.actor("eng-vision-1")).places(cast.teams["vision"])
    assert sum("quotas_demand" in query["sql"] for query in captured) == 0
    with CaptureQueriesContext(connection) as captured:
        check_place(cast.actor("eng-vision-1"), BODY)
    assert sum("quotas_demand" in query["sql"] for query in captured) == 1, "a form shows what is free now"
