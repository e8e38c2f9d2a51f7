"""A cluster that is only watched: whoever asks, by whatever way, nothing is written there."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.backend import KueueVolcanoBackend
from clusters.backends.kueue_volcano.credentials import Account
from clusters.backends.kueue_volcano.objects import Objects, head_of
from clusters.connect import Upload
from clusters.contract import BackendError, QuotaPlan, Retryable, WorkloadRef
from clusters.models import Cluster, ClusterMode, Node, TeamSecret
from clusters.nodes_cordon import node_cordon
from clusters.preflight.service import preflight_run
from clusters.secrets import bring_secrets
from clusters.sync import cluster_sync
from common.errors import InvalidInput
from common.secrets import seal
from jobs.domain.operations import Operation
from jobs.domain.words import JobState
from jobs.services.operations import refusal_of
from jobs.services.submit import job_submit
from quotas.cluster_services import cluster_forget, cluster_open
from quotas.managing import manage_start, manage_stop
from quotas.models import LocalQueue
from quotas.services import quotas_apply
from quotas.tasks import quotas_apply_cluster_task
from tests import foreign
from tests.api_server import ApiServer, kubeconfig_of
from tests.cast import Cast, build_cast
from tests.services.support import refused
from tests.stage import BODY
from tests.unit.clusters.kueue_volcano.shapes import spec

pytestmark = pytest.mark.django_db

JOB = WorkloadRef("01K00000000000000000000001", 1, "slu-vision-000000", "j-1", "uid-1", "training")
SERVICE = WorkloadRef("01K00000000000000000000002", 1, "slu-vision-000000", "j-2", "uid-2", "inference")
WORKLOAD = b'{"metadata": {"resourceVersion": "1"}, "spec": {"podSets": [{"name": "main", "template": {"spec": {}}}]}}'

READS = {"trace", "observe", "inventory", "watch", "survey", "found_queues", "tail_logs", "left_behind"}
WRITES: dict[str, Callable[[KueueVolcanoBackend], Any]] = {
    "submit": lambda door: door.submit(spec()),
    "submit a service": lambda door: door.submit(spec(kind="inference", pods=1)),
    "stop": lambda door: door.stop(JOB, timedelta(seconds=1)),
    "set_held": lambda door: door.set_held(JOB, True),
    "set_held a service": lambda door: door.set_held(SERVICE, True),
    "set_priority": lambda door: door.set_priority(JOB, 300),
    "steer": lambda door: door.steer(JOB, ("h100-1",)),
    "scale": lambda door: door.scale(SERVICE, 2),
    "set_schedulable": lambda door: door.set_schedulable("h100-1", False),
    "set_schedulable tried out": lambda door: door.set_schedulable("h100-1", False, dry_run=True),
    "put_secret": lambda door: door.put_secret("slu-vision-000000", "slu-env-a-1", {"A": b"1"}),
    "drop_secret": lambda door: door.drop_secret("slu-vision-000000", "slu-env-a-1"),
    "apply_quotas": lambda door: door.apply_quotas(QuotaPlan(queues=(), pool=())),
}
ELSEWHERE = {"tidy", "take_away"}
"""They write after a look, and are seen below."""


@pytest.fixture
def cast() -> Cast:
    return build_cast()


@pytest.fixture
def watched(cast: Cast, server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Others have queues there, so it was connected in the read-only view. Every object of ours seems to be there."""
    foreign.serve(server)
    for kind in (
        names.NAMESPACES,
        names.SERVICES,
        names.TOPOLOGIES,
        names.PRIORITY_CLASSES,
        names.POD_PRIORITY_CLASSES,
    ):
        server.answers[kind.path()] = 200, {"Content-Type": "application/json"}, b'{"items": []}'
    server.answers[names.WORKLOADS.path("slu-vision-000000", "w-1")] = 200, {}, WORKLOAD
    head = head_of(b'{"metadata": {"name": "j-1", "namespace": "slu-vision-000000", "uid": "uid-1"}}')
    monkeypatch.setattr(Objects, "find", lambda *_arguments: head)
    monkeypatch.setattr(KueueVolcanoBackend, "_workloads_of", lambda *_arguments: ["w-1"])
    upload = Upload({account: kubeconfig_of(server, account) for account in Account})
    cluster = cluster_open(actor=cast.actor("admin"), name="Lab", upload=upload).cluster
    assert cluster.mode == ClusterMode.WATCHING
    foreign.confirm_groups(cluster)
    assert cluster_sync(cluster)
    return cluster


def test_every_method_of_the_backend_is_known_to_read_or_to_write() -> None:
    methods = {name for name, _ in inspect.getmembers(KueueVolcanoBackend, inspect.isfunction) if name[0] != "_"}
    assert methods == READS | ELSEWHERE | {name.split()[0] for name in WRITES}


@pytest.mark.parametrize("name", WRITES)
def test_what_would_write_is_not_sent(watched: Cluster, server: ApiServer, name: str) -> None:
    with pytest.raises(Retryable) as caught:
        WRITES[name](KueueVolcanoBackend(watched))
    assert caught.value.code == "read_only"
    assert foreign.writes(server) == []
    Cluster.objects.filter(pk=watched.pk).update(mode=ClusterMode.MANAGING)
    with suppress(BackendError):  # the same does write where it may: this test could fail
        WRITES[name](KueueVolcanoBackend(Cluster.objects.get(pk=watched.pk)))
    assert foreign.writes(server)


def test_an_empty_queue_of_ours_is_not_taken_away(watched: Cluster, server: ApiServer) -> None:
    labels = {names.INSTALLATION: names.installation_of(watched.public_id)}
    head = {"name": "old", "namespace": "slu-vision-000000", "uid": "uid-2", "labels": labels}
    queue = {"metadata": head, "spec": {"clusterQueue": "theirs"}, "status": {"pendingWorkloads": 0}}
    for path, answer in (
        (names.LOCAL_QUEUES.path(), {"items": [queue]}),
        (names.LOCAL_QUEUES.path("slu-vision-000000", "old"), queue),
        (names.WORKLOADS.path("slu-vision-000000"), {"items": []}),
    ):
        server.answers[path] = 200, {"Content-Type": "application/json"}, json.dumps(answer).encode()
    told = KueueVolcanoBackend(watched).take_away()
    assert (told.removed, told.failed) == ((), (("old", "read_only"),))
    assert foreign.writes(server) == []
    Cluster.objects.filter(pk=watched.pk).update(mode=ClusterMode.MANAGING)
    (gone,) = KueueVolcanoBackend(Cluster.objects.get(pk=watched.pk)).take_away().removed
    assert gone.name == "old" and foreign.writes(server)


def test_what_runs_by_itself_only_looks(cast: Cast, watched: Cluster, server: ApiServer) -> None:
    TeamSecret.objects.create(
        cluster=watched, team=cast.teams["vision"], kind="env", name="a", values=seal('{"A": "1"}'),
        changed_at=timezone.now(),
    )  # fmt: skip
    server.asked.clear()
    assert cluster_sync(watched)
    assert preflight_run(watched)
    quotas_apply_cluster_task(watched.pk)
    quotas_apply(watched)
    assert bring_secrets() == 0
    assert len(server.asked) > 20
    assert foreign.writes(server) == []
    assert watched.nodes.count() == 6


def test_what_people_ask_for_is_refused_or_kept_here(cast: Cast, watched: Cluster, server: ApiServer) -> None:
    admin = cast.actor("admin")
    node = Node.objects.filter(cluster=watched).first()
    assert node is not None
    error = refused(lambda: node_cordon(actor=admin, cluster=watched, node=node.name, reason="fan"))
    assert error.code == "nodes_not_kept"
    wrong = refused(lambda: job_submit(actor=cast.actor("eng-vision-1"), data={**BODY, "cluster": "lab"}), InvalidInput)
    assert isinstance(wrong, InvalidInput)
    assert [(problem.attr, problem.code) for problem in wrong.problems] == [("cluster", "watched_only")]
    assert cluster_forget(actor=admin, cluster=watched)  # nothing of ours was ever there
    assert foreign.writes(server) == []


def test_jobs_that_name_no_cluster_go_where_they_may(cast: Cast, watched: Cluster) -> None:
    Cluster.objects.filter(is_default=True).update(is_default=False)
    Cluster.objects.filter(pk=watched.pk).update(is_default=True)
    job = job_submit(actor=cast.actor("eng-vision-1"), data={k: v for k, v in BODY.items() if k != "cluster"})
    assert job.job.cluster == cast.cluster


def test_an_ended_job_is_not_started_anew_where_nothing_may_be_written(cast: Cast) -> None:
    job = job_submit(actor=cast.actor("eng-vision-1"), data=BODY).job
    job.state = JobState.FAILED
    assert refusal_of(Operation.RESTART, job) is None
    job.cluster.mode = ClusterMode.WATCHING
    refusal = refusal_of(Operation.RESTART, job)
    assert refusal is not None and refusal.code == "queue_takes_none"


@pytest.mark.parametrize(
    ("asked", "queues", "works", "mode"),
    [
        (None, [], [], ClusterMode.MANAGING),
        (None, None, [], ClusterMode.WATCHING),
        (None, [], [{"metadata": {"name": "w", "labels": {}}}], ClusterMode.WATCHING),
        (ClusterMode.MANAGING, None, [], ClusterMode.MANAGING),
        (ClusterMode.WATCHING, [], [], ClusterMode.WATCHING),
    ],
    ids=["empty", "queues of others", "work of others", "managed all the same", "watched all the same"],
)
def test_a_cluster_begins_as_said_else_by_what_is_found_there(
    cast: Cast, server: ApiServer, asked: ClusterMode | None, queues: Any, works: Any, mode: ClusterMode
) -> None:
    foreign.serve(server, workloads=works, **({} if queues is None else {"clusterqueues": queues}))
    upload = Upload({account: kubeconfig_of(server, account) for account in Account})
    connected = cluster_open(actor=cast.actor("admin"), name="Lab", upload=upload, mode=asked)
    assert Cluster.objects.get(slug="lab").mode == mode
    assert any("only looked at" in note for note in connected.notes) is (mode is ClusterMode.WATCHING)


def test_managing_is_started_with_open_eyes_and_stopped_without_jobs(
    cast: Cast, watched: Cluster, server: ApiServer
) -> None:
    admin = cast.actor("admin")
    quotas_apply_cluster_task(watched.pk)
    problem = refused(lambda: manage_start(actor=admin, cluster=watched, confirmed=False), InvalidInput)
    assert isinstance(problem, InvalidInput) and problem.problems[0].code == "not_confirmed"
    manage_start(actor=admin, cluster=watched, confirmed=True)
    assert refused(lambda: manage_start(actor=admin, cluster=watched, confirmed=True)).code == "managed_already"
    quotas_apply_cluster_task(watched.pk)
    assert foreign.writes(server)
    server.asked.clear()
    local = LocalQueue.objects.get(queue__cluster=watched, queue__team__slug="vision")
    local.demands.create(job_ulid=JOB.job_ulid, owner_id=1, cards=0)
    assert refused(lambda: manage_stop(actor=admin, cluster=watched)).code == "has_live_jobs"
    local.demands.all().delete()
    manage_stop(actor=admin, cluster=watched)
    quotas_apply_cluster_task(watched.pk)
    assert foreign.writes(server) == []
    assert not cluster_forget(actor=admin, cluster=watched)  # what was made there is still there
    assert foreign.writes(server) == []


def test_a_watch_that_outlives_the_change_writes_no_more_and_then_again(watched: Cluster, server: ApiServer) -> None:
    door = KueueVolcanoBackend(watched)
    for mode, code in ((ClusterMode.MANAGING, "space_missing"), (ClusterMode.WATCHING, "read_only")):
        Cluster.objects.filter(pk=watched.pk).update(mode=mode)
        assert cluster_sync(watched)
        with pytest.raises(BackendError) as caught:
            door.submit(spec())
        assert caught.value.code == code


def test_the_sandbox_is_part_of_the_console(cast: Cast) -> None:
    assert cast.cluster.mode == ClusterMode.MANAGING
    assert refused(lambda: manage_stop(actor=cast.actor("admin"), cluster=cast.cluster)).code == "not_connected"
