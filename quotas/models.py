"""Shares in percent, quotas in cards, local queues, and what live jobs ask for."""

from __future__ import annotations

from django.db import models

from accounts.models import Team, User
from clusters.models import Cluster, NodeGroup
from quotas.sharing_models import SharingPolicy, TrainingPermit  # noqa: F401 # Django looks here

RANK_MAX = 3


class TeamQueue(models.Model):
    """A team's quota on one cluster (first level).

    ``rank`` says whose borrowed cards it may take while it borrows itself (decision 22): 0 nobody's, 1 those of low
    work, 2 up to normal, 3 up to high; always of lower priority than the job it takes them for.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="queues")
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="queues")
    slug = models.SlugField(max_length=40)
    rank = models.PositiveSmallIntegerField(default=0, db_default=0)
    strict = models.BooleanField(default=False, db_default=False)  # its first job blocks the others (decision 24)
    reclaims = models.BooleanField(default=True, db_default=True)  # takes back what others borrowed of its own
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["cluster", "slug"]
        constraints = [
            models.CheckConstraint(condition=models.Q(rank__lte=RANK_MAX), name="queue_rank_is_known"),
            models.UniqueConstraint(fields=["team", "cluster"], name="one_queue_per_team_and_cluster"),
            models.UniqueConstraint(fields=["cluster", "slug"], name="one_queue_per_cluster_and_slug"),
        ]

    def __str__(self) -> str:
        return self.slug


class Share(models.Model):
    """A team queue's part of one node group in basis points (decision 55), and the cards it comes to.

    What it may borrow and lend at most is a part of the node group as well; None = no limit.
    """

    queue = models.ForeignKey(TeamQueue, on_delete=models.CASCADE, related_name="shares")
    group = models.ForeignKey(NodeGroup, on_delete=models.CASCADE, related_name="shares")
    basis_points = models.PositiveIntegerField()
    nominal = models.PositiveIntegerField(default=0)  # cards, by largest remainder
    borrow_basis_points = models.PositiveIntegerField(null=True, blank=True)
    lend_basis_points = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["queue", "group"], name="one_share_per_queue_and_group"),
            models.CheckConstraint(condition=models.Q(basis_points__lte=10_000), name="share_at_most_100_percent"),
        ]

    def __str__(self) -> str:
        return f"{self.queue} {self.group}: {self.basis_points}"


class GroupCards(models.Model):
    """How many cards of a node group its shares divide: all that are fit for work, and those out only for a while.

    ``waiting`` is another number that is too different to be taken over without an admin's click (decision 21).
    """

    group = models.OneToOneField(NodeGroup, on_delete=models.CASCADE, related_name="counted")
    cards = models.PositiveIntegerField()
    waiting = models.PositiveIntegerField(null=True, blank=True)
    waiting_since = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.group}: {self.cards}"


class QuotaVersion(models.Model):
    """How a cluster was divided between the teams from one moment on. Versions are added, never changed.

    ``content`` is the whole plan with the cards it came to (`quotas.plans.content`); ``author_name`` stays when the
    person is gone, and without an author the console did it by itself or somebody at its command line.
    """

    class Cause(models.TextChoices):
        EDIT = "edit"
        ROLLBACK = "rollback"
        NODES = "nodes"  # other cards to divide
        ADOPT = "adopt"  # found as it was, before the first version was kept

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="quota_versions")
    number = models.PositiveIntegerField()
    cause = models.CharField(max_length=16, choices=Cause.choices)
    restored = models.PositiveIntegerField(null=True, blank=True)  # of a rollback: number of the version taken back to
    author = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    author_name = models.CharField(max_length=150, blank=True)
    reason = models.CharField(max_length=300, blank=True)
    content = models.JSONField()
    made_at = models.DateTimeField()

    class Meta:
        ordering = ["cluster", "-number"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "number"], name="one_quota_version_per_cluster_and_number")
        ]

    def __str__(self) -> str:
        return f"{self.cluster} {self.number}"


class LocalQueue(models.Model):
    """A team's own sub-queue (second level). One that is closed stays, because ended jobs point to it.

    The ``state_…`` columns tell who brought it into its state, when and why; ``state_by_name`` stays when the person
    is gone. ``most_cards`` is how many cards of all node groups together its jobs may hold at once, ``most_cards_each``
    how many the jobs of one person in it; None = no limit. Slices are another unit and are not limited.
    """

    policy_team = "queue__team"

    class State(models.TextChoices):
        OPEN = "open"
        HELD = "held"  # new jobs wait, nothing starts, what runs goes on
        DRAINING = "draining"  # takes no new jobs, nothing starts, what runs ends
        CLOSED = "closed"

    queue = models.ForeignKey(TeamQueue, on_delete=models.CASCADE, related_name="local_queues")
    slug = models.SlugField(max_length=40)
    name = models.CharField(max_length=100)
    weight = models.PositiveIntegerField(default=1)
    is_default = models.BooleanField(default=False)
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN, db_default=State.OPEN)
    state_reason = models.CharField(max_length=300, blank=True, db_default="")
    state_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    state_by_name = models.CharField(max_length=150, blank=True, db_default="")
    state_since = models.DateTimeField(null=True, blank=True)
    most_cards = models.PositiveIntegerField(null=True, blank=True)
    most_cards_each = models.PositiveIntegerField(null=True, blank=True)

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

    @property
    def takes_jobs(self) -> bool:
        return self.state in (self.State.OPEN, self.State.HELD)

    @property
    def is_limited(self) -> bool:
        return self.most_cards is not None or self.most_cards_each is not None

    @property
    def is_stopped(self) -> bool:
        """Nothing starts in it."""
        return self.state in (self.State.HELD, self.State.DRAINING)


class Demand(models.Model):
    """What one live job asks for; written by the job services in their own transaction (decision 50).

    ``let_in``: so many of its cards are within the limits of its local queue (`quotas.limits`); it has no object on a
    cluster before. Those that wait for it go by ``priority``, then by ``since``; one asks for nothing until
    ``asks_from``, and stands in nobody's way meanwhile.
    """

    job_ulid = models.CharField(max_length=26, unique=True)
    local_queue = models.ForeignKey(LocalQueue, on_delete=models.PROTECT, related_name="demands")
    group = models.ForeignKey(NodeGroup, null=True, on_delete=models.PROTECT, related_name="demands")
    owner_id = models.BigIntegerField()
    cards = models.PositiveIntegerField()
    attempt_no = models.PositiveIntegerField(default=1)
    held = models.BooleanField(default=False)
    let_in = models.PositiveIntegerField(default=0, db_default=0)
    priority = models.IntegerField(default=0, db_default=0)  # as the gate compares it
    since = models.DateTimeField(null=True, blank=True)  # of the newest attempt
    asks_from = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["local_queue", "group"], name="demand_by_queue_and_group")]

    def __str__(self) -> str:
        return f"{self.job_ulid}: {self.cards}"
