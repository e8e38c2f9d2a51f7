"""The real schedulers keep the contract of every backend."""

from __future__ import annotations

import pytest

from tests.backends.contract import BackendContract
from tests.controlplane.plane import Plane
from tests.controlplane.stage import PlaneStage


class TestKueueVolcano(BackendContract):
    @pytest.fixture
    def stage(self, shared_plane: Plane, db: None) -> PlaneStage:
        return PlaneStage(shared_plane)
