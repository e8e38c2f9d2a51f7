"""Node groups by an admin's word: proposed, confirmed, edited, put aside; and what follows for shares and quotas."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import AuditEvent
from clusters.accelerator_names import accelerator_views
from clusters.backends.kueue_volcano.inventory import cluster_inventory
from clusters.backends.kueue_volcano.settings import shape_of
from clusters.group_models import GroupProposal
from clusters.groups import (
    group_confirm,
    group_edit,
    groups_confirm_all,
    proposal_bring_back,
    proposal_put_aside,
)
from clusters.models import Cluster, Node, NodeGroup
from clusters.observed import store_inventory
from clusters.preflight.selectors import notice_views
from common.errors import InvalidInput, NotAllowed, NotFound
from jobs.models import Job
from jobs.services.submit import job_submit
from quotas.cluster_services import shares_complete
from quotas.group_services import group_put_aside
from quotas.models import Demand, QuotaVersion, Share
from quotas.plans.services import plan_follow
from quotas.services import quota_plan, shares_set, team_queue_create
from tests.backends.kueue.objects import RESOURCE, Object, node, snapshot_of
from tests.cast import Cast
from tests.services.support import refused
from tests.stage import BODY

pytestmark = pytest.mark.django_db

PRODUCT = "nvidia.com/gpu.product"
FABRIC = "site/fabric"
H100 = {PRODUCT: "NVIDIA-H100-80GB-HBM3"}
SLUG = "h100-80gb-hbm3"


def machine(name: str, fabric: str = "nvlink", **labels: str) -> Object:
    return node(name, labels={**H100, FABRIC: fabric, **labels})


MACHINES = [machine("n1"), machine("n2"), machine("n3", "pcie")]


@pytest.fixture
def cluster(cast: Cast) -> Cluster:
    return Cluster.objects.create(slug="lab", name="Lab", kind="kueue_volcano")


def look(cluster: Cluster, machines: list[Object] | None = None) -> None:
    """What the worker does every minute, as far as nodes go."""
    now = timezone.now()
    inventory = cluster_inventory(snapshot_of(*(MACHINES if machines is None else machines)), shape_of(cluster), now)
    store_inventory(cluster, inventory)
    Cluster.objects.filter(pk=cluster.pk).update(synced_at=now)
    cluster.refresh_from_db()


def placed(cluster: Cluster) -> dict[str, str | None]:
    return dict(Node.objects.filter(cluster=cluster).order_by("name").values_list("name", "group__slug"))


@pytest.fixture
def confirmed(cast: Cast, cluster: Cluster) -> NodeGroup:
    look(cluster)
    group_confirm(actor=cast.actor("admin"), cluster=cluster, slug=SLUG)
    return cluster.groups.get()


def edit(cast: Cast, group: NodeGroup, *, version: int = 0, dry_run: bool = False, **data: Any) -> Any:
    return group_edit(
        actor=cast.actor("admin"),
        cluster=group.cluster,
        slug=group.slug,
        data=data,
        expected_version=version,
        dry_run=dry_run,
    )


# --------------------------------------------------------------------------- proposed


def test_what_a_look_finds_is_proposed_and_gets_neither_shares_nor_quota(cast: Cast, cluster: Cluster) -> None:
    team_queue_create(actor=None, team=cast.teams["vision"], cluster=cluster)
    look(cluster)
    (proposal,) = cluster.proposals.all()
    assert (proposal.slug, proposal.title, proposal.selector) == (SLUG, "H100-80GB-HBM3 NVLink", H100)
    shares_complete(cluster)
    plan = quota_plan(cluster)
    assert (plan.pool, plan.queues[0].quotas, shape_of(cluster).groups) == ((), (), {})
    assert placed(cluster) == {"n1": None, "n2": None, "n3": None}


def test_admins_are_told_of_a_proposal_and_of_nodes_that_two_groups_claim(cast: Cast, cluster: Cluster) -> None:
    look(cluster)
    (notice,) = notice_views(viewer=cast.actor("admin"))
    assert notice.text.startswith("3 nodes are proposed as the group H100-80GB-HBM3 NVLink. They get no jobs")
    group_confirm(actor=None, cluster=cluster, slug=SLUG)
    NodeGroup.objects.create(
        cluster=cluster, slug="rack", title="Rack", sharing="exclusive", unit="card", cards_per_node=8,
        resource=RESOURCE, selector={"rack": "r1"},
    )  # fmt: skip
    look(cluster, [*MACHINES, machine("n4", rack="r1")])
    (notice,) = notice_views(viewer=cast.actor("admin"))
    assert notice.text == "1 node carries the labels of two node groups, so it is in none: n4."
    look(cluster)
    assert notice_views(viewer=cast.actor("admin")) == []


def test_a_confirmed_group_has_its_nodes_at_once_and_new_ones_join_by_themselves(
    cast: Cast, cluster: Cluster, confirmed: NodeGroup
) -> None:
    assert placed(cluster) == dict.fromkeys(("n1", "n2", "n3"), SLUG)
    assert (confirmed.confirmed_by, cluster.proposals.count()) == (cast.users["admin"], 0)
    look(cluster, [*MACHINES[1:], machine("n4"), node("n5", labels={PRODUCT: "NVIDIA-A100-SXM4-80GB"})])
    assert placed(cluster) == {"n2": SLUG, "n3": SLUG, "n4": SLUG, "n5": None}
    assert [proposal.slug for proposal in cluster.proposals.all()] == ["a100-sxm4-80gb"]
    look(cluster)
    assert not cluster.proposals.exists(), "a proposal goes with its nodes"


def test_a_proposal_of_cards_that_nobody_knows_keeps_its_name_and_can_be_named(cast: Cast, cluster: Cluster) -> None:
    strange = node("x1", cards=0, labels={"pool": "x"})
    for part in ("capacity", "allocatable"):
        strange["status"][part] |= {"example.com/tpu": "4"}
    for _look in range(3):
        look(cluster, [strange])
        assert [proposal.slug for proposal in cluster.proposals.all()] == ["tpu"]
    views = accelerator_views(viewer=cast.actor("admin"), cluster=cluster)
    assert [view.resource for view in views] == ["example.com/tpu"]


def test_what_an_admin_wrote_is_never_overwritten_by_a_look(cast: Cast, cluster: Cluster, confirmed: NodeGroup) -> None:
    edit(cast, confirmed, title="Hall 2", interconnect="NVSwitch", position=7)
    look(cluster, [node(f"n{n}", cards=4, labels=H100) for n in range(3)])
    confirmed.refresh_from_db()
    assert (confirmed.title, confirmed.interconnect, confirmed.position) == ("Hall 2", "NVSwitch", 7)
    assert (confirmed.cards_per_node, confirmed.version) == (4, 1)


def test_everything_proposed_is_confirmed_in_one_go(cast: Cast, cluster: Cluster) -> None:
    look(cluster, [*MACHINES, node("a1", labels={PRODUCT: "NVIDIA-A100-SXM4-80GB"})])
    assert groups_confirm_all(actor=cast.actor("admin"), cluster=cluster) == 2
    assert groups_confirm_all(actor=cast.actor("admin"), cluster=cluster) == 0
    assert [group.position for group in cluster.groups.all()] == [0, 1]


# --------------------------------------------------------------------------- divided


def test_a_group_is_divided_by_a_label_that_the_product_does_not_know(
    cast: Cast, cluster: Cluster, confirmed: NodeGroup
) -> None:
    narrower = {**H100, FABRIC: "nvlink"}
    seen = edit(cast, confirmed, selector=narrower, dry_run=True)
    assert (seen.preview.leaves, seen.preview.joins, seen.preview.cards_after) == (("n3",), (), 16)
    assert placed(cluster)["n3"] == SLUG, "a dry run changes nothing"
    edit(cast, confirmed, selector=narrower)
    assert placed(cluster) == {"n1": SLUG, "n2": SLUG, "n3": None}
    look(cluster)
    (rest,) = cluster.proposals.all()
    assert (rest.title, rest.selector) == ("H100-80GB-HBM3 pcie", {**H100, FABRIC: "pcie"})
    group_confirm(actor=cast.actor("admin"), cluster=cluster, slug=rest.slug, data={"title": "H100 PCIe"})
    assert placed(cluster) == {"n1": SLUG, "n2": SLUG, "n3": rest.slug}
    (event,) = AuditEvent.objects.filter(action="group.edit")
    assert event.detail["leaves"] == ["n3"] and event.detail["changed"]["selector"] == [H100, narrower]


def test_a_node_that_two_groups_claim_is_in_neither(cast: Cast, cluster: Cluster, confirmed: NodeGroup) -> None:
    NodeGroup.objects.create(
        cluster=cluster, slug="rack", title="Rack", sharing="exclusive", unit="card", cards_per_node=8,
        resource=RESOURCE, selector={"rack": "r1"},
    )  # fmt: skip
    look(cluster, [*MACHINES, machine("n4", rack="r1")])
    assert placed(cluster) == {"n1": SLUG, "n2": SLUG, "n3": SLUG, "n4": None}
    assert not cluster.proposals.exists()


def test_shares_are_counted_again_as_an_audited_version(cast: Cast, cluster: Cluster) -> None:
    machines = [machine(f"n{number:02}") for number in range(20)]
    look(cluster, machines)
    group_confirm(actor=None, cluster=cluster, slug=SLUG)
    group = cluster.groups.get()
    queue = team_queue_create(actor=None, team=cast.teams["vision"], cluster=cluster)
    shares_set(actor=None, group=group, basis_points={queue.pk: 5_000})
    machines[0] = machine("n00", "pcie")
    look(cluster, machines)
    edit(cast, group, selector={**H100, FABRIC: "nvlink"})
    version = plan_follow(cluster, timezone.now())
    assert version is not None and version.cause == QuotaVersion.Cause.NODES
    assert Share.objects.get(queue=queue, group=group).nominal == 76
    assert AuditEvent.objects.filter(action="quota.recount").count() == 1


# --------------------------------------------------------------------------- put aside


def test_a_proposal_is_put_aside_and_brought_back(cast: Cast, cluster: Cluster) -> None:
    look(cluster)
    admin = cast.actor("admin")
    proposal_put_aside(actor=admin, cluster=cluster, slug=SLUG)
    look(cluster)
    assert [(row.slug, row.is_aside) for row in cluster.proposals.all()] == [(SLUG, True)]
    look(cluster, [])
    assert cluster.proposals.exists(), "it stays when its last node goes"
    proposal_bring_back(actor=admin, cluster=cluster, slug=SLUG)
    assert [row.is_aside for row in cluster.proposals.all()] == [False]
    acts = list(AuditEvent.objects.filter(target_id=f"lab/{SLUG}").order_by("pk").values_list("action", flat=True))
    assert acts == ["group.aside", "group.bring_back"]


def test_a_group_goes_aside_only_while_nobody_has_a_share_of_it(
    cast: Cast, cluster: Cluster, confirmed: NodeGroup
) -> None:
    queue = team_queue_create(actor=None, team=cast.teams["vision"], cluster=cluster)
    shares_set(actor=None, group=confirmed, basis_points={queue.pk: 100})
    ask: dict[str, Any] = {"actor": cast.actor("admin"), "cluster": cluster, "slug": SLUG, "expected_version": 0}
    assert refused(lambda: group_put_aside(**ask)).code == "has_shares"
    shares_set(actor=None, group=confirmed, basis_points={queue.pk: 0})
    group_put_aside(**ask)
    look(cluster)
    assert placed(cluster) == {"n1": None, "n2": None, "n3": None}
    assert [row.is_aside for row in cluster.proposals.all()] == [True] and not cluster.groups.exists()
    group_confirm(actor=None, cluster=cluster, slug=SLUG)
    assert placed(cluster)["n1"] == SLUG


def test_a_group_with_jobs_of_now_or_of_the_past_stays(cast: Cast, cluster: Cluster, confirmed: NodeGroup) -> None:
    job = job_submit(actor=cast.actor("eng-vision-1"), data=BODY).job
    Job.objects.filter(pk=job.pk).update(group=confirmed)
    ask: dict[str, Any] = {"actor": None, "cluster": cluster, "slug": SLUG, "expected_version": 0}
    assert refused(lambda: group_put_aside(**ask)).code == "has_history"
    Demand.objects.filter(job_ulid=job.public_id).update(group=confirmed)
    assert refused(lambda: group_put_aside(**ask)).code == "has_live_jobs"


def test_a_group_of_the_sandbox_stays(cast: Cast) -> None:
    group = cast.cluster.groups.first()
    assert group is not None
    ask: dict[str, Any] = {
        "actor": cast.actor("admin"),
        "cluster": cast.cluster,
        "slug": group.slug,
        "expected_version": 0,
    }
    assert refused(lambda: group_put_aside(**ask)).code == "no_labels"


# --------------------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("data", "found"),
    [
        ({"title": "  "}, ("title", "blank")),
        ({"title": "x" * 101}, ("title", "too_long")),
        ({"title": "H\u202e100"}, ("title", "invisible")),
        ({"title": "H\x00100"}, ("title", "invisible")),
        ({"title": "other"}, ("title", "taken")),
        ({"interconnect": "y" * 41}, ("interconnect", "too_long")),
        ({"position": -1}, ("position", "invalid")),
        ({"position": True}, ("position", "invalid")),
        ({"selector": {}}, ("selector", "blank")),
        ({"selector": "a=b"}, ("selector", "invalid")),
        ({"selector": {f"k{n}": "" for n in range(11)}}, ("selector", "too_many")),
        ({"selector": {"not a label!": "x"}}, ("selector", "label_name")),
        ({"selector": {"rack": "x" * 64}}, ("selector", "label_value")),
        ({"selector": {"rack": "nowhere"}}, ("selector", "no_nodes")),
        ({"selector": {"rack": "r1"}}, ("selector", "contested")),
    ],
)
def test_each_slip_is_told_at_its_field(
    cast: Cast, cluster: Cluster, confirmed: NodeGroup, data: dict[str, Any], found: tuple[str, str]
) -> None:
    NodeGroup.objects.create(
        cluster=cluster, slug="other", title="Other", sharing="exclusive", unit="card", cards_per_node=8,
        resource=RESOURCE, selector={PRODUCT: "NVIDIA-B200"},
    )  # fmt: skip
    look(cluster, [*MACHINES, node("b1", labels={PRODUCT: "NVIDIA-B200", "rack": "r1"})])
    error = refused(lambda: edit(cast, confirmed, **data), InvalidInput)
    assert isinstance(error, InvalidInput)
    assert [(problem.attr, problem.code) for problem in error.problems] == [found]
    assert NodeGroup.objects.get(pk=confirmed.pk).version == 0


def test_who_saves_second_is_told_and_overwrites_nothing(cast: Cast, cluster: Cluster, confirmed: NodeGroup) -> None:
    edit(cast, confirmed, title="First")
    assert refused(lambda: edit(cast, confirmed, title="Second")).code == "changed_meanwhile"
    assert NodeGroup.objects.get(pk=confirmed.pk).title == "First"
    again: dict[str, Any] = {"actor": cast.actor("admin"), "cluster": cluster, "slug": SLUG}
    assert refused(lambda: group_confirm(**again)).code == "changed_meanwhile"


def test_only_admins_decide(cast: Cast, cluster: Cluster) -> None:
    look(cluster)
    ask: dict[str, Any] = {"actor": cast.actor("lead-vision"), "cluster": cluster, "slug": SLUG}
    acts: list[Callable[..., Any]] = [group_confirm, proposal_put_aside, proposal_bring_back]
    for act in acts:
        refused(partial(act, **ask), NotAllowed)
    refused(lambda: group_put_aside(**ask, expected_version=0), NotAllowed)
    refused(lambda: group_edit(**{**ask, "actor": None, "slug": "none"}, data={}, expected_version=0), NotFound)
    assert GroupProposal.objects.filter(cluster=cluster, is_aside=False).count() == 1
