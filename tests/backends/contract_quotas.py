"""The part of the contract suite about quotas and nodes."""

from __future__ import annotations

from clusters.contract import QueuePlan, QuotaPlan
from clusters.observed import held_cards
from tests.backends.contract_stage import (
    ALPHA,
    BETA,
    CARDS,
    GROUP,
    NODES,
    ContractBase,
    Stage,
    is_running,
    plan,
    spec_of,
)


class QuotasContract(ContractBase):
    """Quotas are applied whole and never evict; every card is counted once."""

    # ----------------------------------------------------------------------- quotas

    def test_quotas_are_applied_as_often_as_one_likes(self, ready: Stage) -> None:
        for _ in range(3):
            assert ready.backend().apply_quotas(plan(16, 16)).failed == ()
            ready.wait(1)
        self.running(ready, spec_of(pods=2))

    def test_quotas_never_evict(self, ready: Stage) -> None:
        specs = [spec_of(1, pods=2), spec_of(2, pods=2, space=BETA, queue="beta")]
        for spec in specs:
            self.running(ready, spec)
        for alpha, beta in ((0, 32), (32, 0), (0, 0), (16, 16)):
            assert ready.backend().apply_quotas(plan(alpha, beta)).failed == ()
            ready.wait(30)
            for row in self.look(ready, *specs):
                assert row is not None and is_running(row) and row.facts.evictions == 0

    def test_a_decrease_makes_room_for_the_increase_beside_it(self, ready: Stage) -> None:
        """What one team gives up and another gets can be held at once, with nothing borrowed."""
        ready.backend().apply_quotas(plan(0, 32))
        ready.wait(2)
        spec = spec_of(1, pods=4, space=BETA, queue="beta")
        row = self.running(ready, spec)
        assert held_cards(row.facts)[1] == 32

    def test_a_queue_without_quota_for_a_group_says_so(self, ready: Stage) -> None:
        empty = QuotaPlan(queues=(QueuePlan("alpha", ALPHA, (), ("default",)), plan(16, 16).queues[1]), pool=())
        assert ready.backend().apply_quotas(empty).failed == ()
        ready.wait(2)
        ready.backend().submit(spec_of())
        ready.wait(5)
        (row,) = self.look(ready, spec_of())
        assert row is not None and row.facts.wait is not None and row.facts.wait.code.value == "not_offered"

    # ----------------------------------------------------------------------- inventory

    def test_the_inventory_counts_every_card_once(self, ready: Stage) -> None:
        spec = spec_of(pods=2)
        row = self.running(ready, spec)
        found = ready.backend().inventory()
        group = next(group for group in found.groups if group.name == GROUP)
        assert group.cards_per_node == CARDS and group.unit == "card" and group.title
        nodes = [node for node in found.nodes if node.node_group == GROUP]
        assert len(nodes) == NODES == len({node.name for node in nodes})
        assert {node.installed for node in nodes} == {CARDS}
        held = {node.name: node.held for node in nodes if node.held}
        assert held == {pod.node: 8 for pod in row.facts.pods}
        holders = [holder for node in nodes for holder in node.holders]
        assert {(holder.job_ulid, holder.attempt, holder.running) for holder in holders} == {(spec.job_ulid, 1, True)}
        assert sum(node.free for node in nodes) == NODES * CARDS - 16
        assert all(node.free + node.held <= node.installed for node in nodes)

    def test_every_node_belongs_to_a_group_that_is_told(self, ready: Stage) -> None:
        found = ready.backend().inventory()
        assert {node.node_group for node in found.nodes} - {None} == {group.name for group in found.groups}
        assert found.read_at.tzinfo is not None
