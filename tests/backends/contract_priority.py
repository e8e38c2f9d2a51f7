"""What a backend that can change PRIORITY promises: another order of waiting, nothing lost of what waits or runs."""

from __future__ import annotations

from datetime import timedelta

import pytest

from clusters.contract import Capability, Prioritised, Scope, WorkloadSpec
from tests.backends.contract_stage import ContractBase, Stage, is_running, ref_of, spec_of

LOW, NORMAL, HIGH = 100, 200, 300


class PriorityContract(ContractBase):
    @pytest.fixture
    def ranked(self, ready: Stage) -> Stage:
        if not isinstance(ready.backend(), Prioritised):
            pytest.skip("this backend cannot change a priority")
        return ready

    def rank(self, stage: Stage, spec: WorkloadSpec, priority: int) -> None:
        backend = stage.backend()
        assert isinstance(backend, Prioritised)
        backend.set_priority(ref_of(spec), priority)

    def until_ranked(self, stage: Stage, spec: WorkloadSpec, priority: int) -> None:
        self.until(stage, spec, lambda row: row.facts.priority == priority)

    def test_who_can_change_a_priority_says_so(self, stage: Stage) -> None:
        backend = stage.backend()
        assert (Capability.PRIORITY in backend.capabilities) == isinstance(backend, Prioritised)

    def test_the_order_of_those_that_wait_follows_and_their_time_is_kept(self, ranked: Stage) -> None:
        blocker, first, second = (spec_of(number, pods=4) for number in (1, 2, 3))
        self.running(ranked, blocker)
        for spec in (first, second):
            ranked.backend().submit(spec)
            ranked.wait(2)
        (before,) = self.look(ranked, first)
        self.rank(ranked, first, LOW)
        self.until_ranked(ranked, first, LOW)
        (after,) = self.look(ranked, first)
        assert before is not None and after is not None
        assert (after.uid, after.facts.created_at) == (before.uid, before.facts.created_at)
        ranked.backend().stop(ref_of(blocker), timedelta(0))
        self.until(ranked, second, is_running)
        self.rank(ranked, first, NORMAL)
        self.until_ranked(ranked, first, NORMAL)
        (row,) = self.look(ranked, first)
        assert row is not None and row.facts.admitted_at is None

    def test_one_that_runs_goes_on(self, ranked: Stage) -> None:
        spec = spec_of()
        before = self.running(ranked, spec)
        for _ in range(2):
            self.rank(ranked, spec, HIGH)
        self.until_ranked(ranked, spec, HIGH)
        ranked.wait(5)
        (row,) = self.look(ranked, spec)
        assert row is not None and is_running(row)
        assert (row.uid, row.facts.evictions, row.facts.admitted_at) == (before.uid, 0, before.facts.admitted_at)

    def test_a_priority_for_what_is_not_there_is_success(self, ranked: Stage) -> None:
        self.rank(ranked, spec_of(), HIGH)
        ranked.wait(3)
        assert not ranked.backend().observe(Scope()).objects

    def test_the_object_of_somebody_else_keeps_its_own(self, ranked: Stage) -> None:
        spec = spec_of()
        ranked.occupy(spec)
        ranked.wait(2)

        def foreign() -> list[tuple[str, int | None]]:
            rows = ranked.backend().observe(Scope()).objects
            return [(row.uid, row.facts.priority) for row in rows if row.job_ulid != spec.job_ulid]

        before = foreign()
        self.rank(ranked, spec, HIGH)
        ranked.wait(5)
        assert foreign() == before
