"""What a backend that keeps NODES promises: closed ones take nothing new, and what runs there goes on."""

from __future__ import annotations

from datetime import timedelta

import pytest

from clusters.contract import Capability, NodeFacts, NodeKeeper, NodeTrouble, Rejected, Steerable, WorkloadSpec
from tests.backends.contract_stage import CARDS, NODES, ContractBase, Stage, is_running, ref_of, spec_of


class NodesContract(ContractBase):
    @pytest.fixture
    def kept(self, ready: Stage) -> Stage:
        if not isinstance(ready.backend(), NodeKeeper):
            pytest.skip("this backend does not announce that it can close nodes, so it is not asked to")
        return ready

    def nodes(self, stage: Stage) -> dict[str, NodeFacts]:
        return {node.name: node for node in stage.backend().inventory().nodes if node.node_group is not None}

    def close(self, stage: Stage, *names: str, schedulable: bool = False, dry_run: bool = False) -> None:
        backend = stage.backend()
        assert isinstance(backend, NodeKeeper)
        for name in names:
            backend.set_schedulable(name, schedulable, dry_run=dry_run)
        stage.wait(2)

    def test_who_keeps_nodes_says_so(self, stage: Stage) -> None:
        backend = stage.backend()
        assert (Capability.NODES in backend.capabilities) == isinstance(backend, NodeKeeper)

    def test_a_closed_node_takes_nothing_new_until_it_is_open_again(self, kept: Stage) -> None:
        spec = spec_of()
        self.running(kept, spec)
        home = self.home(kept, spec)
        try:
            for _ in range(2):
                self.close(kept, home)
            node = self.nodes(kept)[home]
            assert (node.offered, node.free, node.held) == (0, 0, CARDS)
            assert [told.trouble for told in node.conditions] == [NodeTrouble.CORDONED]
            (row,) = self.look(kept, spec)
            assert row is not None and is_running(row)
        finally:
            self.close(kept, home, schedulable=True)
        node = self.nodes(kept)[home]
        assert (node.offered, node.conditions) == (CARDS, ())

    def test_what_does_not_fit_on_the_open_ones_waits(self, kept: Stage) -> None:
        closed, *_rest = sorted(self.nodes(kept))
        self.close(kept, closed)
        try:
            spec = spec_of(pods=NODES)
            kept.backend().submit(spec)
            kept.wait(10)
            (row,) = self.look(kept, spec)
            assert row is not None and row.facts.scheduled_at is None
        finally:
            self.close(kept, closed, schedulable=True)
        self.until(kept, spec, is_running)

    def test_a_dry_run_closes_nothing(self, kept: Stage) -> None:
        name = min(self.nodes(kept))
        self.close(kept, name, dry_run=True)
        assert self.nodes(kept)[name].offered == CARDS

    def test_a_node_that_is_not_there_is_refused(self, kept: Stage) -> None:
        backend = kept.backend()
        assert isinstance(backend, NodeKeeper)
        for dry_run in (True, False):
            with pytest.raises(Rejected) as refused:
                backend.set_schedulable("no-such-node", False, dry_run=dry_run)
            assert refused.value.code == "node_missing"

    def test_no_pod_is_placed_on_a_node_that_its_job_avoids(self, ready: Stage) -> None:
        names = sorted(self.nodes(ready))
        wanted = names[-1]
        spec = spec_of(avoid_nodes=tuple(names[:-1]))
        self.running(ready, spec)
        assert self.home(ready, spec) == wanted

    def test_one_that_waits_is_steered_to_other_nodes_and_keeps_its_place(self, ready: Stage) -> None:
        backend = ready.backend()
        assert (Capability.STEER in backend.capabilities) == isinstance(backend, Steerable)
        if not isinstance(backend, Steerable):
            pytest.skip("this backend cannot change where an attempt goes")
        names = sorted(self.nodes(ready))
        blocker, spec = spec_of(1, pods=NODES), spec_of(2)
        self.running(ready, blocker)
        backend.submit(spec)
        before = self.until(ready, spec, lambda row: row.facts.wait is not None)
        for avoid in (tuple(names[1:]), tuple(names[:-1]), tuple(names[:-1])):
            ready.backend().steer(ref_of(spec), avoid)  # type: ignore[attr-defined]
            row = self.until(ready, spec, lambda row, avoid=avoid: row.facts.avoid_nodes == avoid)  # type: ignore[misc]
        assert (row.uid, row.facts.created_at) == (before.uid, before.facts.created_at)
        ready.backend().stop(ref_of(blocker), timedelta(0))
        self.until(ready, spec, is_running)
        assert self.home(ready, spec) == names[-1]

    def home(self, stage: Stage, spec: WorkloadSpec) -> str:
        (row,) = self.look(stage, spec)
        assert row is not None and row.facts.pods[0].node is not None
        return row.facts.pods[0].node
