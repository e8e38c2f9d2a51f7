"""Looking at a cluster's setup: rows are kept, what becomes worse is told, a silent cluster changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import AuditEvent
from clusters.backends.sandbox.backend import SandboxBackend
from clusters.contract import Preflightable, Retryable
from clusters.models import Cluster, Notice, PreflightRow
from clusters.notices import notice_seen, unseen_notices
from clusters.preflight.service import EVERY, preflight_ask, preflight_due, preflight_run
from clusters.preflight.survey import Survey
from clusters.preflight.words import Feature, Verdict
from common.errors import NotAllowed
from tests.cast import Cast

NOW = datetime(2026, 11, 1, 12, tzinfo=timezone.get_default_timezone())


@pytest.fixture
def surveyed(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, object]]:
    """The sandbox as it is, with these fields of its survey changed; a `BackendError` under "error" is raised."""
    changes: dict[str, object] = {}
    real = SandboxBackend.survey

    def survey(self: SandboxBackend, now: datetime) -> Survey:
        if isinstance(error := changes.get("error"), Exception):
            raise error
        return replace(real(self, now), **{name: value for name, value in changes.items() if name != "error"})

    monkeypatch.setattr(SandboxBackend, "survey", survey)
    yield changes


@contextmanager
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[object, ...]]]:
    calls: list[tuple[object, ...]] = []
    with monkeypatch.context() as patch:
        patch.setattr("clusters.preflight.service.send", lambda *call: calls.append(call))
        yield calls


def verdicts(cluster: Cluster) -> dict[str, str]:
    return dict(PreflightRow.objects.filter(cluster=cluster).values_list("feature", "verdict"))


def open_notices() -> dict[str, dict[str, object]]:
    return dict(Notice.objects.filter(closed_at=None).values_list("subject", "facts"))


def test_the_sandbox_tells_what_it_can_and_what_it_lacks(cast: Cast) -> None:
    assert isinstance(SandboxBackend(cast.cluster), Preflightable)
    assert preflight_run(cast.cluster, NOW)
    found = verdicts(cast.cluster)
    assert set(found) == {feature.value for feature in Feature}
    lacking = {feature for feature, verdict in found.items() if verdict != Verdict.OK}
    assert lacking == {"queue_weights", "utilisation", "results"}
    assert Cluster.objects.get().surveyed_at == NOW


def test_the_first_look_is_news_to_nobody_and_what_becomes_worse_is(cast: Cast, surveyed: dict[str, object]) -> None:
    preflight_run(cast.cluster, NOW)
    assert open_notices() == {} and unseen_notices() == 0
    surveyed["gate_runs"] = False
    preflight_run(cast.cluster, NOW + timedelta(hours=1))
    told = open_notices()
    assert told == {
        "gate_runs": {"before": "ok", "after": "missing", "problem": "gate_stopped", "facts": {}},
    }
    row = PreflightRow.objects.get(feature="gate_runs")
    assert (row.verdict, row.since) == ("missing", NOW + timedelta(hours=1))
    preflight_run(cast.cluster, NOW + timedelta(hours=2))  # still so: no second notice
    assert open_notices() == told and PreflightRow.objects.get(feature="gate_runs").since == row.since
    del surveyed["gate_runs"]
    preflight_run(cast.cluster, NOW + timedelta(hours=3))
    notice = Notice.objects.get()
    assert (notice.opened_at, notice.closed_at) == (NOW + timedelta(hours=1), NOW + timedelta(hours=3))
    assert verdicts(cast.cluster)["gate_runs"] == "ok"


def test_what_is_half_mended_stays_a_notice(cast: Cast, surveyed: dict[str, object]) -> None:
    preflight_run(cast.cluster, NOW)
    surveyed["served"] = {}
    preflight_run(cast.cluster, NOW + timedelta(hours=1))
    surveyed["served"] = None
    preflight_run(cast.cluster, NOW + timedelta(hours=2))
    assert open_notices()["gate"]["after"] == "unknown"


def test_a_fact_that_changes_is_kept_without_another_notice(cast: Cast, surveyed: dict[str, object]) -> None:
    preflight_run(cast.cluster, NOW)
    for hours, seconds in ((1, 40), (2, 90)):
        surveyed["clock_ahead"] = seconds
        preflight_run(cast.cluster, NOW + timedelta(hours=hours))
    assert open_notices()["times"]["facts"] == {"seconds": 90}
    row = PreflightRow.objects.get(feature="times")
    assert row.facts == {"seconds": 90} and row.since == NOW + timedelta(hours=1)


def test_a_cluster_that_does_not_answer_keeps_its_rows(cast: Cast, surveyed: dict[str, object]) -> None:
    preflight_run(cast.cluster, NOW)
    before = verdicts(cast.cluster)
    surveyed["error"] = Retryable("silent", "")
    assert not preflight_run(cast.cluster, NOW + timedelta(hours=1))
    cluster = Cluster.objects.get()
    assert (cluster.surveyed_at, cluster.survey_error, verdicts(cluster)) == (NOW, "silent", before)
    del surveyed["error"]
    preflight_run(cluster, NOW + timedelta(hours=2))
    assert Cluster.objects.get().survey_error == ""


def test_nothing_new_writes_no_row(cast: Cast) -> None:
    def versions() -> list[tuple[str, str]]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT feature, xmin::text FROM clusters_preflightrow ORDER BY feature")
            return list(cursor.fetchall())

    preflight_run(cast.cluster, NOW)
    before = versions()
    preflight_run(cast.cluster, NOW + timedelta(hours=1))
    assert versions() == before


def test_it_is_due_every_hour_and_when_somebody_asks(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    with sent(monkeypatch) as calls:
        assert preflight_due(NOW) == 1  # never looked at
        preflight_run(cast.cluster, NOW)
        assert preflight_due(NOW + EVERY - timedelta(seconds=1)) == 0
        assert preflight_due(NOW + EVERY) == 1
        assert calls == [("clusters.preflight", cast.cluster.pk)] * 2
    preflight_run(cast.cluster)
    with sent(monkeypatch) as calls:
        preflight_ask(actor=cast.actor("admin"), cluster=cast.cluster)
        assert preflight_due() == 1
        assert len(calls) == 2
    assert AuditEvent.objects.filter(action="cluster.preflight").count() == 1
    preflight_run(cast.cluster)
    with sent(monkeypatch):
        assert preflight_due() == 0


def test_a_cluster_that_failed_is_tried_again_after_five_minutes_and_one_that_rests_is_not(
    cast: Cast, surveyed: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    surveyed["error"] = Retryable("silent", "")
    preflight_run(cast.cluster, NOW)
    with sent(monkeypatch):
        assert preflight_due(NOW + timedelta(minutes=4)) == 0
        assert preflight_due(NOW + timedelta(minutes=5)) == 1
        Cluster.objects.update(rest_until=NOW + timedelta(minutes=6))
        assert preflight_due(NOW + timedelta(minutes=5)) == 0


def test_only_an_admin_may_ask_and_take_a_notice_away(cast: Cast, surveyed: dict[str, object]) -> None:
    preflight_run(cast.cluster, NOW)
    surveyed["gate_runs"] = False
    preflight_run(cast.cluster, NOW + timedelta(hours=1))
    notice = Notice.objects.get()
    for username in ("lead-vision", "eng-vision-1"):
        with pytest.raises(NotAllowed):
            preflight_ask(actor=cast.actor(username), cluster=cast.cluster)
        with pytest.raises(NotAllowed):
            notice_seen(actor=cast.actor(username), pk=notice.pk)
    assert unseen_notices() == 1
    for _again in range(2):
        notice_seen(actor=cast.actor("admin"), pk=notice.pk)
    assert unseen_notices() == 0 and Notice.objects.get().closed_at is None
    assert AuditEvent.objects.filter(action="notice.seen").count() == 1
