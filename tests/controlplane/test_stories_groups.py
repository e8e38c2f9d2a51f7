"""A node group divided on a real cluster while a job runs in it: nodes move, quota follows, what runs goes on."""

from __future__ import annotations

import pytest

from accounts.actors import actor_of
from accounts.models import User
from clusters.backends.kueue_volcano import names
from clusters.groups import group_confirm, group_edit
from clusters.models import Node
from jobs.models import Job
from quotas.cluster_services import shares_complete
from quotas.plans.services import plan_recount
from quotas.plans.store import stored
from quotas.services import shares_set
from tests.controlplane.console import Console
from tests.controlplane.nodes import INTERCONNECT, NODES

pytestmark = pytest.mark.django_db(transaction=True)
"""Not on Kueue 0.17, where a job may wait after a group was divided while another runs in it: docs/node-groups.md."""


def nodes_of(console: Console, job: Job) -> set[str]:
    return {pod["spec"]["nodeName"] for pod in console.pods(job)}


def test_a_group_is_divided_by_a_label_while_a_job_runs(console: Console) -> None:
    running = console.submit(cards=8)
    console.until(running, "running")
    (busy,) = nodes_of(console, running)
    rest = sorted(f"h100-{number}" for number in range(1, 5) if f"h100-{number}" != busy)[:2]
    for node in rest:
        console.plane.request("PATCH", f"{NODES}/{node}", {"metadata": {"labels": {INTERCONNECT: "pcie"}}})
    console.until_true(
        lambda: Node.objects.filter(**{f"labels__{INTERCONNECT}": "pcie"}).count() == 2, "labels are seen"
    )
    admin = actor_of(User.objects.get(username="admin"))
    group, cluster = console.group, console.cluster
    changed = group_edit(
        actor=admin,
        cluster=cluster,
        slug=group.slug,
        data={"selector": {**group.selector, INTERCONNECT: "nvlink"}},
        expected_version=group.version,
    )
    assert (list(changed.preview.leaves), changed.preview.held_on_leaving) == (rest, 0)
    console.look()
    (proposal,) = cluster.proposals.all()
    assert proposal.selector == {**group.selector, INTERCONNECT: "pcie"}
    group_confirm(actor=admin, cluster=cluster, slug=proposal.slug, data={"title": "H100 PCIe"})
    shares_complete(cluster)
    plan_recount(actor=admin, cluster=cluster, expected_version=stored(cluster).number)
    pcie = cluster.groups.get(slug=proposal.slug)
    shares_set(actor=admin, group=pcie, basis_points={console.queues["language"].pk: 10_000})
    console.apply_quotas()
    flavors = {
        name: console.plane.client.find(names.FLAVORS.path(None, names.flavor(name)))["spec"]["nodeLabels"]
        for name in (group.slug, pcie.slug)
    }
    assert {name: labels[INTERCONNECT] for name, labels in flavors.items()} == {group.slug: "nvlink", pcie.slug: "pcie"}
    narrow, other = (
        console.submit(cards=8, card_model=group.slug),
        console.submit("eng-language-1", cards=8, card_model=pcie.slug),
    )
    console.until(narrow, "running")
    console.until(other, "running")
    assert nodes_of(console, other) <= set(rest)
    assert nodes_of(console, narrow).isdisjoint({busy, *rest}), "what runs since before is still counted on its node"
    assert console.shown(running).startswith("running"), console.shown(running)
    console.wait_for_quota(vision=16)
