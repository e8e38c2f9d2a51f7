"""Which node group a job goes to when it names no card model (decisions 13 and 26)."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest

from jobs.domain.choice import Candidate, choose_group, starts_now, usable_candidates
from jobs.domain.shape import NoShape, Shape
from jobs.domain.words import Framework, Kind

H100 = Candidate("h100", "nvidia", "exclusive", 8, 32, 12, 4, 10, (8, 2, 0, 0))
A100 = Candidate("a100", "nvidia", "exclusive", 8, 32, 16, 0, 0, (0, 0, 0, 0))
ASCEND = Candidate("ascend-910b", "ascend", "exclusive", 8, 16, 6, 6, 16, (8, 8))
SLICES = Candidate("slices", "nvidia", "mig", 14, 28, 10, 10, 28, (14, 14))
CPU_NODES = Candidate("cpu", "", "exclusive", 0, 0, 0, 0, 0, (0, 0))
ALL = [H100, A100, ASCEND, SLICES]


def chosen(
    candidates: list[Candidate], cards: int, framework: Framework = Framework.PYTORCH, last: str | None = None
) -> str:
    """The slug of the chosen group; the order of the candidates must not matter."""
    found = {
        choose_group(list(order), cards=cards, framework=framework, last_vendor=last)[0].slug
        for order in permutations(candidates)
    }
    assert len(found) == 1
    return found.pop()


def test_pytorch_goes_to_the_largest_nvidia_group_vendor() -> None:
    assert chosen(ALL, 4) == "h100"


def test_mindspore_goes_to_ascend() -> None:
    assert chosen(ALL, 4, Framework.MINDSPORE) == "ascend-910b"


def test_mindspore_without_an_ascend_group_goes_to_nvidia() -> None:
    assert chosen([H100, A100], 4, Framework.MINDSPORE) == "h100"


def test_the_vendor_of_the_last_job_of_this_framework_comes_first() -> None:
    assert chosen(ALL, 4, Framework.PYTORCH, last="ascend") == "ascend-910b"
    assert chosen(ALL, 4, Framework.MINDSPORE, last="nvidia") == "h100"


def test_a_vendor_that_the_team_has_no_more_does_not_count() -> None:
    assert chosen(ALL, 4, Framework.PYTORCH, last="cambricon") == "h100"


def test_a_team_without_nvidia_gets_what_it_has() -> None:
    assert chosen([ASCEND], 4) == "ascend-910b"


def test_of_several_other_vendors_the_one_of_the_largest_group_is_taken() -> None:
    small = replace(A100, vendor="cambricon", slug="mlu", nominal=2)
    assert chosen([ASCEND, small], 4) == "ascend-910b"
    assert chosen([ASCEND, replace(small, nominal=20, free_blocks=(8,), cohort_free=8)], 4) == "mlu"


def test_never_another_vendor_although_only_that_one_would_start_now() -> None:
    assert chosen([A100, ASCEND], 8) == "a100"


def test_of_one_vendor_the_group_that_starts_now_comes_before_the_larger_one() -> None:
    busy_but_large = replace(A100, free_nominal=16, cohort_free=16)  # quota is free, its nodes are not
    assert chosen([H100, busy_but_large], 8) == "h100"


def test_of_two_that_start_now_the_one_inside_the_own_quota_is_taken() -> None:
    borrowing = replace(H100, slug="borrowing", free_nominal=4)
    own = replace(H100, slug="own", free_nominal=8)
    assert chosen([borrowing, own], 8) == "own"


def test_when_none_starts_now_the_most_free_nominal_quota_decides() -> None:
    full = replace(H100, free_blocks=(0, 0, 0, 0), free_nominal=2)
    roomier = replace(A100, free_nominal=6)
    assert chosen([full, roomier], 8) == "a100"


def test_a_group_that_is_too_small_is_left_out_while_another_can_hold_the_job() -> None:
    small = replace(ASCEND, vendor="nvidia", slug="small", free_nominal=16)
    assert chosen([small, A100], 24) == "a100"


def test_the_shape_follows_from_the_chosen_group() -> None:
    group, shape = choose_group([H100, A100], cards=12, framework=Framework.PYTORCH, last_vendor=None)
    assert (group.slug, shape) == ("h100", Shape(2, 6)) or (group.slug, shape) == ("a100", Shape(2, 6))


def test_a_count_that_no_group_of_the_vendor_can_split_is_refused_with_neighbours() -> None:
    with pytest.raises(NoShape) as caught:
        choose_group(ALL, cards=11, framework=Framework.PYTORCH, last_vendor=None)
    assert caught.value.nearest == (10, 12)


def test_no_neighbour_is_offered_that_can_never_start() -> None:
    for cards, framework, nearest in ((33, Framework.PYTORCH, (32,)), (17, Framework.MINDSPORE, (16,))):
        with pytest.raises(NoShape) as caught:
            choose_group(ALL, cards=cards, framework=framework, last_vendor=None)
        assert caught.value.nearest == nearest


def test_without_any_group_there_is_nothing_to_choose() -> None:
    for candidates in ([], [SLICES]):
        with pytest.raises(LookupError):
            choose_group(candidates, cards=1, framework=Framework.PYTORCH, last_vendor=None)


def test_a_pool_of_cut_cards_never_takes_training() -> None:
    assert SLICES not in usable_candidates(ALL, Kind.TRAINING)
    assert SLICES in usable_candidates(ALL, Kind.DEVELOPMENT)


def test_a_pool_of_cut_cards_is_never_taken_for_a_job_that_named_no_model() -> None:
    assert chosen([A100, SLICES], 1) == "a100"


@pytest.mark.parametrize("kind", [Kind.TRAINING, Kind.DEVELOPMENT])
def test_nodes_without_cards_are_no_place_for_a_job_with_cards(kind: Kind) -> None:
    assert usable_candidates([CPU_NODES, H100], kind) == [H100]


@pytest.mark.parametrize(
    ("candidate", "shape", "now"),
    [
        pytest.param(H100, Shape(1, 8), True, id="a whole node is free"),
        pytest.param(H100, Shape(1, 2), True, id="a part of a node is free"),
        pytest.param(H100, Shape(2, 5), False, id="ten are free, two times five are not"),
        pytest.param(replace(H100, free_blocks=(5, 3)), Shape(1, 8), False, id="five and three are not eight"),
        pytest.param(replace(H100, free_blocks=(8, 8)), Shape(2, 4), True, id="one node may hold both pods"),
        pytest.param(replace(H100, cohort_free=7), Shape(1, 8), False, id="quota is short"),
        pytest.param(replace(H100, free_nominal=0), Shape(1, 8), True, id="quota may be borrowed"),
        pytest.param(replace(H100, queued_ahead=1), Shape(1, 1), True, id="one that does not fit waits before it"),
        pytest.param(replace(H100, free_blocks=()), Shape(1, 0), True, id="a job without cards needs no block"),
    ],
)
def test_whether_a_job_would_start_at_once(candidate: Candidate, shape: Shape, now: bool) -> None:
    assert starts_now(candidate, shape) is now
