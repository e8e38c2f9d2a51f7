"""Plans are versions: nothing is overwritten, one can go back, and a refused one leaves no trace."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import AuditEvent
from clusters.models import Cluster, Node
from common.errors import InvalidInput, NotAllowed, NotFound
from quotas.domain.plan import GroupPart, Plan, QueuePart
from quotas.models import GroupCards, QuotaVersion, Share, TeamQueue
from quotas.plans.errors import ChangedMeanwhile
from quotas.plans.services import plan_follow, plan_recount, plan_rollback, plan_save
from quotas.plans.store import stored
from quotas.services import quota_plan, quotas_apply, shares_equal, shares_set
from quotas.tasks import quotas_apply_cluster_task
from tests.cast import Cast
from tests.services.support import refused, row_counts


def number(cast: Cast) -> int:
    return stored(cast.cluster).number


def nominals(cast: Cast, group: str = "h100") -> dict[str, int]:
    return dict(Share.objects.filter(group=cast.groups[group]).values_list("queue__slug", "nominal"))


def parts(**points: int) -> Plan:
    """Shares of the H100 group."""
    return Plan({name: QueuePart(groups={"h100": GroupPart(share)}) for name, share in points.items()})


def problems(call: Callable[[], object]) -> dict[str, str]:
    """Codes of a refused plan by the fields they stand at."""
    error = refused(call, InvalidInput)
    assert isinstance(error, InvalidInput)
    assert all(str(problem.message).endswith(".") for problem in error.problems)
    return {problem.attr: problem.code for problem in error.problems}


def save(cast: Cast, plan: Plan, *, at: int | None = None, reason: str = "") -> QuotaVersion:
    version = plan_save(
        actor=cast.actor("admin"),
        cluster=cast.cluster,
        expected_version=number(cast) if at is None else at,
        plan=plan,
        reason=reason,
    )
    assert version is not None
    return version


def test_a_saved_plan_is_a_version_with_author_reason_and_the_exact_content(cast: Cast) -> None:
    before = number(cast)
    version = save(cast, parts(vision=5_000, language=3_000), reason=" next quarter ")
    assert (version.number, version.author_name, version.cause) == (before + 1, "admin", "edit")
    assert version.reason == "next quarter"
    assert nominals(cast) == {"vision": 16, "language": 10, "robotics": 6}
    content = version.content
    assert content["cards"] == {"h100": 32, "a100": 32, "ascend-910b": 16}
    assert content["queues"]["vision"]["groups"]["h100"] == {
        "basis_points": 5_000,
        "borrow_basis_points": None,
        "lend_basis_points": None,
        "nominal": 16,
    }
    assert content["queues"]["vision"]["groups"]["a100"]["nominal"] == 13  # what the plan does not name stays
    event = AuditEvent.objects.first()
    assert event is not None and (event.action, event.detail["version"]) == ("quota.save", version.number)


def test_limits_ranks_and_order_come_to_the_cluster(cast: Cast) -> None:
    part = GroupPart(2_500, borrow_basis_points=1_250, lend_basis_points=0)
    save(
        cast, Plan({"vision": QueuePart(2, strict=True, groups={"h100": part}), "language": QueuePart(reclaims=False)})
    )
    plan = {queue.queue: queue for queue in quota_plan(cast.cluster).queues}
    assert (plan["vision"].strict, plan["vision"].reclaims, plan["vision"].borrow_preempts_up_to) == (True, True, 250)
    assert (plan["language"].reclaims, plan["language"].borrow_preempts_up_to) == (False, None)
    quota = next(each for each in plan["vision"].quotas if each.node_group == "h100")
    assert (quota.nominal, quota.borrow_limit, quota.lend_limit) == (8, 4, 0)
    assert quotas_apply(cast.cluster).failed == ()


def test_the_second_of_two_admins_is_told_and_nothing_is_overwritten(cast: Cast) -> None:
    seen = number(cast)
    first = save(cast, parts(vision=3_000), at=seen)
    error = refused(lambda: save(cast, parts(vision=6_000), at=seen), ChangedMeanwhile)
    assert isinstance(error, ChangedMeanwhile)
    assert (error.code, error.status, error.attr) == ("changed_meanwhile", 409, "expected_version")
    assert error.newest == first
    assert "admin" in str(error.message) and str(first.number) in str(error.message)
    assert nominals(cast)["vision"] == 10


def test_a_version_that_was_never_there_is_refused_too(cast: Cast) -> None:
    refused(lambda: save(cast, parts(vision=3_000), at=number(cast) + 5), ChangedMeanwhile)


@pytest.mark.parametrize(
    ("points", "attr", "code"),
    [
        ({"vision": 8_000, "language": 6_000, "robotics": 0}, "cards.h100", "above_whole"),
        ({"vision": 5}, "queues.vision.groups.h100.basis_points", "too_fine"),
        ({"vision": -10}, "queues.vision.groups.h100.basis_points", "negative"),
        ({"nobody": 10}, "queues.nobody", "unknown_team"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_at_its_field(
    cast: Cast, points: dict[str, int], attr: str, code: str
) -> None:
    assert problems(lambda: save(cast, parts(**points))) == {attr: code}


def test_a_team_with_nothing_and_a_group_without_nodes_are_fine(cast: Cast) -> None:
    Node.objects.filter(group=cast.groups["ascend-910b"]).delete()
    save(cast, parts(vision=0, language=0, robotics=10_000))
    assert nominals(cast) == {"vision": 0, "language": 0, "robotics": 32}
    assert set(nominals(cast, "ascend-910b").values()) == {0}
    assert quotas_apply(cast.cluster).failed == ()


def test_a_plan_that_changes_nothing_is_no_version(cast: Cast) -> None:
    before = row_counts()
    assert save(cast, parts(vision=4_000)).number == number(cast)
    assert row_counts() == before


def test_only_admins_change_plans(cast: Cast) -> None:
    actor = cast.actor("lead-vision")
    call = {"actor": actor, "cluster": cast.cluster, "expected_version": number(cast)}
    refused(lambda: plan_save(**call, plan=parts(vision=1_000)), NotAllowed)
    refused(lambda: plan_rollback(**call, number=1), NotAllowed)
    refused(lambda: plan_recount(**call), NotAllowed)


def test_a_reason_has_its_length(cast: Cast) -> None:
    assert problems(lambda: save(cast, parts(vision=1_000), reason="x" * 301)) == {"reason": "too_long"}


# --------------------------------------------------------------------------- history


def test_the_shorter_ways_to_set_shares_are_versions_as_well(cast: Cast) -> None:
    before = number(cast)
    shares_set(actor=cast.actor("admin"), group=cast.groups["h100"], basis_points={cast.queues["vision"].pk: 1_000})
    shares_equal(actor=cast.actor("admin"))
    assert number(cast) == before + 2
    assert set(Share.objects.values_list("basis_points", flat=True)) == {3_330}
    assert list(QuotaVersion.objects.values_list("number", flat=True)) == list(range(before + 2, 0, -1))


def test_going_back_is_a_new_version_with_the_old_content(cast: Cast) -> None:
    old = save(cast, Plan({"vision": QueuePart(1, groups={"h100": GroupPart(3_000)})}))
    save(cast, parts(vision=1_000))
    version = plan_rollback(
        actor=cast.actor("admin"), cluster=cast.cluster, number=old.number, expected_version=number(cast), reason="oops"
    )
    assert version is not None
    assert (version.cause, version.restored, version.number) == ("rollback", old.number, old.number + 2)
    assert version.content == old.content
    assert TeamQueue.objects.get(slug="vision").rank == 1


def test_going_back_to_a_version_that_is_not_there_or_while_somebody_saved_is_refused(cast: Cast) -> None:
    call = {"actor": cast.actor("admin"), "cluster": cast.cluster}
    refused(lambda: plan_rollback(**call, number=99, expected_version=number(cast)), NotFound)
    refused(lambda: plan_rollback(**call, number=1, expected_version=number(cast) - 1), ChangedMeanwhile)


def test_what_was_there_before_versions_were_kept_becomes_the_first(cast: Cast) -> None:
    QuotaVersion.objects.all().delete()
    GroupCards.objects.all().delete()
    save(cast, parts(vision=1_000), at=0)
    first, second = QuotaVersion.objects.order_by("number")
    assert (first.cause, first.author, second.cause) == ("adopt", None, "edit")
    assert first.content["queues"]["vision"]["groups"]["h100"]["nominal"] == 13


# --------------------------------------------------------------------------- nodes


def out(cast: Cast, group: str, count: int, *, health: str = "cordoned", minutes: int = 11) -> None:
    names = Node.objects.filter(group=cast.groups[group]).order_by("name").values_list("pk", flat=True)[:count]
    Node.objects.filter(pk__in=list(names)).update(health=health, since=timezone.now() - timedelta(minutes=minutes))


def follow(cast: Cast) -> QuotaVersion | None:
    Cluster.objects.update(synced_at=timezone.now())
    return plan_follow(Cluster.objects.get(pk=cast.cluster.pk), timezone.now())


def many_nodes(cast: Cast) -> None:
    """Forty more nodes, so that one is less than a tenth."""
    like = Node.objects.filter(group=cast.groups["h100"]).first()
    assert like is not None
    for place in range(40):
        like.pk, like.name = None, f"more-{place}"
        like.save(force_insert=True)
    plan_recount(actor=cast.actor("admin"), cluster=cast.cluster, expected_version=number(cast))


def test_a_small_change_of_nodes_is_followed_as_a_version_by_itself(cast: Cast) -> None:
    many_nodes(cast)
    assert nominals(cast) == {"vision": 141, "language": 141, "robotics": 70}
    out(cast, "h100", 2)
    version = follow(cast)
    assert version is not None
    assert (version.cause, version.author, version.author_name) == ("nodes", None, "console")
    assert version.content["cards"]["h100"] == 336
    assert sum(nominals(cast).values()) == 336
    assert follow(cast) is None
    event = AuditEvent.objects.first()
    assert event is not None and (event.actor, event.action) == (None, "quota.recount")


def test_nodes_within_their_grace_change_nothing(cast: Cast) -> None:
    many_nodes(cast)
    out(cast, "h100", 1, minutes=9)
    out(cast, "a100", 1, health="down", minutes=29)
    assert follow(cast) is None
    assert stored(cast.cluster).waiting == {}


def test_a_change_of_more_than_a_tenth_waits_for_an_admin(cast: Cast) -> None:
    out(cast, "h100", 1)  # 8 of 32 cards
    before = nominals(cast)
    assert follow(cast) is None
    assert nominals(cast) == before
    waits = stored(cast.cluster)
    assert waits.waiting == {"h100": 24}
    since = waits.waiting_since
    assert follow(cast) is None and stored(cast.cluster).waiting_since == since  # it keeps its moment
    version = plan_recount(actor=cast.actor("admin"), cluster=cast.cluster, expected_version=number(cast))
    assert version is not None and (version.cause, version.author_name) == ("nodes", "admin")
    assert sum(nominals(cast).values()) == 24
    assert stored(cast.cluster).waiting == {}


def test_what_waits_is_forgotten_when_the_nodes_are_back(cast: Cast) -> None:
    out(cast, "h100", 4, health="down", minutes=31)
    assert follow(cast) is None and stored(cast.cluster).waiting == {"h100": 0}
    Node.objects.update(health="ready")
    assert follow(cast) is None
    assert stored(cast.cluster).waiting == {}


def test_a_saved_plan_takes_over_what_waited(cast: Cast) -> None:
    out(cast, "h100", 1)
    follow(cast)
    assert save(cast, parts(vision=3_000)).content["cards"]["h100"] == 24
    assert stored(cast.cluster).waiting == {}


def test_a_plan_of_another_group_leaves_waiting_what_waits(cast: Cast) -> None:
    out(cast, "a100", 1)
    follow(cast)
    assert save(cast, parts(vision=3_000)).content["cards"]["a100"] == 32
    assert stored(cast.cluster).waiting == {"a100": 24}


def test_an_old_look_at_the_nodes_is_not_followed(cast: Cast) -> None:
    Node.objects.filter(group=cast.groups["h100"]).delete()
    Cluster.objects.update(synced_at=timezone.now() - timedelta(minutes=5))
    assert plan_follow(Cluster.objects.get(), timezone.now()) is None
    assert stored(cast.cluster).waiting == {}


def test_what_is_planned_never_exceeds_the_cards_that_work(cast: Cast) -> None:
    out(cast, "h100", 2)
    for points in (4_000, 3_990, 0):
        save(cast, parts(vision=points))
        plan = quota_plan(cast.cluster)
        given = [quota.nominal for queue in plan.queues for quota in queue.quotas if quota.node_group == "h100"]
        pool = [quota.nominal for quota in plan.pool if quota.node_group == "h100"]
        assert sum(given) + sum(pool) == 16


def test_lowering_a_quota_under_its_use_stops_nothing_and_says_over(cast: Cast) -> None:
    before = nominals(cast)
    save(cast, parts(vision=0))
    assert nominals(cast) == before | {"vision": 0}


def test_the_periodic_task_follows_the_nodes_before_it_brings_the_quotas(cast: Cast) -> None:
    many_nodes(cast)
    out(cast, "h100", 2)
    Cluster.objects.update(synced_at=timezone.now())
    quotas_apply_cluster_task(cast.cluster.pk)
    assert sum(nominals(cast).values()) == 336
    pool = {quota.node_group: quota.nominal for quota in quota_plan(cast.cluster).pool}
    assert pool["h100"] == 0
