"""What the console itself knows about nodes: who closed which and why, maintenance, and nodes under suspicion.

Nodes are named, not pointed at: a row of :class:`clusters.models.Node` goes when its node does, what people said about
it stays.
"""

from __future__ import annotations

from django.db import models

from accounts.models import User
from common.ids import new_ulid


class NodeCordon(models.Model):
    """A node that somebody closed for new work through the console, until ``lifted_at``.

    ``lifted_by`` is None where it was opened outside the console or by the end of a maintenance.
    """

    cluster = models.ForeignKey("clusters.Cluster", on_delete=models.CASCADE, related_name="cordons")
    node = models.CharField(max_length=253)
    reason = models.CharField(max_length=300)
    cordoned_at = models.DateTimeField()
    cordoned_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    maintenance = models.ForeignKey(
        "clusters.Maintenance", null=True, on_delete=models.SET_NULL, related_name="cordons"
    )
    seen_at = models.DateTimeField(null=True, blank=True)  # first look that found the node closed
    lifted_at = models.DateTimeField(null=True, blank=True)
    lifted_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering = ["-cordoned_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "node"], condition=models.Q(lifted_at=None), name="one_open_cordon_per_node"
            )
        ]

    def __str__(self) -> str:
        return f"{self.node}: {self.reason}"


class Maintenance(models.Model):
    """A time in which a node, or every node of a group, takes no work. Exactly one of ``node`` and ``group`` is given.

    Its nodes are closed at ``starts_at`` (``begun_at``) and opened again at ``ends_at`` (``finished_at``).
    """

    public_id = models.CharField(max_length=26, unique=True, default=new_ulid, editable=False)
    cluster = models.ForeignKey("clusters.Cluster", on_delete=models.CASCADE, related_name="maintenances")
    node = models.CharField(max_length=253, blank=True)
    group = models.ForeignKey(
        "clusters.NodeGroup", null=True, blank=True, on_delete=models.CASCADE, related_name="maintenances"
    )
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    reason = models.CharField(max_length=300)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    begun_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    cancelled_at = models.DateTimeField(null=True, blank=True)
    cancelled_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering = ["starts_at", "id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(ends_at__gt=models.F("starts_at")), name="maintenance_has_length"
            ),
            models.CheckConstraint(
                condition=models.Q(node="", group__isnull=False) | (~models.Q(node="") & models.Q(group=None)),
                name="maintenance_of_a_node_or_a_group",
            ),
        ]
        indexes = [
            models.Index(
                fields=["starts_at"],
                condition=models.Q(cancelled_at=None, finished_at=None),
                name="maintenance_to_come",
            )
        ]

    def __str__(self) -> str:
        return f"{self.node or self.group}: {self.reason}"


class NodeFailure(models.Model):
    """A job's attempt that failed on a node: what suspicion is built on. Kept for a few days."""

    cluster = models.ForeignKey("clusters.Cluster", on_delete=models.CASCADE, related_name="node_failures")
    node = models.CharField(max_length=253)
    job_ulid = models.CharField(max_length=26)
    attempt_no = models.PositiveIntegerField()
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    code = models.CharField(max_length=48)
    at = models.DateTimeField()

    class Meta:
        ordering = ["-at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "job_ulid", "attempt_no"], name="one_node_failure_per_attempt")
        ]
        indexes = [models.Index(fields=["cluster", "node", "-at"], name="node_failures_by_node")]

    def __str__(self) -> str:
        return f"{self.node}: {self.code}"


class NodeSuspicion(models.Model):
    """A node on which jobs of several owners failed; retries go elsewhere until it is cleared.

    ``cleared_by`` is None where it ended by itself, after a day without a failure.
    """

    cluster = models.ForeignKey("clusters.Cluster", on_delete=models.CASCADE, related_name="suspicions")
    node = models.CharField(max_length=253)
    since = models.DateTimeField()
    evidence = models.JSONField(default=list)  # [{job_ulid, attempt, code, at}], oldest first
    cleared_at = models.DateTimeField(null=True, blank=True)
    cleared_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    cleared_reason = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["-since", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "node"], condition=models.Q(cleared_at=None), name="one_open_suspicion_per_node"
            )
        ]

    def __str__(self) -> str:
        return self.node
