"""Shares in percent, quotas in cards, local queues, and what live jobs ask for."""

from __future__ import annotations

from django.db import models

from accounts.models import Team
from clusters.models import Cluster, NodeGroup


class TeamQueue(models.Model):
    """A team's quota on one cluster (first level)."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="queues")
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="queues")
    slug = models.SlugField(max_length=40)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["cluster", "slug"]
        constraints = [
            models.UniqueConstraint(fields=["team", "cluster"], name="one_queue_per_team_and_cluster"),
            models.UniqueConstraint(fields=["cluster", "slug"], name="one_queue_per_cluster_and_slug"),
        ]

    def __str__(self) -> str:
        return self.slug


class Share(models.Model):
    """A team queue's part of one node group in basis points (decision 55), and the cards it comes to."""

    queue = models.ForeignKey(TeamQueue, on_delete=models.CASCADE, related_name="shares")
    group = models.ForeignKey(NodeGroup, on_delete=models.CASCADE, related_name="shares")
    basis_points = models.PositiveIntegerField()
    nominal = models.PositiveIntegerField(default=0)  # cards, by largest remainder

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["queue", "group"], name="one_share_per_queue_and_group"),
            models.CheckConstraint(condition=models.Q(basis_points__lte=10_000), name="share_at_most_100_percent"),
        ]

    def __str__(self) -> str:
        return f"{self.queue} {self.group}: {self.basis_points}"


class LocalQueue(models.Model):
    """A team's own sub-queue (second level)."""

    queue = models.ForeignKey(TeamQueue, on_delete=models.CASCADE, related_name="local_queues")
    slug = models.SlugField(max_length=40)
    name = models.CharField(max_length=100)
    weight = models.PositiveIntegerField(default=1)
    is_default = models.BooleanField(default=False)

    class Meta:
        ordering = ["queue", "-is_default", "slug"]
        constraints = [
            models.UniqueConstraint(fields=["queue", "slug"], name="one_local_queue_per_slug"),
            models.UniqueConstraint(
                fields=["queue"], condition=models.Q(is_default=True), name="one_default_local_queue"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Demand(models.Model):
    """What one live job asks for; written by the job services in their own transaction (decision 50)."""

    job_ulid = models.CharField(max_length=26, unique=True)
    local_queue = models.ForeignKey(LocalQueue, on_delete=models.PROTECT, related_name="demands")
    group = models.ForeignKey(NodeGroup, null=True, on_delete=models.PROTECT, related_name="demands")
    owner_id = models.BigIntegerField()
    cards = models.PositiveIntegerField()
    attempt_no = models.PositiveIntegerField(default=1)
    held = models.BooleanField(default=False)

    class Meta:
        indexes = [models.Index(fields=["local_queue", "group"], name="demand_by_queue_and_group")]

    def __str__(self) -> str:
        return f"{self.job_ulid}: {self.cards}"
