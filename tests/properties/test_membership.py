"""Membership by labels: every node in one group at most, whatever the order, and the remainder is set apart."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clusters.contract import SharingMode
from clusters.domain.membership import (
    Claim,
    Described,
    are_disjoint,
    carries,
    claims_on,
    label_values,
    membership,
    set_apart,
    telling_labels,
)

KEYS, VALUES, RESOURCES = ("model", "site/fabric", "rack"), ("a", "b"), ("nvidia.com/gpu", "nvidia.com/mig-1g.10gb")
labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
offers = st.dictionaries(st.sampled_from(RESOURCES), st.sampled_from(SharingMode), max_size=2)
nodes = st.lists(st.tuples(labels, offers), max_size=8).map(
    lambda rows: [Described(f"n{number}", *row) for number, row in enumerate(rows)]
)
selectors = labels.map(lambda chosen: tuple(sorted(chosen.items())))
claims = st.lists(
    st.tuples(st.sampled_from(RESOURCES), selectors, st.none() | st.sampled_from(SharingMode)), max_size=5
).map(lambda rows: [Claim(f"g{number}", *row) for number, row in enumerate(rows)])


@given(nodes, claims, st.randoms())
def test_a_node_is_in_one_group_at_most_and_the_order_does_not_matter(
    machines: list[Described], wanted: list[Claim], random: object
) -> None:
    found = membership(machines, wanted)
    assert not set(found.groups) & set(found.contested)
    assert membership(machines[::-1], wanted[::-1]) == found
    for machine in machines:
        fitting = claims_on(machine, wanted)
        assert all(
            carries(machine.labels, claim.selector) and (not machine.offers or claim.resource in machine.offers)
            for claim in wanted
            if claim.slug in fitting
        )
        assert (machine.name in found.groups) == (len(fitting) == 1)
        assert found.contested.get(machine.name, ()) == (fitting if len(fitting) > 1 else ())


@given(nodes, claims)
def test_one_more_claim_never_moves_a_node_from_one_group_into_another(
    machines: list[Described], wanted: list[Claim]
) -> None:
    """It may take what was nobody's, or make a node contested; with whole cards and slices the better one counts."""
    for claim in wanted:
        others = [other for other in wanted if other is not claim]
        before, after = membership(machines, others), membership(machines, wanted)
        for name, slug in after.groups.items():
            assert slug == claim.slug or before.groups.get(name) == slug or name in before.contested


@given(nodes, claims, selectors)
def test_what_is_set_apart_is_claimed_by_nobody_who_chooses_by_labels_that_all_nodes_carry(
    machines: list[Described], wanted: list[Claim], base: tuple[tuple[str, str], ...]
) -> None:
    for machine in machines:
        for resource in machine.offers:
            if not carries(machine.labels, base):
                continue
            apart = set_apart(base, resource, machine.labels, wanted)
            assert carries(machine.labels, apart)
            for claim in wanted:
                has_all = all(key in machine.labels for key, _value in claim.selector)
                if claim.resource == resource and has_all and not carries(machine.labels, claim.selector):
                    assert are_disjoint(apart, claim.selector)


def test_labels_that_say_nothing_of_cards_are_left_out() -> None:
    said = {"nvidia.com/gpu.product": "H100", "feature.node.kubernetes.io/cpu-cpuid.AVX": "true", "rack": "r1"}
    assert telling_labels(said) == {"nvidia.com/gpu.product": "H100", "rack": "r1"}


def test_values_are_counted_but_for_labels_that_name_one_node_each() -> None:
    machines = [
        Described(f"n{number}", {"kubernetes.io/hostname": f"n{number}", "rack": rack}, {})
        for number, rack in enumerate("aab")
    ]
    assert label_values(machines) == {"rack": {"a": 2, "b": 1}}
