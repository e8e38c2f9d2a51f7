"""A console with its demo, whose history is a day short so that the tests stay quick."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import time_machine

from clusters.models import Cluster
from console.demo import history
from console.setup import ensure_instance

MOMENT = datetime(2026, 3, 4, 9, 30, tzinfo=UTC)
"""A play follows from its seed and its moment: with a fixed one the same tests see the same stage."""


@pytest.fixture
def short_history(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "HISTORY_DAYS", 1)


@pytest.fixture
def clock(db: None) -> Iterator[time_machine.Traveller]:
    """Time stands still and moves only when told to."""
    with time_machine.travel(MOMENT, tick=False) as traveller:
        yield traveller


@pytest.fixture
def demo(clock: time_machine.Traveller, short_history: None, tmp_path: Path) -> Cluster:
    """The sandbox of a fresh demo."""
    ensure_instance(demo=True, state_dir=tmp_path)
    return Cluster.objects.get(slug="sandbox")
