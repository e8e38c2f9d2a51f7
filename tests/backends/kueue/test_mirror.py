"""Lists and events of a cluster that is followed live come in any order; the mirror shows the newest of both."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from clusters.backends.kueue_volcano import lists, mirror, names, raw
from clusters.backends.kueue_volcano.mirror import Mirror, _Changed, _Intake, _ListBegins, _Listed, _RoundBegins
from clusters.backends.kueue_volcano.snapshot import Snapshot
from tests.backends.kueue.objects import INSTALLATION, KINDS, NOW, Object, cond, decoded, event, job, node

KEY = ("01K00000000000000000000001", 1)
OTHER = "01K00000000000000000000002"


@pytest.fixture
def intake() -> _Intake:
    """Jobs were listed at version 10: one of version 5."""
    fresh = _Intake(Snapshot(INSTALLATION))
    fresh.take(_ListBegins(names.JOBS))
    fresh.take(listed(job(version="5"), version="10"))
    return fresh


def listed(*objects: Object, version: str, kind: names.Kind = names.JOBS, seconds: float = 0) -> _Listed:
    return _Listed(kind, decoded(kind, *objects), version, True, NOW + timedelta(seconds=seconds))


def tell(intake: _Intake, kind: str, thing: Object) -> set[Any]:
    return intake.take(_Changed(KINDS[thing["kind"]], event(kind, thing)))


def attempts(intake: _Intake) -> set[str]:
    return {row.job_ulid for row in intake.snapshot.observed()}


def other(version: str) -> Object:
    return job(uid="job-2", ulid=OTHER, name="j-2", version=version)


def test_what_is_made_while_a_list_is_under_way_stays(intake: _Intake) -> None:
    intake.take(_ListBegins(names.JOBS))
    tell(intake, "ADDED", other("12"))
    assert intake.take(listed(job(version="5"), version="11")) == {(OTHER, 1)}
    assert attempts(intake) == {KEY[0], OTHER}


def test_what_is_deleted_while_a_list_is_under_way_stays_away(intake: _Intake) -> None:
    intake.take(_ListBegins(names.JOBS))
    tell(intake, "DELETED", job(version="12"))
    assert intake.take(listed(job(version="5"), version="11")) == {KEY}
    assert attempts(intake) == set()


def test_an_event_that_a_list_knew_of_does_not_bring_back_what_is_gone(intake: _Intake) -> None:
    intake.take(_ListBegins(names.JOBS))
    assert intake.take(listed(version="20")) == {KEY}
    assert tell(intake, "MODIFIED", job(version="18")) == set()
    assert attempts(intake) == set()


def test_the_end_of_an_earlier_node_does_not_end_a_later_one_of_its_name(intake: _Intake) -> None:
    intake.take(listed(node("n1", version="30"), version="31", kind=names.NODES))
    tell(intake, "DELETED", node("n1", version="29"))
    assert [found.metadata.name for found in intake.snapshot.nodes] == ["n1"]


def test_a_newer_event_counts_also_after_the_list(intake: _Intake) -> None:
    assert tell(intake, "MODIFIED", job(cond("Complete", s=50), version="11")) == {KEY}
    assert intake.snapshot.observed()[0].facts.outcome is not None


def test_a_look_is_as_old_as_the_oldest_of_its_lists(intake: _Intake) -> None:
    intake.take(_RoundBegins())
    for place, kind in enumerate(KINDS.values()):
        intake.take(listed(version="50", kind=kind, seconds=5 + place))
    assert intake.complete().read_at == NOW + timedelta(seconds=5)
    assert intake.listed == {}


class Cluster:
    """Lists and watches without an API server. A list of Jobs waits while ``answers`` is not set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers = threading.Event()
        self.answers.set()
        self.asked = threading.Event()
        self.event: raw.Event | None = None
        monkeypatch.setattr(mirror, "list_all", self.list_all)
        monkeypatch.setattr(mirror, "watch_events", self.watch_events)

    def list_all(self, _client: object, followed: lists.Followed, _installation: str) -> raw.Listed:
        if followed.kind is names.JOBS:
            if not self.answers.is_set():
                self.asked.set()
            assert self.answers.wait(10)
        items = decoded(followed.kind, job(version="5")) if followed.kind is names.JOBS else ()
        return raw.Listed(items, "10", "", ())

    def watch_events(self, _client: object, followed: lists.Followed, *_: object) -> Iterator[raw.Event]:
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            if followed.kind is names.JOBS and self.event is not None:
                told, self.event = self.event, None
                yield told
            time.sleep(0.005)

    def close(self) -> None:
        self.answers.set()


def test_a_slow_list_holds_up_no_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror, "ROUND_SECONDS", 0.1)
    cluster = Cluster(monkeypatch)
    told = Mirror(cluster, Snapshot(INSTALLATION), INSTALLATION).observations(lambda: False)
    assert next(told).complete
    cluster.answers.clear()
    assert cluster.asked.wait(10)
    cluster.event = event("MODIFIED", job(cond("Complete", s=50), version="11"))
    partial = next(row for row in told if not row.complete)
    assert [row.facts.outcome for row in partial.objects] == ["succeeded"]
    cluster.answers.set()
    again = next(row for row in told if row.complete)
    assert [row.facts.outcome for row in again.objects] == ["succeeded"]
    told.close()
