"""200 teams, 20 node groups and 5,000 nodes take as many queries as 3 teams and a few nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from accounts.actors import actor_of
from accounts.models import User
from clusters.models import Cluster
from quotas.models import Demand, LocalQueue
from quotas.selectors import QuotaFilters, QuotaRow, queue_rows, quota_groups, quota_page, quota_rows
from quotas.selectors.local_queues import local_queue_plans, local_queue_views
from tests.crowded_quotas import build_crowded
from tests.services.test_query_counts import counted

pytestmark = pytest.mark.django_db


def _reads() -> dict[str, Callable[[], Any]]:
    admin, lead = (actor_of(User.objects.get(username=name)) for name in ("admin", "lead"))
    return {
        **{
            f"page of {level} as {viewer.user.username}": lambda viewer=viewer, level=level: quota_page(
                viewer=viewer, filters=QuotaFilters(level)
            )
            for viewer in (admin, lead)
            for level in ("team", "local", "cluster")
        },
        "later page": lambda: quota_page(viewer=admin, filters=QuotaFilters(), cursor="30", size=20),
        "rows of the lead": lambda: quota_rows(viewer=lead),
        "one queue": lambda: queue_rows(viewer=lead, queue="team-000"),
        "one local queue": lambda: queue_rows(viewer=lead, queue="team-000", local="night"),
        "whole table": lambda: quota_groups(level="local"),
        "local queues": lambda: local_queue_views(viewer=admin),
    }


def _counts(teams: int, nodes: int) -> dict[str, int]:
    with transaction.atomic():
        build_crowded(teams, nodes=nodes)
        found = {name: counted(read) for name, read in _reads().items()}
        transaction.set_rollback(True)
    return found


def test_quota_rows_take_the_same_queries_for_three_teams_and_for_two_hundred() -> None:
    few = _counts(3, 200)
    assert _counts(200, 5_000) == few
    assert max(few.values()) <= 8, few


def test_a_page_computes_only_the_node_groups_it_shows() -> None:
    build_crowded(30, groups=4, nodes=20)
    admin = actor_of(User.objects.get(username="admin"))
    page = quota_page(viewer=admin, filters=QuotaFilters(), cursor="40", size=20)
    assert [row.node_group for row in page.rows] == ["group-01"] * 20
    assert sum(row.nominal for row in page.rows) > 0
    assert (page.previous, page.next) == ("20", "60")


def test_the_plan_of_local_queues_takes_two_queries() -> None:
    build_crowded(30, groups=2, nodes=20)
    cluster = Cluster.objects.get()
    assert counted(lambda: local_queue_plans(cluster)) == 2


@pytest.mark.parametrize("level", ["team", "local"])
@pytest.mark.parametrize("role", ["admin", "lead"])
def test_pages_of_any_size_are_cut_out_of_the_whole_table(level: str, role: str) -> None:
    build_crowded(4, groups=3, nodes=12)
    LocalQueue.objects.filter(slug="night", queue__slug="team-002").update(state=LocalQueue.State.CLOSED)
    Demand.objects.filter(local_queue__slug="night", local_queue__queue__slug="team-002").delete()
    viewer = actor_of(User.objects.get(username=role))
    whole = quota_rows(viewer=viewer, level=level)
    assert len(whole) == {"team": {"admin": 12, "lead": 3}, "local": {"admin": 21, "lead": 6}}[level][role]
    for size in (1, 2, 3, 5, 50):
        walked: list[QuotaRow] = []
        cursor: str | None = ""
        while cursor is not None:
            page = quota_page(viewer=viewer, filters=QuotaFilters(level), cursor=cursor, size=size)
            walked += page.rows
            cursor = page.next
        assert walked == whole
