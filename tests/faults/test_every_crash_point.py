"""R1: a process may die before and after every call and every commit; the story always ends as it should."""

from __future__ import annotations

import pytest
import time_machine
from django.db import transaction
from django.utils import timezone

from common import faults
from tests.cast import Cast, build_cast
from tests.faults.points import points_in_source
from tests.faults.recorder import call_witness
from tests.faults.rehearsal import Rehearsal, Report, rehearse
from tests.faults.stories import STORIES, Story

pytestmark = pytest.mark.timeout(400)  # a story is played once for each point, some have two hundred


@pytest.fixture
def cast(db: None) -> Cast:
    call_witness()
    return build_cast()


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_whoever_dies_wherever_the_story_ends_as_it_should(cast: Cast, story: Story) -> None:
    report = rehearse(cast, story.name, story.body, story.prologue, story.steps, finale=story.finale)
    assert not report.problems, _summary(report)
    assert report.faults >= len(story.steps)


def _summary(report: Report) -> str:
    shown = "\n".join(report.problems[:25])
    return f"{len(report.problems)} problems after {report.faults} deaths:\n{shown}"


def test_every_point_of_the_source_is_reached_by_a_story(cast: Cast) -> None:
    """A death is played at each point a story reaches, so a point that none reaches would never be died at."""
    reached: set[str] = set()
    for story in STORIES:
        with time_machine.travel(timezone.now(), tick=False) as clock, transaction.atomic():
            stage = Rehearsal(cast, clock, story.body)
            for step in story.prologue:
                step.do(stage)
            with faults.handler(reached.add):
                for step in story.steps:
                    step.do(stage)
            transaction.set_rollback(True)
    assert reached == points_in_source()
