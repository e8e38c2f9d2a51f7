"""Shares of node groups: whole cards, never more than there are, one audit row."""

from __future__ import annotations

import pytest

from accounts.models import AuditEvent
from common.errors import InvalidInput, NotAllowed
from quotas.models import Share
from quotas.services import quota_plan, quotas_apply, shares_set, team_queue_create
from tests.cast import Cast
from tests.services.support import refused, row_counts


def _nominals(cast: Cast, group: str) -> dict[str, int]:
    rows = Share.objects.filter(group=cast.groups[group]).values_list("queue__slug", "nominal")
    return dict(rows)


def test_shares_become_whole_cards_by_largest_remainder(cast: Cast) -> None:
    assert _nominals(cast, "h100") == {"vision": 13, "language": 13, "robotics": 6}


def test_queues_that_are_left_out_keep_their_share(cast: Cast) -> None:
    shares_set(actor=cast.actor("admin"), group=cast.groups["h100"], basis_points={cast.queues["vision"].pk: 2_500})
    assert _nominals(cast, "h100") == {"vision": 8, "language": 13, "robotics": 6}
    assert {quota.node_group: quota.nominal for quota in quota_plan(cast.cluster).pool}["h100"] == 5


@pytest.mark.parametrize("points", [{"vision": 6_000}, {"vision": 10_001}, {"vision": 5_000, "language": 5_000}])
def test_more_than_the_whole_together_is_refused_and_changes_nothing(cast: Cast, points: dict[str, int]) -> None:
    before = _nominals(cast, "h100")
    by_queue = {cast.queues[team].pk: value for team, value in points.items()}
    error = refused(
        lambda: shares_set(actor=cast.actor("admin"), group=cast.groups["h100"], basis_points=by_queue), InvalidInput
    )
    assert (error.code, error.attr) == ("above_whole", "shares")
    assert _nominals(cast, "h100") == before


def test_a_negative_share_is_refused(cast: Cast) -> None:
    by_queue = {cast.queues["vision"].pk: -1}
    error = refused(
        lambda: shares_set(actor=cast.actor("admin"), group=cast.groups["h100"], basis_points=by_queue), InvalidInput
    )
    assert error.code == "negative"


@pytest.mark.parametrize("username", ["lead-vision", "eng-vision-1"])
def test_only_an_admin_sets_shares_and_makes_queues(cast: Cast, username: str) -> None:
    actor = cast.actor(username)
    by_queue = {cast.queues["vision"].pk: 5_000}
    refused(lambda: shares_set(actor=actor, group=cast.groups["h100"], basis_points=by_queue), NotAllowed)
    refused(lambda: team_queue_create(actor=actor, team=cast.teams["vision"], cluster=cast.cluster), NotAllowed)


def test_setting_shares_is_one_audit_row(cast: Cast) -> None:
    before = AuditEvent.objects.count()
    by_queue = {cast.queues["vision"].pk: 2_500}
    shares_set(actor=cast.actor("admin"), group=cast.groups["h100"], basis_points=by_queue)
    assert AuditEvent.objects.count() == before + 1
    event = AuditEvent.objects.first()
    assert event is not None and (event.action, event.actor_name) == ("shares.set", "admin")


def test_making_a_queue_twice_makes_it_once(cast: Cast) -> None:
    before = row_counts()
    team_queue_create(actor=cast.actor("admin"), team=cast.teams["vision"], cluster=cast.cluster)
    assert row_counts() == before


def test_nominal_never_exceeds_the_installed_cards(cast: Cast) -> None:
    for points in ({"vision": 0, "language": 3_330, "robotics": 3_330}, {"vision": 3_340}, {"vision": 10}):
        by_queue = {cast.queues[team].pk: value for team, value in points.items()}
        shares_set(actor=None, group=cast.groups["h100"], basis_points=by_queue)
        plan = quota_plan(cast.cluster)
        for group, installed in (("h100", 32), ("a100", 32), ("ascend-910b", 16)):
            given = sum(quota.nominal for queue in plan.queues for quota in queue.quotas if quota.node_group == group)
            pool = sum(quota.nominal for quota in plan.pool if quota.node_group == group)
            assert given + pool == installed
    assert quotas_apply(cast.cluster).failed == ()
