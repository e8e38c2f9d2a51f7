"""Every test of this folder starts real processes and takes real time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.console import state_folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.system)


@pytest.fixture
def state() -> Iterator[Path]:
    """A state folder of one test."""
    with state_folder() as folder:
        yield folder
