"""The table of scenarios on the real schedulers: what the sandbox and the engine are measured by."""

from __future__ import annotations

import pytest

from tests.backends import scenario_words as s
from tests.backends.scenario_runner import play
from tests.backends.scenarios import SCENARIOS
from tests.controlplane.plane import Plane
from tests.controlplane.stage import PlaneDriver


@pytest.mark.every_kueue
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: f"{scenario.key}: {scenario.title}")
def test_the_real_control_plane_decides_as_the_table_says(shared_plane: Plane, db: None, scenario: s.Scenario) -> None:
    play(scenario, PlaneDriver(shared_plane))
