"""Clusters as last seen: groups, nodes and observed objects; and the sandbox cluster's own rows.

Only `cluster_sync` and the watcher write the observed part (decision 45). Nothing here points upwards: an
observed object names its job by ULID.
"""

from __future__ import annotations

from django.db import models

from clusters.contract import NodeHealth, SharingMode
from common.ids import new_ulid
from common.secrets import SealedTextField


class Cluster(models.Model):
    """One connected cluster. ``sync_error`` is empty while reads succeed.

    ``credentials`` is sealed (`common.secrets`) and never leaves the server; ``fingerprint`` tells people which they
    are, and ``settings["accounts"]`` as whom they act. Until ``rest_until`` nothing is asked of a cluster that did
    not answer.
    """

    public_id = models.CharField(max_length=26, unique=True, default=new_ulid, editable=False)
    slug = models.SlugField(max_length=40, unique=True)
    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=32)
    is_default = models.BooleanField(default=False)
    topology_aware = models.BooleanField(default=True)
    synced_at = models.DateTimeField(null=True, blank=True)
    sync_error = models.CharField(max_length=200, blank=True)
    watched_at = models.DateTimeField(null=True, blank=True)
    server = models.CharField(max_length=300, blank=True)  # https address of the API server
    credentials = SealedTextField(blank=True)
    fingerprint = models.CharField(max_length=64, blank=True)
    settings = models.JSONField(default=dict, blank=True)
    rest_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["is_default"], condition=models.Q(is_default=True), name="one_default_cluster"
            )
        ]

    def __str__(self) -> str:
        return self.name


class NodeGroup(models.Model):
    """Nodes with the same card model, interconnect and sharing mode. ``unit`` is never converted."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="groups")
    slug = models.SlugField(max_length=40)
    title = models.CharField(max_length=100)
    vendor = models.CharField(max_length=40)
    card_model = models.CharField(max_length=60)
    interconnect = models.CharField(max_length=40, blank=True)
    sharing = models.CharField(max_length=16, choices=[(mode.value, mode.value) for mode in SharingMode])
    unit = models.CharField(max_length=16)
    cards_per_node = models.PositiveIntegerField()
    cpu_millis_per_node = models.PositiveBigIntegerField(default=0)
    memory_bytes_per_node = models.PositiveBigIntegerField(default=0)
    resource = models.CharField(max_length=120, blank=True)  # what a pod asks for to get a card
    selector = models.JSONField(default=dict, blank=True)  # labels of its nodes
    rdma_resource = models.CharField(max_length=120, blank=True)  # one is asked for by each pod with cards
    position = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["cluster", "position", "slug"]
        constraints = [models.UniqueConstraint(fields=["cluster", "slug"], name="one_group_per_cluster_and_slug")]

    def __str__(self) -> str:
        return self.title


class Node(models.Model):
    """A node as the last complete look saw it; ``holders`` says which attempts hold its cards."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="nodes")
    group = models.ForeignKey(NodeGroup, null=True, on_delete=models.SET_NULL, related_name="nodes")
    name = models.CharField(max_length=253)
    health = models.CharField(max_length=16, choices=[(health.value, health.value) for health in NodeHealth])
    installed = models.PositiveIntegerField()
    sick = models.PositiveIntegerField(default=0)
    outside = models.PositiveIntegerField(default=0)
    since = models.DateTimeField(null=True, blank=True)
    cpu_millis = models.PositiveBigIntegerField(default=0)
    memory_bytes = models.PositiveBigIntegerField(default=0)
    holders = models.JSONField(default=list)  # [{job_ulid, attempt, cards, running, ending}]
    seen_at = models.DateTimeField()

    class Meta:
        ordering = ["cluster", "group__position", "name"]
        constraints = [models.UniqueConstraint(fields=["cluster", "name"], name="one_node_per_cluster_and_name")]

    def __str__(self) -> str:
        return self.name


class ObservedWorkload(models.Model):
    """Facts of one attempt's object; ``gone`` after a complete look without it.

    ``version`` comes from one sequence and is taken under the cluster's sync lock, so that among the rows of a
    job the newest change always has the highest.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="observed")
    job_ulid = models.CharField(max_length=26)
    attempt_no = models.PositiveIntegerField()
    uid = models.CharField(max_length=64)
    revision = models.CharField(max_length=64)
    version = models.PositiveBigIntegerField()
    facts = models.JSONField()
    gone = models.BooleanField(default=False)
    cards_running = models.PositiveIntegerField(default=0)  # cards of running pods
    cards_held = models.PositiveIntegerField(default=0)  # quota held, running or not
    cards_ending = models.PositiveIntegerField(default=0)  # quota freed, pods still there
    seen_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "job_ulid", "attempt_no"], name="one_observed_row_per_attempt")
        ]
        indexes = [models.Index(fields=["job_ulid"], name="observed_by_job")]

    def __str__(self) -> str:
        return f"{self.job_ulid}/{self.attempt_no}"


class SandboxWorld(models.Model):
    """The sandbox cluster's header: virtual time, seed, latencies (decision 51)."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="sandbox", primary_key=True)
    now_ms = models.BigIntegerField()
    header = models.JSONField()

    def __str__(self) -> str:
        return f"sandbox world of {self.cluster}"


class SandboxObject(models.Model):
    """One object of the sandbox: a node, a queue or a workload. Finished, deleted workloads leave no row."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="sandbox_objects")
    kind = models.CharField(max_length=16)  # node | queue | workload
    name = models.CharField(max_length=253)
    data = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "kind", "name"], name="one_sandbox_object_per_name")]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class SandboxCommand(models.Model):
    """A write to the sandbox that waits to be applied, in order of time and id."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="sandbox_commands")
    at_ms = models.BigIntegerField()
    payload = models.JSONField()

    class Meta:
        ordering = ["at_ms", "id"]

    def __str__(self) -> str:
        return f"command {self.pk}"
