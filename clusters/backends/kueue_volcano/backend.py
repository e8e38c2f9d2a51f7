"""Kueue as the gate, Volcano as the gang's executor, behind the contract of every backend.

A training attempt is a suspended Job under Kueue and a PodGroup for Volcano (2 creates, 1 delete in a life); an
inference service is a Deployment under Kueue. Why it is so: docs/kueue-volcano.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from clusters.backends.kueue_volcano import names, quotas
from clusters.backends.kueue_volcano.client import Exists, KubeClient, Missing
from clusters.backends.kueue_volcano.clients import client_of, clients_of, fresh_client
from clusters.backends.kueue_volcano.credentials import Account
from clusters.backends.kueue_volcano.discovery import lacking
from clusters.backends.kueue_volcano.found import Finder, Place
from clusters.backends.kueue_volcano.inference import deployment_manifest
from clusters.backends.kueue_volcano.inventory import cluster_inventory
from clusters.backends.kueue_volcano.leaving import Leaver
from clusters.backends.kueue_volcano.lists import FOLLOWED, list_all
from clusters.backends.kueue_volcano.logs import tail
from clusters.backends.kueue_volcano.manifests import job_manifest, pod_group_manifest, secret_manifest
from clusters.backends.kueue_volcano.mirror import Mirror
from clusters.backends.kueue_volcano.objects import Objects, heads_of
from clusters.backends.kueue_volcano.settings import accelerator_names, shape_of
from clusters.backends.kueue_volcano.snapshot import Snapshot
from clusters.backends.kueue_volcano.steering import job_patch, workload_patch
from clusters.backends.kueue_volcano.surveying import Surveyor
from clusters.backends.kueue_volcano.tidying import tidy
from clusters.contract import (
    SECRET_PREFIX,
    BackendError,
    Capability,
    ClusterInventory,
    FoundQueues,
    LeftObject,
    LogChunk,
    Observation,
    QuotaPlan,
    QuotaSyncReport,
    Rejected,
    Retryable,
    Scope,
    TakenAway,
    TidyReport,
    WorkloadFacts,
    WorkloadRef,
    WorkloadSpec,
)
from clusters.facts_codec import facts_from_json
from clusters.models import Cluster, Node, ObservedWorkload
from clusters.preflight.survey import Survey

INFERENCE = "inference"
STEER_READINGS = 3
"""How often what the gate writes to at the same moment is read before the caller is told to come again."""


class KueueVolcanoBackend:
    """One connected cluster. Instances are short-lived: a look, the inventory and the tidying share one list."""

    kind: ClassVar[str] = "kueue_volcano"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.HOLD,
            Capability.NODES,
            Capability.PRIORITY,
            Capability.SCALE,
            Capability.STEER,
            Capability.TOPOLOGY,
            Capability.WATCH,
        }
    )
    calls_at_once: ClassVar[int] = 16
    settles_in: ClassVar[timedelta] = timedelta(seconds=3)
    """The gate puts what waits back into its queue once a second, after it has seen the cards come free."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._installation = names.installation_of(cluster.public_id)
        self._shape = shape_of(cluster)  # read here, because calls are made by threads that read no rows
        self._snapshot: Snapshot | None = None
        self._read_at: datetime | None = None

    @property
    def _client(self) -> KubeClient:
        """Asked for anew each time: a watch outlives its address, its credentials and what it may write."""
        return client_of(self._cluster, "runtime")

    @property
    def _objects(self) -> Objects:
        return Objects(self._client, self._installation)

    # ------------------------------------------------------------------- attempts

    def submit(self, spec: WorkloadSpec) -> WorkloadRef:
        objects = self._objects
        if spec.kind == INFERENCE:
            uid = objects.make(names.DEPLOYMENTS, deployment_manifest(spec, self._shape), spec.job_ulid, spec.attempt)
        else:
            uid = objects.make(names.JOBS, job_manifest(spec, self._shape), spec.job_ulid, spec.attempt)
            if self._shape.has_volcano:
                self._gather(spec, uid)
        return WorkloadRef(spec.job_ulid, spec.attempt, spec.space, spec.object_name, uid, spec.kind)

    def _gather(self, spec: WorkloadSpec, uid: str) -> None:
        """The PodGroup that starts all pods together. Without it the Job must not stay: its pods would wait unseen."""
        try:
            self._objects.make_owned(names.POD_GROUPS, pod_group_manifest(spec, self._shape, uid), uid)
        except BackendError as error:
            if not isinstance(error, Retryable):
                self._objects.remove(names.JOBS, spec.space, spec.object_name, uid)
            raise

    def stop(self, ref: WorkloadRef, grace: timedelta) -> None:
        """Pods end within the grace of their own manifest; ``grace`` was written there at submit."""
        kind = _kind_of(ref)
        found = None if ref.uid else self._objects.find(kind, ref)
        uid = ref.uid or (found.uid if found is not None else None)
        if uid is not None:
            self._objects.remove(kind, ref.space, ref.object_name, uid)

    def trace(self, job_ulid: str, attempt: int) -> WorkloadRef | None:
        marks = {names.INSTALLATION: self._installation, names.JOB: job_ulid.lower(), names.ATTEMPT: str(attempt)}
        selector = {"labelSelector": ",".join(f"{name}={value}" for name, value in marks.items())}
        for kind in (names.JOBS, names.DEPLOYMENTS):
            for found in heads_of(self._client.get(kind.path(), selector)):
                if self._objects.is_ours(found, job_ulid, attempt):
                    job_kind = INFERENCE if kind is names.DEPLOYMENTS else "training"
                    return WorkloadRef(job_ulid, attempt, found.namespace, found.name, found.uid, job_kind)
        return None

    def set_held(self, ref: WorkloadRef, held: bool) -> None:
        """Training: the Workload is made inactive (V5). Inference: no replicas."""
        kind = _kind_of(ref)
        found = self._objects.find(kind, ref)
        if found is None:
            return
        if kind is names.DEPLOYMENTS:
            wanted = 0 if held else int(found.annotations.get(names.PODS, "1"))
            self._client.merge(kind.path(ref.space, ref.object_name), {"spec": {"replicas": wanted}})
            return
        for workload in self._workloads_of(ref, found.uid):
            self._client.merge(names.WORKLOADS.path(ref.space, workload), {"spec": {"active": not held}})

    def _workloads_of(self, ref: WorkloadRef, job_uid: str) -> list[str]:
        """Their names. Raises Retryable while the gate has not made one."""
        selector = {"labelSelector": f"{names.WORKLOAD_JOB_UID}={job_uid}"}
        workloads = heads_of(self._client.get(names.WORKLOADS.path(ref.space), selector))
        if not workloads:
            raise Retryable("not_picked_up", f"no workload of {ref.space}/{ref.object_name} yet")
        return [workload.name for workload in workloads]

    def set_priority(self, ref: WorkloadRef, priority: int) -> None:
        kind = _kind_of(ref)
        if self._objects.find(kind, ref) is not None:
            labels = {names.PRIORITY_CLASS: names.priority_class(priority)}
            self._merge(kind, ref, {"metadata": {"labels": labels}})

    def steer(self, ref: WorkloadRef, avoid_nodes: tuple[str, ...]) -> None:
        """The Workload before the Job, which a look reads: done halfway, it is done again."""
        found = self._objects.find(names.JOBS, ref)
        if found is None:
            return
        for workload in self._workloads_of(ref, found.uid):
            self._steer_workload(names.WORKLOADS.path(ref.space, workload), avoid_nodes)
        self._merge(names.JOBS, ref, job_patch(avoid_nodes))

    def _steer_workload(self, path: str, avoid_nodes: tuple[str, ...]) -> None:
        """The gate writes to what waits all the time: a version that it has changed since is read again."""
        for readings_left in reversed(range(STEER_READINGS)):
            patch = workload_patch(self._client.get(path), avoid_nodes)
            if patch is None:
                return
            try:
                self._client.merge(path, patch)
                return
            except Retryable as error:
                if error.code != "conflict" or not readings_left:
                    raise

    def scale(self, ref: WorkloadRef, replicas: int) -> None:
        if self._objects.find(names.DEPLOYMENTS, ref) is not None:
            annotations = {names.PODS: str(replicas)}
            patch = {"metadata": {"annotations": annotations}, "spec": {"replicas": replicas}}
            self._merge(names.DEPLOYMENTS, ref, patch)

    def _merge(self, kind: names.Kind, ref: WorkloadRef, patch: dict[str, object]) -> None:
        try:
            self._client.merge(kind.path(ref.space, ref.object_name), patch)
        except Missing:
            return

    # ------------------------------------------------------------------- nodes

    def set_schedulable(self, node: str, schedulable: bool, *, dry_run: bool = False) -> None:
        """By the account for nodes, which a cluster may be without."""
        client = client_of(self._cluster, Account.NODE)
        try:
            client.merge(names.NODES.path(None, node), {"spec": {"unschedulable": not schedulable}}, dry_run=dry_run)
        except Missing as error:
            raise Rejected("node_missing", error.detail) from error

    # ------------------------------------------------------------------- looking

    def observe(self, scope: Scope) -> Observation:
        begun_at = datetime.now(UTC)
        snapshot = Snapshot(self._installation)
        whole = True
        for followed in FOLLOWED:
            spaces = sorted(scope.spaces) if scope.spaces and followed.kind.namespaced else [None]
            items: list[object] = []
            for space in spaces:
                listed = list_all(self._client, followed, self._installation, space)
                items += listed.items
                whole = whole and not listed.broken
            snapshot.replace(followed.kind, items)
        self._snapshot, self._read_at = snapshot, begun_at
        return Observation(begun_at, whole and not scope.spaces, snapshot.observed())

    def inventory(self) -> ClusterInventory:
        """Of the newest look of this instance; takes one where there was none."""
        if self._snapshot is None:
            self.observe(Scope())
        assert self._snapshot is not None and self._read_at is not None
        lacks = lacking(self._client)
        self._cluster.lacks = sorted(lacks)
        self._shape = shape_of(self._cluster)  # a watch outlives the groups it began with
        called = accelerator_names(self._cluster)
        return replace(cluster_inventory(self._snapshot, self._shape, self._read_at, called), lacks=lacks)

    def watch(self, stop: Callable[[], bool]) -> Iterator[Observation]:
        snapshot = Snapshot(self._installation)
        mirror = Mirror(fresh_client(self._cluster, "runtime"), snapshot, self._installation)
        for observation in mirror.observations(stop):
            if observation.complete:
                self._snapshot, self._read_at = snapshot, observation.read_at
            yield observation

    def survey(self, now: datetime) -> Survey:
        return Surveyor(clients_of(self._cluster), self._installation).survey(now)

    def found_queues(self) -> FoundQueues:
        clients = clients_of(self._cluster)
        groups = Node.objects.filter(cluster=self._cluster).exclude(group=None)
        places = {
            name: Place(group, resource)
            for name, group, resource in groups.values_list("name", "group__slug", "group__resource")
        }
        finder = Finder(clients[Account.RUNTIME], clients.get(Account.QUOTA), self._installation, places)
        return finder.found_queues(datetime.now(UTC))

    def tidy(self) -> TidyReport:
        return TidyReport() if self._snapshot is None else tidy(self._objects, self._snapshot, self._shape)

    def tail_logs(self, ref: WorkloadRef, cursor: str) -> LogChunk:
        """The pods are those of the newest look that was stored: reading a log lists nothing."""
        facts = self._last_seen(ref)
        if facts is None:
            return LogChunk((), cursor, complete=True)
        return tail(self._client, ref.space, facts.pods, cursor, over=facts.outcome is not None)

    def _last_seen(self, ref: WorkloadRef) -> WorkloadFacts | None:
        row = ObservedWorkload.objects.filter(
            cluster=self._cluster, job_ulid=ref.job_ulid, attempt_no=ref.attempt, gone=False
        ).first()
        return facts_from_json(row.facts) if row is not None else None

    # ------------------------------------------------------------------- secrets

    def put_secret(self, space: str, name: str, data: Mapping[str, bytes]) -> None:
        """Written anew: the account may neither read nor change a secret. A pod that starts in between tries again."""
        manifest = secret_manifest(space, name, data, self._shape)
        self.drop_secret(space, name)
        try:
            self._client.create(names.SECRETS.path(space), manifest)
        except Missing as error:
            raise Retryable("space_missing", error.detail) from error
        except Exists as error:  # the one before it is still going
            raise Retryable("still_ending", f"Secret {space}/{name}") from error

    def drop_secret(self, space: str, name: str) -> None:
        """By name alone: a delete by label would answer with what it deletes, and so need the right to read."""
        if not name.startswith(SECRET_PREFIX):
            raise Rejected("secret_refused", name)
        with suppress(Missing):
            self._client.delete(names.SECRETS.path(space, name))

    # ------------------------------------------------------------------- quotas

    def apply_quotas(self, plan: QuotaPlan) -> QuotaSyncReport:
        return quotas.apply(client_of(self._cluster, "quota"), plan, self._shape)

    def left_behind(self) -> tuple[LeftObject, ...]:
        return self._leaver.left_behind()

    def take_away(self) -> TakenAway:
        return self._leaver.take_away()

    @property
    def _leaver(self) -> Leaver:
        return Leaver(self._client, client_of(self._cluster, "quota"), self._installation)


def _kind_of(ref: WorkloadRef) -> names.Kind:
    return names.DEPLOYMENTS if ref.kind == INFERENCE else names.JOBS
