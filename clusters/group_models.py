"""What is the same of a node group whether an admin has confirmed it or not; and groups that nobody has confirmed."""

from __future__ import annotations

from django.db import models

from accounts.models import User
from clusters.contract import SharingMode


class GroupTraits(models.Model):
    """Nodes with the same card model, interconnect and sharing mode. ``unit`` is never converted."""

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

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.title


class GroupProposal(GroupTraits):
    """Nodes that no group takes: as the console would group them, or as an admin has put them aside.

    Neither gets jobs or quota, and its nodes have no group. A proposal is made anew at every look and goes with its
    nodes. What was put aside stays: it claims its nodes as a group does, so that nothing is proposed for them.
    ``version`` counts what people decided, so that nobody decides over another's head.
    """

    cluster = models.ForeignKey("clusters.Cluster", on_delete=models.CASCADE, related_name="proposals")
    is_aside = models.BooleanField(default=False)
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    first_seen_at = models.DateTimeField()
    version = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["cluster", "is_aside", "slug"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "slug"], name="one_proposal_per_cluster_and_slug"),
        ]
