"""The real control plane as a stage for the contract suite and for the table of scenarios."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

import yaml

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.backend import KueueVolcanoBackend
from clusters.backends.kueue_volcano.credentials import Account, seal_accounts
from clusters.backends.kueue_volcano.kubeconfig import Access, parse_kubeconfig
from clusters.contract import (
    GroupQuota,
    QueuePlan,
    QuotaPlan,
    Retryable,
    SchedulerBackend,
    Scope,
    WorkloadRef,
    WorkloadSpec,
)
from clusters.models import Cluster, NodeGroup
from clusters.sync import cluster_sync
from tests.backends import scenario_words as s
from tests.backends.contract_stage import CARDS, GROUP, NODES, spec_of
from tests.backends.scenario_runner import Facts
from tests.controlplane.acting import act
from tests.controlplane.nodes import INTERCONNECT
from tests.controlplane.nodes import NodeGroup as Machines
from tests.controlplane.plane import Plane
from tests.controlplane.ports import free_ports

KIND = KueueVolcanoBackend.kind
ACCOUNTS = (Account.RUNTIME, Account.QUOTA, Account.NODE)


def connect(
    plane: Plane, machines: Machines, *, slug: str = "plane", topology_aware: bool = True, server: str = ""
) -> Cluster:
    """A row for this cluster, under the shipped accounts and with its one node group named as the suites name it.

    ``server`` puts another address in the place of the cluster's own.
    """
    cluster = Cluster.objects.create(
        slug=slug,
        name=slug.title(),
        kind=KIND,
        credentials=seal_accounts({account: _access(plane, account, server) for account in ACCOUNTS}),
        settings={"topology": topology_aware},
    )
    NodeGroup.objects.create(
        cluster=cluster,
        slug=GROUP,
        title="H100 NVLink",
        vendor="nvidia",
        card_model="H100",
        interconnect="NVLink",
        sharing="exclusive",
        unit="card",
        cards_per_node=machines.cards,
        resource=machines.resource,
        selector={"nvidia.com/gpu.product": machines.product, INTERCONNECT: machines.interconnect},
    )
    return cluster


def _access(plane: Plane, account: Account, server: str) -> Access:
    kubeconfig = yaml.safe_load(plane.kubeconfig(account.value).read_text())
    if server:
        kubeconfig["clusters"][0]["cluster"]["server"] = server
    return parse_kubeconfig(yaml.safe_dump(kubeconfig).encode())


class PlaneStage:
    """Time is real, so a wait is shortened: nothing here takes as long as on a cluster with images and people."""

    SHARE, LONGEST, STEP = 0.5, 3.0, 0.2
    LONGEST_SLEEP = timedelta(seconds=10)

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._machines = Machines("node", count=NODES, cards=CARDS)
        plane.reset(self._machines)
        self.cluster = connect(plane, self._machines)

    def backend(self) -> SchedulerBackend:
        return KueueVolcanoBackend(self.cluster)

    def wait(self, seconds: float) -> None:
        end = time.monotonic() + min(seconds * self.SHARE, self.LONGEST)
        while (left := end - time.monotonic()) > 0:
            act(self._plane, longest=self.LONGEST_SLEEP)
            time.sleep(min(self.STEP, left))
        cluster_sync(self.cluster)  # logs are read of pods that a stored look has seen

    def occupy(self, spec: WorkloadSpec) -> None:
        container = {"name": "main", "image": "somebody/else:1"}
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": spec.object_name, "namespace": spec.space},
            "spec": {"suspend": True, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
        }
        self._plane.request("POST", names.JOBS.path(spec.space), job)

    def broken(self) -> SchedulerBackend:
        """The same accounts at an address where nothing listens."""
        port = free_ports(["nobody"])["nobody"]
        cluster = connect(self._plane, self._machines, slug="silent", server=f"https://127.0.0.1:{port}")
        return KueueVolcanoBackend(cluster)


class PlaneDriver:
    """A driver of scenarios: the contract through the backend, faults through the API server."""

    REST_SECONDS = 1.5
    """Longer than Volcano needs for a cycle, and than the second in which Kubernetes tells times."""
    PATIENCE_SECONDS = 25.0
    STEP_SECONDS = 0.1
    SPACE = "slu-{}-000000"
    JOB = "j-{}-0000000000-1"

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._jobs: dict[str, WorkloadSpec] = {}
        self._frozen = False

    def build(self, cluster: s.ClusterDef) -> None:
        (cards,) = set(cluster.nodes)
        machines = Machines("n", count=len(cluster.nodes), cards=cards)
        self._plane.reset(machines)
        self._cluster = connect(self._plane, machines, topology_aware=cluster.topology_aware)
        self._planned = cluster
        self.hold_local_queues("", ())

    def hold_local_queues(self, queue: str, held: tuple[str, ...]) -> None:
        cluster = self._planned
        queues = tuple(self._queue_plan(each, held if each.name == queue else ()) for each in cluster.queues)
        pool = (GroupQuota(s.GROUP, cluster.pool),) if cluster.pool else ()
        report = self._backend.apply_quotas(QuotaPlan(queues, pool))
        assert report.failed == (), report.failed

    def _queue_plan(self, queue: s.QueueDef, held: tuple[str, ...]) -> QueuePlan:
        quota = None
        if queue.nominal is not None:
            quota = GroupQuota(s.GROUP, queue.nominal, queue.borrow_limit, queue.lend_limit)
        return QueuePlan(
            queue.name,
            self.SPACE.format(queue.name),
            () if quota is None else (quota,),
            queue.local_queues,
            strict=queue.strict,
            reclaims=queue.reclaims,
            borrow_preempts_up_to=queue.borrow_preempts_up_to,
            held_local_queues=held,
        )

    @property
    def _backend(self) -> KueueVolcanoBackend:
        return KueueVolcanoBackend(self._cluster)

    def submit(self, job: s.Job) -> None:
        spec = spec_of(
            job_ulid=job.ulid,
            object_name=self.JOB.format(job.name),
            spec_hash="0" * 32,
            space=self.SPACE.format(job.queue),
            queue=job.queue,
            local_queue=job.local,
            node_group=s.GROUP,
            priority=job.priority,
            kind=job.kind,
            framework=job.framework,
            pods=job.pods,
            cards_per_pod=job.cards_per_pod,
        )
        self._jobs[job.name] = spec
        self._backend.submit(spec)

    def scale(self, job: str, replicas: int) -> None:
        self._backend.scale(self._ref(job), replicas)

    def hold(self, job: str) -> None:
        self._set_held(job, True)

    def resume(self, job: str) -> None:
        self._set_held(job, False)

    def _set_held(self, job: str, held: bool) -> None:
        """Again until the gate has picked the job up, as the console does."""

        def try_it() -> bool:
            try:
                self._backend.set_held(self._ref(job), held)
            except Retryable:
                return False
            return True

        self._plane.wait_for(try_it, f"{job} is picked up")

    def cancel(self, job: str) -> None:
        spec = self._jobs[job]
        self._backend.stop(self._ref(job), spec.stop_grace)

    def _ref(self, job: str) -> WorkloadRef:
        spec = self._jobs[job]
        return WorkloadRef(spec.job_ulid, spec.attempt, spec.space, spec.object_name, kind=spec.kind)

    def exit_pod(self, job: str, rank: int, code: int) -> None:
        self._on_running_pod(job, rank, lambda space, pod: self._plane.exit_pod(space, pod, code))

    def evict_pod(self, job: str, rank: int) -> None:
        self._on_running_pod(job, rank, self._plane.evict_pod)

    def _on_running_pod(self, job: str, rank: int, call: Callable[[str, str], None]) -> None:
        spec = self._jobs[job]
        for pod in self._plane.pods(spec.space, spec.object_name):
            if pod["status"]["phase"] == "Running" and pod["metadata"]["labels"][names.COMPLETION_INDEX] == str(rank):
                call(spec.space, pod["metadata"]["name"])

    def cordon(self, node: str, cordoned: bool) -> None:
        self._plane.cordon(node.replace("n", "n-"), cordoned)

    def hold_queue(self, queue: str, held: bool, drain: bool) -> None:
        policy = "None" if not held else "HoldAndDrain" if drain else "Hold"
        address = names.CLUSTER_QUEUES.path(None, names.cluster_queue(queue))
        self._plane.request("PATCH", address, {"spec": {"stopPolicy": policy}})

    def until_leaving(self, job: str) -> None:
        """Quota is freed once the Job's controller has counted no active pod, so that controller is made to wait."""
        self._freeze(True)
        self._plane.wait_for(lambda: self._facts()[job].ending, f"{job} is told to leave")

    def _freeze(self, frozen: bool) -> None:
        if frozen != self._frozen:
            (self._plane.processes.freeze if frozen else self._plane.processes.thaw)("kube-controller-manager")
            self._frozen = frozen

    def settle(self, done: Callable[[Facts], bool]) -> Facts:
        """At rest is what has not changed for a while; what was waited for need only stand still for a moment."""
        self._freeze(False)
        give_up = time.monotonic() + self.PATIENCE_SECONDS
        seen, since = self._facts(), time.monotonic()
        while True:
            time.sleep(self.STEP_SECONDS)
            now, at = self._facts(), time.monotonic()
            if now != seen:
                seen, since = now, at
            still_for = at - since
            if still_for >= (self.REST_SECONDS if done(seen) else self.PATIENCE_SECONDS / 2) or at >= give_up:
                return seen

    def _facts(self) -> Facts:
        names_of = {spec.job_ulid: name for name, spec in self._jobs.items()}
        return {names_of[row.job_ulid]: row.facts for row in self._backend.observe(Scope()).objects}
