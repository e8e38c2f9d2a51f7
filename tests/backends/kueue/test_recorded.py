"""Objects recorded from the real schedulers while they played scenarios of the table, and how they are to be read.

A recording has one entry per step that let the cluster settle: what changed since the one before, without fields that
nobody reads, and what the table expected then. The same scenarios run live in `tests/controlplane`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clusters.backends.kueue_volcano.snapshot import Snapshot
from clusters.contract import Outcome, WorkloadFacts
from tests.backends.kueue.objects import INSTALLATION, KINDS, Object, event, snapshot_of
from tests.backends.scenario_runner import is_admitted, is_running, is_waiting

RECORDINGS = sorted((Path(__file__).parent / "recorded").glob("*/*.json"))


def test_there_are_recordings_of_each_version() -> None:
    assert {path.parent.name for path in RECORDINGS} == {"0.17", "0.19"}


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: f"{path.stem} on {path.parent.name}")
def test_what_the_real_schedulers_wrote_is_read_as_the_table_says(path: Path) -> None:
    followed, there = Snapshot(INSTALLATION), {}
    for kind in KINDS.values():
        followed.replace(kind, ())
    for entry in json.loads(path.read_text()):
        for change in entry["changes"]:
            _follow(followed, there, change)
        rows = followed.observed()
        assert rows == snapshot_of(*there.values()).observed()
        if entry["expect"] is not None:
            facts = {_name(row.job_ulid): row.facts for row in rows}
            assert _read(facts, entry["expect"]) == entry["expect"], entry["checkpoint"]


def _follow(snapshot: Snapshot, there: dict[str, Object], change: Object) -> None:
    thing = change["object"]
    snapshot.apply(KINDS[thing["kind"]], event(change["type"], thing))
    if change["type"] == "DELETED":
        del there[thing["metadata"]["uid"]]
    else:
        there[thing["metadata"]["uid"]] = thing


def _name(ulid: str) -> str:
    """The scenarios' jobs have their names for ULIDs."""
    return ulid.lstrip("0").lower()


def _read(facts: dict[str, WorkloadFacts], expect: Object) -> Object:
    """The facts in the words of an entry; what it leaves open is left open."""
    waits, numbers = expect.get("waiting", {}), expect.get("numbers", {})
    told: dict[str, Any] = {
        "admitted": sorted(name for name, fact in facts.items() if is_admitted(fact)),
        "running": sorted(name for name, fact in facts.items() if is_running(fact)),
        "held": sorted(name for name, fact in facts.items() if not fact.active and fact.outcome is None),
        "unplaceable": sorted(name for name, fact in facts.items() if fact.unplaceable),
        "succeeded": sorted(name for name, fact in facts.items() if fact.outcome is Outcome.SUCCEEDED),
        "waiting": {
            name: fact.wait.code if fact.wait is not None and waits.get(name) is not None else None
            for name, fact in facts.items()
            if is_waiting(fact)
        },
        "failed": {
            name: [fact.failure.code, fact.failure.rank, fact.failure.exit_code]
            for name, fact in facts.items()
            if fact.failure is not None
        },
        "victims": {
            name: [fact.eviction_cause, _name(fact.evicted_by) if fact.evicted_by else None, fact.evictions]
            for name, fact in facts.items()
            if fact.evictions
        },
        "numbers": {
            name: {number: getattr(facts[name].wait, number, None) for number in wanted}
            for name, wanted in numbers.items()
        },
    }
    return {word: value for word, value in told.items() if value}
