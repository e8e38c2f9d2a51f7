"""The ranking of waste adds up in the database what the domain says of each run."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from clusters.models import NodeGroup
from common.errors import NotAllowed
from console.settings import base
from jobs import waste
from jobs.domain.waste import Account, HeldRun
from jobs.domain.words import Kind
from jobs.models import Job, Run
from jobs.waste import waste_lately, waste_ranking
from tests.cast import build_cast
from tests.pages.crowd import crowd

pytestmark = pytest.mark.django_db
UNTIL = datetime(2026, 5, 4, 9, tzinfo=UTC)
LENGTH = timedelta(hours=1)
MINUTES = (-100.5, -60, -59.25, -30, -10.01, -1, 0, 15)
"""Before, at and within the edges of the hour, and after it."""
ENDS = ("", "lost", "succeeded", "failed", "quota_reclaimed", "cancelled", "queue_drained")


def test_the_database_adds_up_what_the_domain_books_for_each_run() -> None:
    cast = build_cast()
    some, expected, total = Random(1), defaultdict[str, Account](Account), Account()
    crowd(cast, 60, usernames=("eng-vision-1", "eng-language-1"))
    for run in Run.objects.select_related("attempt__job__team"):
        admitted, scheduled, started, ended = (
            UNTIL + timedelta(minutes=some.choice(MINUTES)) if certain or some.random() < 0.7 else None
            for certain in (True, False, False, False)
        )
        job, kind, cause = run.attempt.job, some.choice(list(Kind)), some.choice(ENDS) if ended else ""
        assert admitted is not None
        Job.objects.filter(pk=job.pk).update(kind=kind.value)
        Run.objects.filter(pk=run.pk).update(
            cards=some.randrange(9),
            admitted_at=admitted,
            scheduled_at=scheduled,
            started_at=started,
            ended_at=ended,
            end_cause=cause,
        )
        if admitted < UNTIL and (ended is None or ended > UNTIL - LENGTH):
            run.refresh_from_db(fields=["cards"])
            held = HeldRun(run.cards, kind, admitted, scheduled, started, ended, cause)
            for account in (expected[job.team.slug], total):
                account.add(held, UNTIL - LENGTH, UNTIL)
    found = waste_ranking(viewer=cast.actor("admin"), length=LENGTH, now=UNTIL)
    assert {each.team.slug: each.account for each in found.teams} == expected
    assert found.total == total and total.waste and total.useful and total.open


def test_a_ranking_is_read_again_when_it_is_too_old(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    admin, clock = build_cast().actor("admin"), [1000.0]
    monkeypatch.setattr(waste, "monotonic", lambda: clock[0])
    monkeypatch.setattr(waste, "_known", {})
    settings.SLUICE = {**settings.SLUICE, "WASTE_SECONDS": base.SLUICE["WASTE_SECONDS"]}
    day, week = timedelta(days=1), timedelta(days=7)
    first = waste_lately(viewer=admin, length=day)
    assert waste_lately(viewer=admin, length=week).since < first.since
    clock[0] += base.SLUICE["WASTE_SECONDS"] - 1
    assert waste_lately(viewer=admin, length=day) is first
    clock[0] += 1
    assert waste_lately(viewer=admin, length=day).until > first.until


def test_nobody_else_reads_what_was_ranked_for_an_admin(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cast = build_cast()
    monkeypatch.setattr(waste, "_known", {})
    settings.SLUICE = {**settings.SLUICE, "WASTE_SECONDS": base.SLUICE["WASTE_SECONDS"]}
    waste_lately(viewer=cast.actor("admin"), length=LENGTH)
    with pytest.raises(NotAllowed):
        waste_lately(viewer=cast.actor("lead-vision"), length=LENGTH)


def test_shared_cards_are_left_out() -> None:
    cast = build_cast()
    crowd(cast, 3)
    hour = {"admitted_at": UNTIL - LENGTH, "started_at": UNTIL - LENGTH, "ended_at": UNTIL}
    Run.objects.update(cards=2, end_cause="failed", **hour)
    assert waste_ranking(viewer=cast.actor("admin"), length=LENGTH, now=UNTIL).total.waste == 3 * 2 * 3600
    NodeGroup.objects.update(sharing="mig", unit="slice")
    assert waste_ranking(viewer=cast.actor("admin"), length=LENGTH, now=UNTIL).total == Account()
