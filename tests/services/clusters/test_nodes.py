"""Nodes as the console keeps them: what counts as free, who closed which and why, and which are suspected."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import AuditEvent
from clusters.backends.kueue_volcano.inventory import cluster_inventory
from clusters.backends.kueue_volcano.shape import ClusterShape
from clusters.backends.sandbox import driver
from clusters.contract import NodeTrouble, Unauthorized
from clusters.models import Cluster, Node, NodeGroup, PreflightRow
from clusters.nodes_cordon import closing_refusal, node_cordon, node_uncordon
from clusters.nodes_models import NodeCordon, NodeFailure, NodeSuspicion
from clusters.nodes_suspicion import KEPT, failure_note, suspected_nodes, suspicion_clear, suspicions_settle
from clusters.observed import store_inventory
from clusters.selectors import group_views
from clusters.simulation.commands import Cordon, ExitPod
from common.errors import DomainError, InvalidInput, NotAllowed, NotFound
from jobs.domain.operations import Operation
from jobs.models import Job
from jobs.services.operations import job_operate
from tests.backends.kueue.objects import INSTALLATION, RESOURCE, Object, moment, node, pod, snapshot_of
from tests.backends.kueue.test_inventory import GIVEN, taint
from tests.cast import Cast
from tests.stage import Stage

pytestmark = pytest.mark.django_db

NODE = "h100-01"


@pytest.fixture
def stage(cast: Cast) -> Iterator[Stage]:
    with Stage(cast) as stage:
        yield stage


def view(stage: Stage, name: str = NODE) -> Any:
    views = group_views(viewer=stage.cast.actor("admin"))
    return next(node for group in views for node in group.nodes if node.name == name)


# --------------------------------------------------------------------------- what counts as free


def on(name: str, cards: int, thing: Object) -> list[Object]:
    """A machine of this name, with a pod of ours that holds so many cards of it."""
    thing["metadata"]["name"] = name
    if not cards:
        return [thing]
    container = {"name": "main", "resources": {"limits": {RESOURCE: str(cards)}}}
    return [thing, pod(0, node=name, uid=f"pod-{name}", name=f"pod-{name}", containers=[container])]


def test_only_what_a_job_can_get_is_free_from_the_clusters_own_words_to_the_page(stage: Stage) -> None:
    """C-67: capacity 40, free 5 (n1 only), in use 16; ready 1, cordoned 1, down 2, tainted 1."""
    cluster = Cluster.objects.create(slug="real", name="Real", kind="kueue_volcano")
    things = [
        *on("n1", 3, node()),
        *on("n2", 5, node(cordoned=True, taints=[taint("node.kubernetes.io/unschedulable", s=7)])),
        *on("n3", 0, node(ready="False")),
        *on("n4", 8, node(ready="Unknown")),
        *on("n5", 0, node(taints=[taint("maintenance")])),
    ]
    NodeGroup.objects.create(cluster=cluster, slug="h100", title="H100", cards_per_node=8)
    store_inventory(cluster, cluster_inventory(snapshot_of(*things), ClusterShape(INSTALLATION, GIVEN), moment(1000)))
    (group,) = [each for each in group_views(viewer=stage.cast.actor("admin")) if each.cluster == cluster]
    assert {node.name: node.free for node in group.nodes} == {"n1": 5, "n2": 0, "n3": 0, "n4": 0, "n5": 0}
    assert (group.installed, group.used, group.free, group.out) == (40, 16, 5, 19)
    troubles = {node.name: node.troubles for node in group.nodes}
    assert troubles == {
        "n1": set(),
        "n2": {NodeTrouble.CORDONED},
        "n3": {NodeTrouble.NOT_READY},
        "n4": {NodeTrouble.UNHEARD},
        "n5": {NodeTrouble.TAINTED},
    }
    assert [node.name for node in group.nodes if node.is_idle] == []
    assert Node.objects.get(cluster=cluster, name="n2").conditions[0]["since"] == moment(7).isoformat()


def test_how_long_a_node_has_held_what_it_holds_survives_looks_that_change_nothing(stage: Stage) -> None:
    stage.settle()
    idle_since = view(stage).held_since
    stage.run(60, step=20)
    assert view(stage).held_since == idle_since and view(stage).is_idle
    stage.submit(cards=8, card_model="h100", command="sleep 600")
    stage.run(60)
    busy = next(node for group in group_views(viewer=stage.cast.actor("admin")) for node in group.nodes if node.used)
    assert busy.held_since > idle_since and not busy.is_idle


# --------------------------------------------------------------------------- closing


def test_a_closed_node_is_shown_with_who_closed_it_and_why_and_takes_nothing(stage: Stage) -> None:
    admin = stage.cast.actor("admin")
    closing = node_cordon(actor=admin, cluster=stage.cast.cluster, node=NODE, reason="  a fan\n is loud ")
    assert (closing.closed, closing.reason, closing.goes_on) == (True, "a fan is loud", 0)
    stage.run(4)
    assert (view(stage).free, view(stage).out, view(stage).troubles) == (0, 8, {NodeTrouble.CORDONED})
    row = NodeCordon.objects.get()
    assert (row.node, row.reason, row.cordoned_by, row.lifted_at) == (NODE, "a fan is loud", admin.user, None)
    assert row.seen_at is not None
    event = AuditEvent.objects.get(action="node.cordon")
    assert (event.target_id, event.detail["reason"]) == (NODE, "a fan is loud")

    node_uncordon(actor=admin, cluster=stage.cast.cluster, node=NODE)
    stage.run(4)
    row.refresh_from_db()
    assert view(stage).free == 8 and row.lifted_at is not None and row.lifted_by == admin.user
    assert AuditEvent.objects.filter(action="node.uncordon", target_id=NODE).count() == 1


def test_a_dry_run_says_what_would_go_on_and_changes_nothing(stage: Stage) -> None:
    job = stage.submit(cards=8, card_model="h100", command="sleep 600")
    stage.run(60)
    (home,) = job.attempts.get().runs.get().nodes
    admin = stage.cast.actor("admin")
    closing = node_cordon(actor=admin, cluster=stage.cast.cluster, node=home, reason="memory", dry_run=True)
    assert closing.goes_on == 1 and closing.dry_run
    stage.run(4)
    assert not NodeCordon.objects.exists() and not AuditEvent.objects.filter(action="node.cordon").exists()
    assert view(stage, home).troubles == set()


def test_a_node_that_somebody_else_closed_can_be_given_a_reason_and_opened(stage: Stage) -> None:
    cluster, admin = stage.cast.cluster, stage.cast.actor("admin")
    driver.send(cluster, Cordon(driver.now_ms(), NODE))
    stage.run(4)
    assert view(stage).troubles == {NodeTrouble.CORDONED} and not NodeCordon.objects.exists()
    node_cordon(actor=admin, cluster=cluster, node=NODE, reason="ours now")
    node_uncordon(actor=admin, cluster=cluster, node=NODE)
    stage.run(4)
    assert view(stage).troubles == set()


def test_a_node_that_somebody_else_opened_is_closed_no_more(stage: Stage) -> None:
    cluster, admin = stage.cast.cluster, stage.cast.actor("admin")
    node_cordon(actor=admin, cluster=cluster, node=NODE, reason="memory")
    stage.run(4)
    driver.send(cluster, Cordon(driver.now_ms(), NODE, cordoned=False))
    stage.run(4)
    row = NodeCordon.objects.get()
    assert row.lifted_at is not None and row.lifted_by is None


def test_closing_twice_and_opening_what_is_open_are_refused(stage: Stage) -> None:
    cluster, admin = stage.cast.cluster, stage.cast.actor("admin")
    with pytest.raises(DomainError) as refused:
        node_uncordon(actor=admin, cluster=cluster, node=NODE)
    assert refused.value.code == "not_closed"
    node_cordon(actor=admin, cluster=cluster, node=NODE, reason="memory")
    with pytest.raises(DomainError) as refused:
        node_cordon(actor=admin, cluster=cluster, node=NODE, reason="memory")
    assert refused.value.code == "closed_already"


@pytest.mark.parametrize("reason", ["", "  \n ", "x" * 301])
def test_a_reason_says_something_and_not_too_much(stage: Stage, reason: str) -> None:
    with pytest.raises(InvalidInput):
        node_cordon(actor=stage.cast.actor("admin"), cluster=stage.cast.cluster, node=NODE, reason=reason)


def test_only_admins_close_nodes_and_only_such_as_there_are(stage: Stage) -> None:
    for username in ("lead-vision", "eng-vision-1"):
        with pytest.raises(NotAllowed):
            node_cordon(actor=stage.cast.actor(username), cluster=stage.cast.cluster, node=NODE, reason="x")
    with pytest.raises(NotFound):
        node_cordon(actor=stage.cast.actor("admin"), cluster=stage.cast.cluster, node="../pods/x", reason="x")


def test_without_an_account_for_nodes_it_is_said_why_there_is_no_button(stage: Stage) -> None:
    cluster = Cluster.objects.create(slug="real", name="Real", kind="kueue_volcano")
    Node.objects.create(cluster=cluster, name="n1", health="ready", installed=8, seen_at=timezone.now())
    assert closing_refusal(stage.cast.cluster) == "" == closing_refusal(cluster)
    with pytest.raises(DomainError) as refused:  # nobody has looked yet: the cluster itself says it
        node_cordon(actor=stage.cast.actor("admin"), cluster=cluster, node="n1", reason="x")
    assert refused.value.code == "nodes_not_kept" and isinstance(refused.value.__cause__, Unauthorized)
    PreflightRow.objects.create(cluster=cluster, feature="maintenance", verdict="missing", since=timezone.now())
    assert "account for nodes" in closing_refusal(cluster)


# --------------------------------------------------------------------------- suspicion


def fail_on(stage: Stage, home: str, username: str) -> Job:
    """A job of this person that fails on this node: all others are closed meanwhile."""
    cluster = stage.cast.cluster
    others = [f"h100-{number:02}" for number in range(1, 5) if f"h100-{number:02}" != home]
    for name in others:
        driver.send(cluster, Cordon(driver.now_ms(), name))
    job = stage.submit(username, cards=8, card_model="h100", command="sleep 600")
    stage.run(40)
    (attempt,) = job.attempts.all()
    assert attempt.runs.get().nodes == [home]
    driver.send(cluster, ExitPod(driver.now_ms(), attempt.object_name, 0, 1))
    stage.run(10)
    for name in others:
        driver.send(cluster, Cordon(driver.now_ms(), name, cordoned=False))
    stage.run(4)
    job.refresh_from_db()
    assert job.state == "failed"
    return job


def test_a_node_on_which_jobs_of_three_people_failed_is_suspected_and_retries_avoid_it(stage: Stage) -> None:
    cluster = stage.cast.cluster
    jobs = [fail_on(stage, NODE, name) for name in ("eng-vision-1", "eng-language-1", "eng-vision-2")]
    assert NodeFailure.objects.filter(node=NODE).count() == 3
    assert suspicions_settle(timezone.now()) == 1 and suspicions_settle(timezone.now()) == 0
    row = NodeSuspicion.objects.get()
    assert row.node == NODE and [each["job_ulid"] for each in row.evidence] == [job.public_id for job in jobs]
    assert view(stage).free == 8, "suspected is not closed"

    retried = stage.submit(cards=8, card_model="h100", command="sleep 600", retry_limit=1)
    stage.run(40)
    first = retried.attempts.get()
    driver.send(cluster, ExitPod(driver.now_ms(), first.object_name, 0, 1))
    stage.run(60)
    second = retried.attempts.get(number=2)
    assert second.runs.get().nodes and second.runs.get().nodes != [NODE]
    spec = next(found for found in driver.find_workloads(cluster, second.object_name)).spec
    assert spec.avoid == (NODE,)


def test_a_suspicion_ends_by_itself_after_a_day_without_a_failure(stage: Stage) -> None:
    cluster, begun = stage.cast.cluster, timezone.now()
    people = [stage.cast.users[name].pk for name in ("eng-vision-1", "eng-language-1", "eng-vision-2")]

    def note(owner: int, number: int, hours: float) -> None:
        at = begun + timedelta(hours=hours)
        failure_note(
            cluster_id=cluster.pk, node=NODE, job_ulid=f"{number:026}", attempt=1, owner_id=owner, code="app_exit",
            at=at,
        )  # fmt: skip

    for number, owner in enumerate(people):
        note(owner, number, 0)
    assert suspicions_settle(begun) == 1
    note(people[0], 7, 20)
    for hours, is_open in ((23, True), (43, True), (44, False), (45, False)):
        assert suspicions_settle(begun + timedelta(hours=hours)) == 0
        assert NodeSuspicion.objects.filter(cleared_at=None).exists() is is_open, hours
    row = NodeSuspicion.objects.get()
    assert (row.cleared_at, row.cleared_by) == (begun + timedelta(hours=44), None)
    assert suspected_nodes([cluster.pk]).nodes == {}


def test_a_retry_that_waits_is_steered_away_from_a_node_that_comes_under_suspicion(stage: Stage) -> None:
    blocker = stage.submit("eng-vision-2", cards=32, card_model="h100", command="sleep 600")
    stage.run(30)
    job = stage.submit(cards=8, card_model="h100", command="sleep 600")
    stage.run(10)
    job_operate(actor=stage.cast.actor("eng-vision-1"), job=job, operation=Operation.REQUEUE)
    stage.run(20)
    (waiting,) = driver.find_workloads(job.cluster, job.attempts.get(number=2).object_name)
    assert blocker.public_id != job.public_id and waiting.spec.avoid == ()
    NodeSuspicion.objects.create(cluster=job.cluster, node=NODE, since=timezone.now())
    stage.run(30)
    (waiting,) = driver.find_workloads(job.cluster, job.attempts.get(number=2).object_name)
    assert waiting.spec.avoid == (NODE,)
    suspicion_clear(actor=stage.cast.actor("admin"), cluster=job.cluster, node=NODE, reason="a new card")
    stage.run(30)
    (waiting,) = driver.find_workloads(job.cluster, job.attempts.get(number=2).object_name)
    assert waiting.spec.avoid == ()


def test_an_admin_trusts_a_node_again_and_old_failures_do_not_count(stage: Stage) -> None:
    cluster, admin = stage.cast.cluster, stage.cast.actor("admin")
    people = [stage.cast.users[name].pk for name in ("eng-vision-1", "eng-language-1", "eng-vision-2")]

    def note(owner: int, number: int) -> None:
        failure_note(
            cluster_id=cluster.pk, node=NODE, job_ulid=f"{number:026}", attempt=1, owner_id=owner, code="app_exit",
            at=timezone.now(),
        )  # fmt: skip

    for number, owner in enumerate(people):
        note(owner, number)
        note(owner, number)
    assert NodeFailure.objects.count() == 3 and suspicions_settle(timezone.now()) == 1
    assert suspected_nodes([cluster.pk]).nodes == {cluster.pk: {NODE}}
    with pytest.raises(NotAllowed):
        suspicion_clear(actor=stage.cast.actor("lead-vision"), cluster=cluster, node=NODE, reason="x")
    suspicion_clear(actor=admin, cluster=cluster, node=NODE, reason="card 3 was changed")
    assert suspected_nodes([cluster.pk]).nodes == {} and suspicions_settle(timezone.now()) == 0
    assert AuditEvent.objects.filter(action="node.trust", target_id=NODE).count() == 1
    with pytest.raises(DomainError):
        suspicion_clear(actor=admin, cluster=cluster, node=NODE, reason="again")
    stage.skip(60)
    note(people[0], 7)
    assert suspicions_settle(timezone.now()) == 0
    suspicions_settle(timezone.now() + KEPT + timedelta(days=1))
    assert not NodeFailure.objects.exists()
