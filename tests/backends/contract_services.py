"""What a backend that can SCALE promises about services: one object of many replicas, each with its own admission."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.contract import Capability, ObservedObject, PodPhase, Scalable, Scope, WorkloadRef, WorkloadSpec
from clusters.observed import held_cards
from tests.backends.contract_stage import GRACE, ContractBase, Stage, is_running, spec_of


def service_of(number: int = 1, **changes: Any) -> WorkloadSpec:
    """Two replicas of four cards each."""
    return spec_of(number, **{"kind": "inference", "pods": 2, "cards_per_pod": 4, "priority": 250, **changes})


def ref_of(spec: WorkloadSpec) -> WorkloadRef:
    return WorkloadRef(spec.job_ulid, spec.attempt, spec.space, spec.object_name, kind=spec.kind)


class ServicesContract(ContractBase):
    @pytest.fixture
    def serving(self, ready: Stage) -> Stage:
        if not isinstance(ready.backend(), Scalable):
            pytest.skip("this backend has no services")
        return ready

    def scale(self, stage: Stage, spec: WorkloadSpec, replicas: int) -> None:
        backend = stage.backend()
        assert isinstance(backend, Scalable)
        backend.scale(ref_of(spec), replicas)

    def until_size(self, stage: Stage, spec: WorkloadSpec, replicas: int) -> ObservedObject:
        return self.until(stage, spec, lambda row: is_running(row) and row.facts.wanted_pods == replicas)

    def test_who_can_scale_says_so(self, stage: Stage) -> None:
        backend = stage.backend()
        assert (Capability.SCALE in backend.capabilities) == isinstance(backend, Scalable)

    def test_a_service_is_one_object_with_a_pod_and_an_admission_per_replica(self, serving: Stage) -> None:
        spec = service_of()
        row = self.running(serving, spec)
        again = serving.backend().submit(spec)
        assert again.uid == row.uid
        assert (row.facts.wanted_pods, row.facts.cards, row.facts.admitted_pods) == (2, 8, 2)
        assert sorted(pod.rank for pod in row.facts.pods) == [0, 1]
        assert len({pod.name for pod in row.facts.pods}) == 2
        assert held_cards(row.facts) == (8, 8, 0)
        assert [other.job_ulid for other in serving.backend().observe(Scope()).objects] == [spec.job_ulid]

    def test_scaling_twice_is_scaling_once_and_keeps_the_object(self, serving: Stage) -> None:
        spec = service_of()
        uid = self.running(serving, spec).uid
        for size in (3, 1):
            for _ in range(2):
                self.scale(serving, spec, size)
            row = self.until_size(serving, spec, size)
            assert row.uid == uid and row.facts.cards == 4 * size
        serving.wait(GRACE.total_seconds())
        (left,) = self.look(serving, spec)
        assert left is not None and held_cards(left.facts) == (4, 4, 0)

    def test_replicas_that_find_no_quota_wait_beside_those_that_run(self, serving: Stage) -> None:
        spec = service_of(pods=3, cards_per_pod=8)
        self.running(serving, spec_of(2, pods=2, space="slu-beta-000000", queue="beta"))
        serving.backend().submit(spec)
        row = self.until(serving, spec, lambda row: row.facts.admitted_pods == 2 and row.facts.wait is not None)
        assert held_cards(row.facts)[1] == 16
        assert row.facts.admitted_at is not None

    def test_a_held_service_holds_nothing_and_comes_back_as_it_was(self, serving: Stage) -> None:
        spec = service_of()
        uid = self.running(serving, spec).uid
        backend: Any = serving.backend()
        backend.set_held(ref_of(spec), True)
        row = self.until(serving, spec, lambda row: not row.facts.active and not row.facts.pods)
        assert held_cards(row.facts) == (0, 0, 0) and row.facts.wanted_pods == 2
        backend.set_held(ref_of(spec), False)
        assert self.until_size(serving, spec, 2).uid == uid

    def test_a_stopped_service_is_gone_with_all_its_replicas(self, serving: Stage) -> None:
        spec = service_of()
        self.running(serving, spec)
        for _ in range(2):
            serving.backend().stop(ref_of(spec), GRACE)
        serving.wait(2)
        (row,) = self.look(serving, spec)
        if row is not None:
            assert held_cards(row.facts)[1] == 0
            assert all(pod.phase is not PodPhase.RUNNING for pod in row.facts.pods)
        serving.wait(GRACE.total_seconds())
        assert self.look(serving, spec) == [None]

    def test_scaling_what_is_not_there_is_success(self, serving: Stage) -> None:
        self.scale(serving, service_of(), 2)
        serving.wait(3)
        assert not serving.backend().observe(Scope()).objects

    def test_logs_of_a_service_tell_the_replica(self, serving: Stage) -> None:
        spec = service_of()
        self.running(serving, spec)
        serving.wait(60)
        lines = serving.backend().tail_logs(ref_of(spec), "").lines
        assert {line.rank for line in lines} == {0, 1}
        assert len({line.pod for line in lines}) == 2
