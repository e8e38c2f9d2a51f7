"""The whole quota table over random rows of the database: it says what the rows say, and its levels add up."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.actors import Actor
from accounts.models import Team, User
from clusters.contract import NodeHealth
from clusters.models import Cluster, Node, NodeGroup, ObservedWorkload
from clusters.selectors import group_views, node_view
from quotas.models import Demand, GroupCards, LocalQueue, Share, TeamQueue
from quotas.selectors import GroupRows, QuotaRow, quota_groups
from quotas.selectors.places import queue_places
from quotas.selectors.rows import cluster_row

FIGURES = (
    "nominal", "usable", "used", "reserved", "free", "borrowed", "lent", "over", "down", "pending", "pending_jobs",
    "pending_stopped", "pending_jobs_stopped",
)  # fmt: skip
EXACT_IN_LOCAL = (
    "nominal",
    "usable",
    "used",
    "reserved",
    "free",
    "pending",
    "pending_jobs",
    "pending_stopped",
    "pending_jobs_stopped",
)

few = st.integers(0, 3)
cards = st.integers(0, 12)
holders = st.lists(
    st.fixed_dictionaries({"cards": st.integers(1, 8), "running": st.booleans(), "ending": st.booleans()}), max_size=3
)
nodes = st.lists(st.tuples(st.sampled_from(NodeHealth), st.sampled_from((4, 8)), few, few, holders), max_size=4)
jobs = st.lists(
    st.tuples(st.integers(0, 99), st.integers(0, 99), cards, cards, cards, cards, st.booleans(), st.booleans()),
    max_size=12,
)
limits = st.none() | st.integers(0, 10_000)
teams = st.lists(
    st.tuples(
        st.lists(st.integers(1, 5), min_size=1, max_size=3), st.lists(cards, min_size=2), st.tuples(limits, limits)
    ),
    max_size=4,
)
"""Of each team the weights of its local queues, its nominal cards in each group, and its limits."""


def _fill(
    team_rows: list[tuple[list[int], list[int], tuple[int | None, int | None]]],
    node_rows: list[list[Any]],
    divided: list[int | None],
    job_rows: Any,
) -> None:
    now = timezone.now()
    cluster = Cluster.objects.create(slug="c", name="C", kind="sandbox")
    groups = [
        NodeGroup.objects.create(
            cluster=cluster, slug=f"g{n}", title=f"G{n}", vendor="nvidia", card_model="X", sharing="exclusive",
            unit="card", cards_per_node=8,
        )
        for n in range(2)
    ]  # fmt: skip
    for group, found, cards_divided in zip(groups, node_rows, divided, strict=True):
        if cards_divided is not None:
            GroupCards.objects.create(group=group, cards=cards_divided)
        for number, (health, installed, sick, outside, held) in enumerate(found):
            node = Node(
                cluster=cluster, group=group, name=f"{group.slug}-{number}", health=health.value, installed=installed,
                sick=sick, outside=outside, holders=[{"job_ulid": "x", "attempt": 1, **holder} for holder in held],
                seen_at=now,
            )  # fmt: skip
            node.free = node_view(node, "").free
            node.save()
    locals_: list[LocalQueue] = []
    for number, (weights, nominal, (borrows, lends)) in enumerate(team_rows):
        team = Team.objects.create(slug=f"t{number}", name=f"T{number}", space=f"slu-t{number}")
        queue = TeamQueue.objects.create(team=team, cluster=cluster, slug=team.slug)
        for group, cards_given in zip(groups, nominal, strict=False):
            Share.objects.create(
                queue=queue, group=group, basis_points=100, nominal=cards_given, borrow_basis_points=borrows,
                lend_basis_points=lends,
            )  # fmt: skip
        for index, weight in enumerate(weights):
            locals_.append(LocalQueue.objects.create(queue=queue, slug=f"l{index}", name="L", weight=weight))
    for number, row in enumerate(job_rows if locals_ else []):
        _job(cluster, groups, locals_, number, *row)


def _job(
    cluster: Cluster,
    groups: list[NodeGroup],
    locals_: list[LocalQueue],
    number: int,
    local: int,
    group: int,
    asked: int,
    running: int,
    starting: int,
    ending: int,
    held: bool,
    gone: bool,
) -> None:
    ulid = f"{number:026}"
    Demand.objects.create(
        job_ulid=ulid, local_queue=locals_[local % len(locals_)], group=groups[group % 2], owner_id=1, cards=asked,
        held=held,
    )  # fmt: skip
    ObservedWorkload.objects.create(
        cluster=cluster, job_ulid=ulid, attempt_no=1, uid=ulid, revision="1", version=number, gone=gone,
        facts={"admitted_pods": 1} if number % 2 else {},
        cards_running=running, cards_held=running + starting, cards_ending=ending, seen_at=timezone.now(),
    )  # fmt: skip


@pytest.mark.django_db
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=40)
@given(
    teams,
    st.lists(nodes, min_size=2, max_size=2),
    st.lists(st.none() | st.integers(0, 40), min_size=2, max_size=2),
    jobs,
)
def test_the_levels_of_the_quota_table_add_up(
    team_rows: list[tuple[list[int], list[int], tuple[int | None, int | None]]],
    node_rows: list[list[Any]],
    divided: list[int | None],
    job_rows: list[tuple[Any, ...]],
) -> None:
    with transaction.atomic():
        _fill(team_rows, node_rows, divided, job_rows)
        for found in quota_groups(level="local"):
            _check_group(found)
        _check_physical_cards()
        transaction.set_rollback(True)


def _check_row(row: QuotaRow) -> None:
    assert min(getattr(row, figure) for figure in (*FIGURES, "borrowable")) >= 0
    assert row.used + row.reserved + row.free == row.usable
    assert row.usable == row.nominal - row.lent - row.down + row.borrowed + row.over
    assert row.used + row.reserved <= row.nominal or row.borrowed + row.over > 0


def _check_group(found: GroupRows) -> None:
    total = cluster_row(found)
    team_rows = [row for row in found.rows if row.level == "team"]
    for row in (*found.rows, total):
        _check_row(row)
    for figure in FIGURES:
        pool = getattr(found.balance.pool_row, figure)
        assert getattr(total, figure) == pool + sum(getattr(row, figure) for row in team_rows)
    assert total.capacity is not None and total.missing is not None
    assert total.capacity + total.missing + total.over == total.used + total.reserved + total.free + total.down
    local_rows: dict[str, list[QuotaRow]] = defaultdict(list)
    for row in found.rows:
        if row.level == "local":
            local_rows[row.queue.split("/")[0]].append(row)
    assert local_rows.keys() == {row.queue for row in team_rows}
    for row in team_rows:
        for figure in EXACT_IN_LOCAL:
            assert getattr(row, figure) == sum(getattr(local, figure) for local in local_rows[row.queue])
    _check_truth(found, team_rows)
    if not found.balance.down and not total.over:
        _check_places(found, team_rows)


def _check_places(found: GroupRows, team_rows: list[QuotaRow]) -> None:
    """What a form would say could start now is what the table says is free or may be borrowed."""
    for row in team_rows:
        (place,) = (
            place for queue in queue_places(row.team_id) for place in queue.groups if place.group.pk == found.group.pk
        )
        assert (place.nominal, place.free_nominal) == (row.nominal, max(0, row.nominal - row.used - row.reserved))
        assert place.cohort_free == row.free + row.borrowable
        assert place.capacity <= found.balance.capacity


def _check_truth(found: GroupRows, team_rows: list[QuotaRow]) -> None:
    """What is held and asked for, counted job by job."""
    observed = {w.job_ulid: w for w in ObservedWorkload.objects.filter(gone=False)}
    for row in team_rows:
        used = held = pending = 0
        for demand in Demand.objects.filter(group=found.group, local_queue__queue__slug=row.queue):
            seen = observed.get(demand.job_ulid)
            used += seen.cards_running if seen else 0
            held += seen.cards_held if seen else 0
            if not demand.held and (seen is None or not seen.cards_held or "admitted_pods" in seen.facts):
                pending += max(0, demand.cards - (seen.cards_held if seen else 0))
        assert (row.used, row.reserved, row.pending) == (used, held - used, pending)


def _check_physical_cards() -> None:
    """The sums of the database are those of the nodes, one by one."""
    views = {view.group.pk: view for view in group_views(viewer=Actor(User(is_platform_admin=True)))}
    for found in quota_groups():
        view, figures = views[found.group.pk], found.balance
        assert figures.capacity == view.installed
        assert figures.releasing == view.ending
        assert figures.outside == view.total("outside")
        assert figures.down >= view.out
