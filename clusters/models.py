"""Clusters as last seen: groups, nodes and observed objects; and the sandbox cluster's own rows.

Only `cluster_sync` and the watcher write the observed part (decision 45). Nothing here points upwards: an
observed object names its job by ULID.
"""

from __future__ import annotations

from django.db import models

from accounts.models import Team, User
from clusters.accelerator_models import AcceleratorName  # noqa: F401 # Django looks here
from clusters.adoption_models import FoundQueue  # noqa: F401 # Django looks here
from clusters.contract import SECRET_PREFIX, NodeHealth
from clusters.group_models import GroupProposal, GroupTraits  # noqa: F401 # Django looks here
from clusters.nodes_models import Maintenance, NodeCordon, NodeFailure, NodeSuspicion  # noqa: F401 # Django looks here
from clusters.water_models import WaterDay, WaterHour, WaterSample  # noqa: F401
from common.ids import new_ulid
from common.secrets import SealedTextField


class ClusterMode(models.TextChoices):
    WATCHING = "watching"  # read-only view: everything is looked at, nothing is written, no job goes there
    MANAGING = "managing"


class Cluster(models.Model):
    """One connected cluster. ``sync_error`` is empty while reads succeed.

    ``credentials`` is sealed (`common.secrets`) and never leaves the server; ``fingerprint`` tells people which they
    are, and ``settings["connection"]`` as whom they act. Until ``rest_until`` nothing is asked of a cluster that did
    not answer.
    """

    public_id = models.CharField(max_length=26, unique=True, default=new_ulid, editable=False)
    slug = models.SlugField(max_length=40, unique=True)
    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=32)
    mode = models.CharField(
        max_length=8, choices=ClusterMode.choices, default=ClusterMode.MANAGING, db_default=ClusterMode.MANAGING
    )
    is_default = models.BooleanField(default=False)
    topology_aware = models.BooleanField(default=True)
    lacks = models.JSONField(default=list, blank=True)  # parts that are missing on the cluster, sorted
    synced_at = models.DateTimeField(null=True, blank=True)
    sync_error = models.CharField(max_length=200, blank=True)
    watched_at = models.DateTimeField(null=True, blank=True)
    server = models.CharField(max_length=300, blank=True)  # https address of the API server
    credentials = SealedTextField(blank=True)
    fingerprint = models.CharField(max_length=64, blank=True)
    settings = models.JSONField(default=dict, blank=True)
    rest_until = models.DateTimeField(null=True, blank=True)
    surveyed_at = models.DateTimeField(null=True, blank=True)  # last whole look at its setup
    survey_tried_at = models.DateTimeField(null=True, blank=True)
    survey_asked_at = models.DateTimeField(null=True, blank=True)  # by a person
    survey_error = models.CharField(max_length=64, blank=True, db_default="")  # code; '' when the last look was whole
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["is_default"], condition=models.Q(is_default=True), name="one_default_cluster"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_watched_only(self) -> bool:
        """Nothing is written there."""
        return self.mode == ClusterMode.WATCHING


class NodeGroup(GroupTraits):
    """A group that jobs and quota may be given to, because an admin has confirmed it.

    Observation keeps in step which nodes belong to it and how large they are; what it is called, where it stands and
    which labels make a node its member are an admin's word. ``version`` counts their changes, so that nobody saves
    over another's head. Without ``confirmed_at`` it is the sandbox's, or older than the confirming of groups.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="groups")
    rdma_resource = models.CharField(max_length=120, blank=True)  # one is asked for by each pod with cards
    position = models.PositiveIntegerField(default=0)
    confirmed_at = models.DateTimeField(null=True, blank=True)
    confirmed_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    version = models.PositiveIntegerField(default=0, db_default=0)

    class Meta:
        ordering = ["cluster", "position", "slug"]
        constraints = [models.UniqueConstraint(fields=["cluster", "slug"], name="one_group_per_cluster_and_slug")]


class Node(models.Model):
    """A node as the last complete look saw it; ``holders`` says which attempts hold its cards."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="nodes")
    group = models.ForeignKey(NodeGroup, null=True, on_delete=models.SET_NULL, related_name="nodes")
    name = models.CharField(max_length=253)
    health = models.CharField(max_length=16, choices=[(health.value, health.value) for health in NodeHealth])
    installed = models.PositiveIntegerField()
    sick = models.PositiveIntegerField(default=0)
    physical = models.PositiveIntegerField(null=True)  # cards behind what is installed; None: it does not say
    parts = models.JSONField(default=list, db_default=[])  # of virtual cards, as `CardPart` has it
    outside = models.PositiveIntegerField(default=0)
    outsiders = models.JSONField(default=list, db_default=[])  # [{pod, space, scheduler, cards}] of no queue, cut short
    since = models.DateTimeField(null=True, blank=True)
    cpu_millis = models.PositiveBigIntegerField(default=0)
    memory_bytes = models.PositiveBigIntegerField(default=0)
    holders = models.JSONField(default=list)  # [{job_ulid, attempt, cards, running, ending}]
    # `node_cards` of the row, so that sums over many nodes are the database's: what a job could take now, and the rest
    free = models.PositiveIntegerField(default=0, db_default=0)
    used = models.PositiveIntegerField(default=0, db_default=0)
    reserved = models.PositiveIntegerField(default=0, db_default=0)
    ending = models.PositiveIntegerField(default=0, db_default=0)
    out = models.PositiveIntegerField(default=0, db_default=0)
    conditions = models.JSONField(default=list, db_default=[])  # [{trouble, since, detail}], the worst first
    held_since = models.DateTimeField(null=True, blank=True)  # since then so many of its cards have been held
    labels = models.JSONField(default=dict, db_default={})  # as far as they may say which group it belongs to
    offers = models.JSONField(default=list, db_default=[])  # resources of cards that it reports or promises, sorted
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


class PreflightRow(models.Model):
    """One row of the preflight table as last found; ``since`` is when it became so."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="preflight")
    feature = models.CharField(max_length=32)
    verdict = models.CharField(max_length=16)
    problem = models.CharField(max_length=32, blank=True)
    facts = models.JSONField(default=dict, blank=True)
    since = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "feature"], name="one_preflight_row_per_cluster_and_feature")
        ]

    def __str__(self) -> str:
        return f"{self.feature}: {self.verdict}"


class Notice(models.Model):
    """Something about a cluster that its admins should know until it is over.

    ``seen`` takes the banner away, not the row. At most one of a kind is open for one subject.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="notices")
    source = models.CharField(max_length=16)  # which watch found it
    subject = models.CharField(max_length=120)
    facts = models.JSONField(default=dict, blank=True)
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True)
    seen_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering = ["-opened_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "source", "subject"],
                condition=models.Q(closed_at=None),
                name="one_open_notice_per_subject",
            )
        ]
        indexes = [
            models.Index(
                fields=["opened_at"], condition=models.Q(closed_at=None, seen_at=None), name="notices_to_be_seen"
            )
        ]

    def __str__(self) -> str:
        return f"{self.source}: {self.subject}"


class TeamStorage(models.Model):
    """The shared volume of a team on a cluster, and where the console itself can reach it."""

    policy_team = "team"

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="storages")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="storages")
    volume = models.CharField(max_length=253)  # as the cluster calls it, in the team's space
    console_folder = models.CharField(max_length=500, blank=True)  # below SLUICE_STORAGE_ROOT; '' = out of reach

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "team"], name="one_storage_per_cluster_and_team")]

    def __str__(self) -> str:
        return self.volume


class Dataset(models.Model):
    """A folder that a team's jobs may read, by its name. One that was removed still serves jobs that named it."""

    policy_team = "team"

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="datasets")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="datasets")
    name = models.SlugField(max_length=40)
    volume = models.CharField(max_length=253)
    folder = models.CharField(max_length=500, blank=True)  # inside the volume; '' = all of it
    added_at = models.DateTimeField(auto_now_add=True)
    removed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "team", "name"],
                condition=models.Q(removed_at=None),
                name="one_dataset_per_cluster_team_and_name",
            )
        ]

    def __str__(self) -> str:
        return self.name


class SecretKind(models.TextChoices):
    VARIABLES = "env"
    REGISTRY = "pull"


class TeamSecret(models.Model):
    """Values that a team's jobs are given and nobody reads again. The cluster has it when ``stored`` is ``revision``.

    A dropped one stays until it is gone from the cluster as well.
    """

    policy_team = "team"

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="secrets")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="secrets")
    kind = models.CharField(max_length=8, choices=SecretKind.choices)
    name = models.SlugField(max_length=40)
    names = models.JSONField(default=list)  # of the variables, or the registry's
    values = SealedTextField(blank=True)
    changed_at = models.DateTimeField()
    changed_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    is_dropped = models.BooleanField(default=False)
    revision = models.PositiveIntegerField(default=1)
    stored = models.PositiveIntegerField(default=0)
    error = models.CharField(max_length=64, blank=True)  # code of the newest refusal

    class Meta:
        ordering = ["kind", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "team", "kind", "name"], name="one_secret_per_cluster_team_and_name"
            )
        ]
        indexes = [
            models.Index(
                fields=["cluster"],
                condition=models.Q(is_dropped=True) | ~models.Q(stored=models.F("revision")),
                name="secrets_on_their_way",
            )
        ]

    def __str__(self) -> str:
        return self.object_name

    @property
    def object_name(self) -> str:
        """Its name on the cluster: ours by its beginning, because the account that writes it may not look."""
        return f"{SECRET_PREFIX}{self.kind}-{self.name}-{self.pk}"


class CodeArchive(models.Model):
    """Uploaded code, unpacked into a folder of its own in the team's storage, from where jobs read it."""

    policy_team = "team"
    policy_owner = "owner"

    public_id = models.CharField(max_length=26, unique=True, default=new_ulid, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="archives")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="archives")
    owner = models.ForeignKey(User, on_delete=models.PROTECT, related_name="archives")
    name = models.CharField(max_length=200)  # of the file that was uploaded
    files = models.PositiveIntegerField()
    size_bytes = models.PositiveBigIntegerField()  # unpacked
    uploaded_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


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
