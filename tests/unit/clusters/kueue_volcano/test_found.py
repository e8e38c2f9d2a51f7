"""Queues of others, in cards of our node groups; and an account that may not see everything."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.client import KubeClient, Missing
from clusters.backends.kueue_volcano.found import Finder, Place
from clusters.contract import BackendError, FoundCards, FoundLocalQueue, FoundQueueFacts, Retryable, Unauthorized
from tests import foreign
from tests.backends.kueue.objects import NOW, RESOURCE

PLACES = {
    **{f"h100-{number}": Place("h100", RESOURCE) for number in range(4)},
    **{f"a100-{number}": Place("a100", RESOURCE) for number in range(2)},
}


class Recorded:
    """Answers by kind; an error is raised, a kind that is not there is a 404."""

    def __init__(self, **answers: Any) -> None:
        self.answers = foreign.objects() | answers

    def get(self, path: str, _params: Any = None) -> bytes:
        found = self.answers.get(path.rsplit("/", 1)[-1])
        if isinstance(found, Exception):
            raise found
        if found is None:
            raise Missing("not_found", path)
        return msgspec.json.encode({"metadata": {"resourceVersion": "1"}, "items": found})


def found(*, quota: bool = True, places: dict[str, Place] = PLACES, **answers: Any) -> dict[str, FoundQueueFacts]:
    client = cast(KubeClient, Recorded(**answers))
    look = Finder(client, client if quota else None, foreign.INSTALLATION, places).found_queues(NOW)
    assert look.read_at == NOW
    return {queue.name: queue for queue in look.queues}


def test_a_queue_of_others_is_told_with_its_cards_its_work_and_where_people_hand_it_in() -> None:
    queues = found()
    assert queues["vision-cq"] == FoundQueueFacts(
        name="vision-cq",
        cards=(FoundCards("h100", RESOURCE, 16, 8), FoundCards("a100", RESOURCE, 4)),
        local_queues=(FoundLocalQueue("vision-lab", "main", 1, 2),),
        running=1,
        waiting=2,
        lends_to="research",
    )
    assert queues["vision-cq"].by_group() == {"h100": 16, "a100": 4}


def test_ours_are_none_of_them() -> None:
    assert set(found()) == {"vision-cq", "shared", "research"}


def test_a_flavor_of_several_groups_is_divided_between_them_by_their_size_and_says_so() -> None:
    assert found()["shared"].cards == (
        FoundCards("a100", RESOURCE, 2, 1, is_spread=True),
        FoundCards("h100", RESOURCE, 4, 2, is_spread=True),
    )


def test_what_a_circle_of_queues_lends_from_its_own_is_counted_and_nobodys() -> None:
    pool = found()["research"]
    assert (pool.is_pool, pool.by_group(), pool.lends_to) == (True, {"h100": 8}, "research")


def test_cards_on_no_nodes_of_ours_are_told_without_a_group() -> None:
    queues = found(places={"a100-0": PLACES["a100-0"]})
    assert queues["vision-cq"].by_group() == {"a100": 4}
    assert FoundCards("", RESOURCE, 16, 8) in queues["vision-cq"].cards


@pytest.mark.parametrize("answer", [None, Unauthorized("forbidden", "")])
def test_without_an_account_for_quotas_what_is_not_seen_counts_for_all_nodes_of_the_resource(answer: Any) -> None:
    queues = found(quota=False, resourceflavors=answer, cohorts=answer)
    assert set(queues) == {"vision-cq", "shared"}
    assert queues["vision-cq"].by_group() == {"h100": 14, "a100": 6}


@pytest.mark.parametrize("error", [Unauthorized("unauthorized", ""), Retryable("busy", ""), Retryable("silent", "")])
@pytest.mark.parametrize("kind", ["clusterqueues", "localqueues", "resourceflavors", "cohorts", "nodes"])
def test_half_a_look_is_none(error: BackendError, kind: str) -> None:
    with pytest.raises(type(error)):
        found(**{kind: error})


def test_without_queues_of_others_nothing_more_is_asked() -> None:
    mine = [each for each in foreign.objects()["clusterqueues"] if names.INSTALLATION in each["metadata"]["labels"]]
    boom = AssertionError("asked for nothing")
    assert found(clusterqueues=mine, cohorts=[], nodes=boom, resourceflavors=boom, localqueues=boom) == {}


def test_a_cluster_without_the_gate_has_none() -> None:
    assert found(clusterqueues=None, cohorts=None) == {}
