"""What a form promises to a team: within what it may borrow, what others may lend, and what is divided at all."""

from __future__ import annotations

import pytest

from jobs.services.preview import Obstacle, Verdict, job_preview
from quotas.models import GroupCards, Share
from quotas.selectors import queue_places
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
