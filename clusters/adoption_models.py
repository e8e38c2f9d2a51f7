"""Queues on a connected cluster that the console did not make, and which team took over what they had."""

from __future__ import annotations

from django.db import models

from accounts.models import Team, User


class FoundQueue(models.Model):
    """A queue of others as last seen. It is never written; its cards are set aside as long as it has them.

    ``cards`` and ``counted`` are {node group: cards}: what it has now, and what the newest division set aside for it.
    ``adopted`` is what it had when ``team`` took its share over. A ``pool`` is lent to several queues and is nobody's.
    """

    cluster = models.ForeignKey("clusters.Cluster", on_delete=models.CASCADE, related_name="found_queues")
    name = models.CharField(max_length=253)
    is_pool = models.BooleanField(default=False)
    facts = models.JSONField(default=dict)  # `clusters.contract.FoundQueueFacts`
    cards = models.JSONField(default=dict)
    counted = models.JSONField(default=dict)
    is_gone = models.BooleanField(default=False)
    seen_at = models.DateTimeField()
    team = models.ForeignKey(Team, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    adopted = models.JSONField(default=dict)
    adopted_at = models.DateTimeField(null=True, blank=True)
    adopted_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering = ["cluster", "name", "is_pool"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "name", "is_pool"], name="one_found_queue_per_cluster_and_name")
        ]

    def __str__(self) -> str:
        return self.name
