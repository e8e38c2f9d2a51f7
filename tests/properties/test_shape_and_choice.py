"""The shape of a job is the best there is, found by trying all (decision 12); the choice keeps its promises (13)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.domain.choice import Candidate, choose_group, starts_now
from jobs.domain.shape import NoShape, Shape, shape_of
from jobs.domain.words import Framework

counts = st.integers(1, 200)
sizes = st.integers(1, 16)
vendors = st.sampled_from(["nvidia", "ascend", "cambricon"])


def allowed_sizes(cards_per_node: int, vendor: str, *, several: bool) -> list[int]:
    """The words of the decision, literally: whole nodes and 1, 2, 4, 8 on Ascend, half a node at least elsewhere."""
    if vendor == "ascend":
        steps = [size for size in (1, 2, 4, 8) if size < cards_per_node]
        return [cards_per_node] if several else [*steps, cards_per_node]
    if several:
        return [size for size in range(1, cards_per_node + 1) if size * 2 >= cards_per_node]
    return list(range(1, cards_per_node + 1))


def best(cards: int, cards_per_node: int, vendor: str) -> Shape | None:
    """The fewest equal pods, by trying every number of them."""
    for pods in range(1, cards + 1):
        if cards % pods == 0 and cards // pods in allowed_sizes(cards_per_node, vendor, several=pods > 1):
            return Shape(pods, cards // pods)
    return None


@given(counts, sizes, vendors)
def test_the_shape_has_the_fewest_equal_pods_that_are_allowed(cards: int, cards_per_node: int, vendor: str) -> None:
    expected = best(cards, cards_per_node, vendor)
    if expected is not None:
        assert shape_of(cards, cards_per_node=cards_per_node, vendor=vendor) == expected
        return
    with pytest.raises(NoShape) as caught:
        shape_of(cards, cards_per_node=cards_per_node, vendor=vendor)
    below = next((n for n in range(cards - 1, 0, -1) if best(n, cards_per_node, vendor)), None)
    above = next(n for n in range(cards + 1, cards + 1_000) if best(n, cards_per_node, vendor))
    assert caught.value.nearest == tuple(n for n in (below, above) if n is not None)


@given(counts, sizes, vendors)
def test_what_is_offered_instead_is_never_refused(cards: int, cards_per_node: int, vendor: str) -> None:
    try:
        shape_of(cards, cards_per_node=cards_per_node, vendor=vendor)
    except NoShape as error:
        assert error.nearest
        for other in error.nearest:
            assert shape_of(other, cards_per_node=cards_per_node, vendor=vendor).cards == other


candidates = st.builds(
    Candidate,
    slug=st.text(alphabet="abc", min_size=1, max_size=3),
    vendor=vendors,
    sharing=st.sampled_from(["exclusive", "exclusive", "mig"]),
    cards_per_node=st.sampled_from([4, 8, 16]),
    capacity=st.integers(1, 64),
    nominal=st.integers(0, 32),
    free_nominal=st.integers(0, 32),
    cohort_free=st.integers(0, 64),
    free_blocks=st.lists(st.integers(0, 8), max_size=4).map(tuple),
    queued_ahead=st.integers(0, 2),
)


@given(
    st.lists(candidates, max_size=5, unique_by=lambda c: c.slug),
    st.integers(1, 40),
    st.sampled_from(Framework),
    st.none() | vendors,
    st.randoms(use_true_random=False),
)
def test_the_choice_is_whole_fitting_and_does_not_depend_on_the_order(
    found: list[Candidate], cards: int, framework: Framework, last: str | None, random: object
) -> None:
    def choose(order: list[Candidate]) -> tuple[Candidate, Shape] | str:
        try:
            return choose_group(order, cards=cards, framework=framework, last_vendor=last)
        except NoShape:
            return "no shape"
        except LookupError:
            return "no group"

    chosen = choose(found)
    shuffled = sorted(found, key=lambda _: random.random())  # type: ignore[attr-defined]
    assert choose(shuffled) == chosen
    exclusive = [c for c in found if c.exclusive]
    if isinstance(chosen, str):
        assert (chosen == "no group") == (not exclusive)
        return
    group, shape = chosen
    assert group.exclusive and shape.cards == cards
    if last in {c.vendor for c in exclusive}:
        assert group.vendor == last
    rivals = [c for c in exclusive if c.vendor == group.vendor and c.capacity >= cards and fits_now(c, cards)]
    assert not rivals or starts_now(group, shape)


def fits_now(candidate: Candidate, cards: int) -> bool:
    try:
        shape = shape_of(cards, cards_per_node=candidate.cards_per_node, vendor=candidate.vendor)
    except NoShape:
        return False
    return starts_now(candidate, shape)
