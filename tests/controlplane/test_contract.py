"""The real schedulers keep the contract of every backend."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from clusters.backends.kueue_volcano import names
from clusters.contract import QuotaPlan
from tests.backends.contract import BackendContract
from tests.backends.contract_stage import BETA, Stage, is_running, plan, ref_of, spec_of
from tests.controlplane.plane import Plane
from tests.controlplane.stage import PlaneStage


class TestKueueVolcano(BackendContract):
    @pytest.fixture
    def stage(self, shared_plane: Plane, db: None) -> PlaneStage:
        return PlaneStage(shared_plane)

    def test_a_queue_that_no_plan_wants_goes_once_it_is_empty(self, ready: Stage, shared_plane: Plane) -> None:
        spec = spec_of(1, space=BETA, queue="beta")
        self.running(ready, spec)
        without_beta = replace(plan(16, 0), queues=plan(16, 0).queues[:1])
        assert ready.backend().apply_quotas(without_beta).failed == ()
        (row,) = self.look(ready, spec)
        assert row is not None and is_running(row)
        assert shared_plane.client.find(names.CLUSTER_QUEUES.path(None, names.cluster_queue("beta")))
        ready.backend().stop(ref_of(spec), timedelta(0))
        shared_plane.wait_for(lambda: self._is_gone(ready, shared_plane, without_beta), "both queues are gone")
        assert shared_plane.client.find(names.NAMESPACES.path(None, BETA))

    def _is_gone(self, stage: Stage, on: Plane, without_beta: QuotaPlan) -> bool:
        assert stage.backend().apply_quotas(without_beta).failed == ()
        local_queue = names.LOCAL_QUEUES.path(BETA, names.local_queue("default"))
        cluster_queue = names.CLUSTER_QUEUES.path(None, names.cluster_queue("beta"))
        return on.client.find(local_queue) is None and on.client.find(cluster_queue) is None
