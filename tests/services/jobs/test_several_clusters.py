"""Where a job goes when its team has queues on several clusters, and what a cluster that lacks a part refuses."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.models import Cluster, Node
from common.errors import FieldProblem, InvalidInput
from jobs.models import Job
from jobs.services.submit import job_submit
from quotas.services import shares_set, team_queue_create
from tests.cast import Cast, build_cluster
from tests.stage import BODY


@pytest.fixture
def other(cast: Cast) -> Cluster:
    """A second cluster on which vision has everything; it alone has the group h200."""
    cluster = build_cluster("other", is_default=False)
    group = cluster.groups.get(slug="h100")
    queue = team_queue_create(actor=None, team=cast.teams["vision"], cluster=cluster)
    for each in cluster.groups.all():
        shares_set(actor=None, group=each, basis_points={queue.pk: 10_000})
    cluster.groups.filter(pk=group.pk).update(slug="h200", title="H200 NVLink")
    return cluster


def submit(cast: Cast, **more: Any) -> Job:
    return job_submit(actor=cast.actor("eng-vision-1"), data={**BODY, **more}).job


def refusal(cast: Cast, **more: Any) -> FieldProblem:
    with pytest.raises(InvalidInput) as caught:
        submit(cast, **more)
    (problem,) = caught.value.problems
    return problem


def test_a_job_goes_to_the_default_cluster_unless_told_otherwise(cast: Cast, other: Cluster) -> None:
    assert submit(cast).cluster == cast.cluster
    assert submit(cast, cluster="other").cluster == other
    assert submit(cast, cluster="sandbox").cluster == cast.cluster


def test_a_card_model_leads_to_the_cluster_that_has_it(cast: Cast, other: Cluster) -> None:
    assert submit(cast, card_model="h200").cluster == other
    assert submit(cast, card_model="a100").cluster == cast.cluster  # both have it: the default one
    assert refusal(cast, card_model="h200", cluster="sandbox").code == "unknown_model"


def test_another_teams_cluster_is_unknown(cast: Cast, other: Cluster) -> None:
    with pytest.raises(InvalidInput) as caught:
        job_submit(actor=cast.actor("eng-language-1"), data={**BODY, "cluster": "other"})
    assert [(p.attr, p.code) for p in caught.value.problems] == [("cluster", "unknown_cluster")]


def test_a_cluster_without_a_gate_takes_no_jobs(cast: Cast, other: Cluster) -> None:
    Cluster.objects.filter(pk=other.pk).update(lacks=["gate", "topology"])
    assert (refusal(cast, cluster="other").attr, refusal(cast, cluster="other").code) == ("cluster", "no_gate")
    assert submit(cast).cluster == cast.cluster


@pytest.mark.parametrize("lacks", [["gang"], ["topology"], []])
def test_one_of_the_two_is_enough_to_start_pods_together(cast: Cast, other: Cluster, lacks: list[str]) -> None:
    Cluster.objects.filter(pk=other.pk).update(lacks=lacks)
    assert submit(cast, cluster="other", cards=16).pods == 2


def test_without_both_a_job_must_fit_on_one_node(cast: Cast, other: Cluster) -> None:
    Cluster.objects.filter(pk=other.pk).update(lacks=["gang", "topology"])
    problem = refusal(cast, cluster="other", cards=16)
    assert (problem.attr, problem.code) == ("cards", "no_gang")
    assert "8" in str(problem.message)
    assert submit(cast, cluster="other", cards=8).pods == 1
    assert Node.objects.filter(cluster=other).exists()
