"""Every test of this folder starts real processes and takes real time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.console import copy_state, running, state_folder

TEST_SECONDS = 300  # several whole starts; what a test promises is measured inside it


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.system)
            item.add_marker(pytest.mark.timeout(TEST_SECONDS))


@pytest.fixture
def state() -> Iterator[Path]:
    """A state folder of one test, for a first start."""
    with state_folder() as folder:
        yield folder


@pytest.fixture(scope="session")
def state_of_an_earlier_start() -> Iterator[Path]:
    """What one whole start with the demo's people leaves behind; only to be copied."""
    with state_folder() as folder:
        with running(folder, SLUICE_DEMO="1") as console:
            console.wait_for("READY")
        yield folder


@pytest.fixture
def used_state(state: Path, state_of_an_earlier_start: Path) -> Path:
    """A state folder of one test, for a later start."""
    copy_state(state_of_an_earlier_start, state)
    return state
