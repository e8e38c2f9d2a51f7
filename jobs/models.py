"""Job → Attempt → Run (decision 1), their events, logs, and the reconcile bookkeeping.

A job is the intent and is kept for ever; an attempt is one object on a cluster; a run is one admission period
of an attempt. Two writers never touch the same columns: services write the intent (`desired`, `held`,
`generation` …), the reconcile loop writes what was observed (decision 48).
"""

from __future__ import annotations

from django.db import models

from accounts.models import Team, User
from clusters.domain.reasons import KEEPS_TRYING
from clusters.models import Cluster, NodeGroup
from common.ids import new_ulid
from jobs.domain.words import (
    TERMINAL_STATES,
    WAITING_STATES,
    Desired,
    Framework,
    JobState,
    Kind,
    Priority,
    priority_value,
)
from quotas.models import LocalQueue


def _choices(words: type) -> list[tuple[str, str]]:
    return [(word.value, word.value) for word in words]  # type: ignore[attr-defined]


def _index_of_ended(*fields: str, name: str) -> models.Index:
    """A job enters it once, when it is over."""
    return models.Index(
        fields=fields, condition=models.Q(state__in=sorted(state.value for state in TERMINAL_STATES)), name=name
    )


class Job(models.Model):
    """What a person asked for, and how it goes."""

    policy_team = "team"
    policy_owner = "owner"

    public_id = models.CharField(max_length=26, unique=True, default=new_ulid, editable=False)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="jobs")
    owner = models.ForeignKey(User, on_delete=models.PROTECT, related_name="jobs")
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="jobs")
    local_queue = models.ForeignKey(LocalQueue, on_delete=models.PROTECT, related_name="jobs")
    group = models.ForeignKey(NodeGroup, null=True, on_delete=models.PROTECT, related_name="jobs")
    is_demo = models.BooleanField(default=False)

    # the intent
    display_name = models.CharField(max_length=300)
    slug = models.CharField(max_length=18)
    salt = models.CharField(max_length=10)
    framework = models.CharField(max_length=16, choices=_choices(Framework))
    image = models.CharField(max_length=500)
    command = models.TextField(blank=True)
    env = models.JSONField(default=dict)
    kind = models.CharField(max_length=16, choices=_choices(Kind), default=Kind.TRAINING.value)
    priority = models.CharField(max_length=16, choices=_choices(Priority))
    cards = models.PositiveIntegerField()
    pods = models.PositiveIntegerField()
    cards_per_pod = models.PositiveIntegerField()
    cpu_millis = models.PositiveBigIntegerField(default=0)
    memory_bytes = models.PositiveBigIntegerField(default=0)
    max_run_seconds = models.PositiveIntegerField(null=True, blank=True)
    retry_limit = models.PositiveIntegerField(default=0)
    stop_grace_seconds = models.PositiveIntegerField(default=120)
    submitted_at = models.DateTimeField()
    desired = models.CharField(max_length=16, choices=_choices(Desired), default=Desired.RUN.value)
    held = models.BooleanField(default=False)
    code = models.JSONField(default=dict, blank=True)  # {kind, address, revision}; empty: the image brings it
    datasets = models.JSONField(default=list, blank=True)  # names of team datasets
    rests_for = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    rests_until = models.DateTimeField(null=True, blank=True)  # a preempted job gives way until then at the latest
    acted_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")  # newest cancel or hold
    generation = models.PositiveIntegerField(default=1)

    # what was observed
    attempt_no = models.PositiveIntegerField(default=1)
    state = models.CharField(max_length=16, choices=_choices(JobState), default=JobState.QUEUED.value)
    is_held = models.BooleanField(default=False)
    is_stopping = models.BooleanField(default=False)
    is_degraded = models.BooleanField(default=False)
    state_since = models.DateTimeField()
    reason_code = models.CharField(max_length=48)
    reason_facts = models.JSONField(default=dict)
    reason_since = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)  # first run of the newest attempt
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-submitted_at", "-id"]
        indexes = [
            models.Index(fields=["owner", "-submitted_at", "-id"], name="jobs_by_owner"),
            models.Index(fields=["team", "-submitted_at", "-id"], name="jobs_by_team"),
            models.Index(fields=["-submitted_at", "-id"], name="jobs_by_time"),
            models.Index(
                fields=["team", "owner", "state"],
                condition=models.Q(state__in=["queued", "creating", "running", "retrying"]),
                name="jobs_live_by_team_and_owner",
            ),
            _index_of_ended("owner", "state", "-submitted_at", "-id", name="jobs_ended_by_owner"),
            _index_of_ended("team", "state", "-submitted_at", "-id", name="jobs_ended_by_team"),
            _index_of_ended("state", "-submitted_at", "-id", name="jobs_ended_by_time"),
            # for counts: each holds all that the question names, or the rows themselves would be looked at
            _index_of_ended("owner", "group", "state", "team", name="jobs_ended_of_owner_by_group"),
            _index_of_ended("team", "group", "state", name="jobs_ended_of_team_by_group"),
            _index_of_ended("group", "state", name="jobs_ended_by_group"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(cards=models.F("pods") * models.F("cards_per_pod")), name="job_shape_matches_cards"
            ),
            models.CheckConstraint(condition=~models.Q(display_name=""), name="job_has_a_name"),
            models.CheckConstraint(condition=models.Q(attempt_no__gte=1), name="job_attempts_count_from_one"),
        ]

    def __str__(self) -> str:
        return f"{self.public_id} {self.display_name}"

    @property
    def is_service(self) -> bool:
        """Its pods are replicas that are admitted, placed and scaled one by one."""
        return self.kind == Kind.INFERENCE

    @property
    def gate_priority(self) -> int:
        """What gates compare; higher goes first."""
        return priority_value(Priority(self.priority), Kind(self.kind))

    @property
    def keeps_trying(self) -> bool:
        """A service that does not come up: it retries on the cards it has, and waits for none."""
        return self.state == JobState.RETRYING and self.reason_code in KEEPS_TRYING

    @property
    def waits(self) -> bool:
        """In the queue or about to be: neither held, nor giving way, nor being cancelled."""
        is_out = self.held or self.rests_until is not None or self.desired == Desired.CANCEL
        return self.state in WAITING_STATES and not is_out and not self.keeps_trying

    @property
    def flags(self) -> list[str]:
        """Sorted, as the API gives them."""
        pairs = (("degraded", self.is_degraded), ("held", self.is_held), ("stopping", self.is_stopping))
        return [name for name, on in pairs if on]


class Attempt(models.Model):
    """One object on a cluster. ``end`` is empty while it lives."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveIntegerField()
    object_name = models.CharField(max_length=40)
    uid = models.CharField(max_length=64, blank=True)
    spec_hash = models.CharField(max_length=64)
    retries_from = models.PositiveIntegerField(default=1)  # first attempt since a person's last restart
    created_at = models.DateTimeField()
    submitted_at = models.DateTimeField(null=True, blank=True)  # newest successful call
    seen_at = models.DateTimeField(null=True, blank=True)
    stop_asked_at = models.DateTimeField(null=True, blank=True)
    stop_cause = models.CharField(max_length=48, blank=True)  # reason code of a stop of ours
    conflicts = models.PositiveIntegerField(default=0)  # names that belonged to somebody else
    released_at = models.DateTimeField(null=True, blank=True)  # object gone
    ended_at = models.DateTimeField(null=True, blank=True)
    end = models.CharField(max_length=16, blank=True)
    end_reason = models.CharField(max_length=48, blank=True)
    end_facts = models.JSONField(default=dict)
    is_infrastructure = models.BooleanField(default=False)
    exit_code = models.IntegerField(null=True, blank=True)
    log_cursor = models.TextField(blank=True)
    log_complete = models.BooleanField(default=False)
    log_checked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["job", "number"]
        constraints = [
            models.UniqueConstraint(fields=["job", "number"], name="one_attempt_per_number"),
            models.UniqueConstraint(fields=["object_name"], name="one_attempt_per_object_name"),
        ]
        indexes = [
            models.Index(
                fields=["log_checked_at"],
                condition=models.Q(log_complete=False, seen_at__isnull=False),
                name="attempts_with_logs_to_come",
            )
        ]

    def __str__(self) -> str:
        return self.object_name


class Run(models.Model):
    """One admission period: queued, admitted, started, ended. Waits and card-seconds hang here (decision 46)."""

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="runs")
    replica = models.PositiveIntegerField(default=0)
    ordinal = models.PositiveIntegerField()
    queued_at = models.DateTimeField()
    admitted_at = models.DateTimeField(null=True, blank=True)
    scheduled_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)  # quota freed
    released_at = models.DateTimeField(null=True, blank=True)  # pods gone
    end_cause = models.CharField(max_length=48, blank=True)
    nodes = models.JSONField(default=list)
    cards = models.PositiveIntegerField(default=0)
    times_are_bounds = models.BooleanField(default=False)
    was_evicted = models.BooleanField(default=False)

    class Meta:
        ordering = ["attempt", "replica", "ordinal"]
        constraints = [
            models.UniqueConstraint(fields=["attempt", "replica", "ordinal"], name="one_run_per_ordinal"),
        ]
        indexes = [
            models.Index(fields=["ended_at"], name="runs_by_end"),
            models.Index(fields=["attempt"], condition=models.Q(ended_at=None), name="runs_that_hold"),
            models.Index(
                fields=["-cards", "admitted_at"],
                condition=models.Q(admitted_at__isnull=False, started_at=None, ended_at=None, cards__gt=0),
                name="runs_that_hold_idle_cards",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.attempt} run {self.ordinal}"


class JobEvent(models.Model):
    """What happened to a job, in order; acts of people have an actor, the rest is what the system saw."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField()
    recorded_at = models.DateTimeField()
    code = models.CharField(max_length=48)
    facts = models.JSONField(default=dict)
    attempt_no = models.PositiveIntegerField()
    run_ordinal = models.PositiveIntegerField(null=True, blank=True)
    actor = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering = ["at", "id"]
        indexes = [models.Index(fields=["job", "at", "id"], name="events_by_job")]

    def __str__(self) -> str:
        return f"{self.job_id} {self.code}"


class JobSync(models.Model):
    """Reconcile bookkeeping of one job: when it is due, who has it, what it last saw (decision 48)."""

    job = models.OneToOneField(Job, on_delete=models.CASCADE, related_name="sync", primary_key=True)
    job_ulid = models.CharField(max_length=26, unique=True)
    due_at = models.DateTimeField(null=True, db_index=True)  # null = nothing to do until something is seen
    token = models.CharField(max_length=26, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    seen_version = models.PositiveBigIntegerField(default=0)  # highest version of its observed rows
    observed_generation = models.PositiveIntegerField(default=0)
    failures = models.PositiveIntegerField(default=0)
    last_error = models.CharField(max_length=200, blank=True)

    def __str__(self) -> str:
        return self.job_ulid


class IdempotencyKey(models.Model):
    """A person's key of one submit, kept a day: the same key gives the same job (decision 57)."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    body_hash = models.CharField(max_length=64)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="one_job_per_person_and_key")]

    def __str__(self) -> str:
        return self.key


class LogChunk(models.Model):
    """Lines of one attempt as written: raw bytes joined by newlines, with [seq, at_ms, rank] per line beside them."""

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="log_chunks")
    first_seq = models.BigIntegerField()
    last_seq = models.BigIntegerField()
    index = models.JSONField()
    payload = models.BinaryField()

    class Meta:
        ordering = ["attempt", "first_seq"]
        constraints = [models.UniqueConstraint(fields=["attempt", "first_seq"], name="one_chunk_per_first_line")]
        indexes = [models.Index(fields=["attempt", "last_seq"], name="chunks_by_last_line")]

    def __str__(self) -> str:
        return f"{self.attempt_id} {self.first_seq}-{self.last_seq}"
