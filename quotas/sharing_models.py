"""What admins decided about node groups of cut cards (decision 26). How a group is cut is observed, not decided."""

from __future__ import annotations

from django.db import models

from accounts.models import Team, User
from clusters.models import NodeGroup
from quotas.domain.sharing import SLOWDOWN_DEFAULT, SLOWDOWN_MAX, SLOWDOWN_MIN


class SharingPolicy(models.Model):
    """Why a node group's cards are cut, for how long, and how much slower work is there.

    ``version`` grows with every save, so that the second of two admins is told. A group without a row has the default
    slow-down and lets nobody train.
    """

    group = models.OneToOneField(NodeGroup, on_delete=models.CASCADE, related_name="sharing_policy")
    why = models.CharField(max_length=500)
    is_transitional = models.BooleanField(default=False)
    until = models.DateField(null=True, blank=True)  # only of a transitional one
    slowdown = models.PositiveIntegerField(default=SLOWDOWN_DEFAULT)  # run time here per mille of that on a whole card
    version = models.PositiveIntegerField(default=1)
    changed_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    changed_by_name = models.CharField(max_length=150, blank=True)  # stays when the person is gone
    changed_at = models.DateTimeField()

    class Meta:
        ordering = ["group"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(slowdown__gte=SLOWDOWN_MIN, slowdown__lte=SLOWDOWN_MAX), name="slowdown_is_sensible"
            ),
            models.CheckConstraint(
                condition=models.Q(is_transitional=True) | models.Q(until=None), name="only_transitional_sharing_ends"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.group}: {self.slowdown}"


class TrainingPermit(models.Model):
    """A team that may train on cut cards, by whose word and why."""

    policy = models.ForeignKey(SharingPolicy, on_delete=models.CASCADE, related_name="permits")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    reason = models.CharField(max_length=300)
    given_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    given_by_name = models.CharField(max_length=150, blank=True)  # stays when the person is gone
    given_at = models.DateTimeField()

    class Meta:
        ordering = ["policy", "team__name"]
        constraints = [models.UniqueConstraint(fields=["policy", "team"], name="one_training_permit_per_team")]

    def __str__(self) -> str:
        return f"{self.policy.group}: {self.team}"
