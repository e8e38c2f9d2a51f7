"""What admins call accelerators that no catalogue knows."""

from __future__ import annotations

from django.db import models

from accounts.models import User
from clusters.contract import SharingMode


class AcceleratorName(models.Model):
    """What a resource of a cluster is: a card of this vendor and model, or (``is_card`` False) nothing to count."""

    cluster = models.ForeignKey("clusters.Cluster", on_delete=models.CASCADE, related_name="accelerator_names")
    resource = models.CharField(max_length=120)
    is_card = models.BooleanField(default=True)
    vendor = models.CharField(max_length=40, blank=True)
    card_model = models.CharField(max_length=60, blank=True)
    sharing = models.CharField(
        max_length=16,
        choices=[(mode.value, mode.value) for mode in SharingMode],
        default=SharingMode.EXCLUSIVE.value,
    )
    named_at = models.DateTimeField()
    named_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering = ["resource"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "resource"], name="one_name_per_cluster_and_resource")
        ]

    def __str__(self) -> str:
        return f"{self.resource}: {self.card_model}"
