"""Shapes of the jobs API: serializers for the OpenAPI document, plain functions for the bodies.

The functions never query: what they show was loaded by the selectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rest_framework import serializers

from accounts.actors import Actor
from accounts.policy import Action, can
from clusters.contract import REPLICAS_MAX, CodeKind
from common.api import ErrorOut, field_names
from jobs.card_sharing import card_sharing
from jobs.domain.operations import Effect, Makes, Operation, Place
from jobs.domain.words import CardSharing, Flag, Framework, JobState, Kind, Priority
from jobs.models import Attempt, Job, Run
from jobs.privacy import facts_for
from jobs.reasons import reason_text
from jobs.selectors import ReasonView, possible_operations, runs_of
from jobs.services.bulk_operate import Outcome


def _words(words: Any) -> list[str]:
    return [word.value for word in words]


class ReasonOut(serializers.Serializer[Any]):
    code = serializers.CharField()
    text = serializers.CharField()
    facts = serializers.DictField()
    since = serializers.DateTimeField()


class RunOut(serializers.Serializer[Any]):
    """One admission period. `ended_at` = its cards were free again; `released_at` = its pods were gone."""

    replica = serializers.IntegerField()
    ordinal = serializers.IntegerField()
    queued_at = serializers.DateTimeField()
    admitted_at = serializers.DateTimeField(allow_null=True)
    scheduled_at = serializers.DateTimeField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    released_at = serializers.DateTimeField(allow_null=True)
    end_cause = serializers.CharField(allow_blank=True)
    nodes = serializers.ListField(child=serializers.CharField())
    cards = serializers.IntegerField()
    times_are_bounds = serializers.BooleanField()


_RUN_FIELDS = field_names(RunOut)


class EndOut(serializers.Serializer[Any]):
    code = serializers.CharField()
    text = serializers.CharField()
    facts = serializers.DictField()


class AttemptOut(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    end = serializers.CharField(allow_blank=True)
    end_reason = EndOut(allow_null=True)
    exit_code = serializers.IntegerField(allow_null=True)
    is_infrastructure = serializers.BooleanField()
    runs = RunOut(many=True)


class JobOut(serializers.Serializer[Any]):
    """A job in a list."""

    id = serializers.CharField()
    name = serializers.CharField()
    state = serializers.ChoiceField(choices=_words(JobState))
    flags = serializers.ListField(child=serializers.ChoiceField(choices=_words(Flag)))
    reason = ReasonOut()
    state_since = serializers.DateTimeField()
    framework = serializers.ChoiceField(choices=_words(Framework))
    image = serializers.CharField()
    kind = serializers.ChoiceField(choices=_words(Kind))
    priority = serializers.ChoiceField(choices=_words(Priority))
    cards = serializers.IntegerField()
    pods = serializers.IntegerField()
    cards_per_pod = serializers.IntegerField()
    card_model = serializers.CharField(allow_null=True)
    sharing = serializers.ChoiceField(
        choices=_words(CardSharing),
        allow_null=True,
        help_text="exclusive: whole cards of its own; shared: slices of cards that others use too; null: no cards.",
    )
    team = serializers.CharField()
    local_queue = serializers.CharField()
    cluster = serializers.CharField()
    owner = serializers.CharField()
    attempt = serializers.IntegerField()
    submitted_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    gives_way_until = serializers.DateTimeField(allow_null=True, help_text="Preempted by a person, until then at most.")
    is_demo = serializers.BooleanField()


class ActionOut(serializers.Serializer[Any]):
    operation = serializers.CharField()
    allowed = serializers.BooleanField()
    why_not = serializers.CharField(allow_blank=True)


class CodeOut(serializers.Serializer[Any]):
    """Where a job's program comes from."""

    kind = serializers.ChoiceField(choices=_words(CodeKind))
    address = serializers.CharField(required=False, help_text="git: a public https address without credentials.")
    revision = serializers.CharField(required=False, allow_blank=True, help_text="git: a branch, tag or commit.")
    archive = serializers.CharField(required=False, help_text="archive: the id of an upload.")


class JobDetailOut(JobOut):
    """One job with everything about it. Environment values are shown to its owner only."""

    command = serializers.CharField(allow_blank=True)
    env = serializers.DictField(child=serializers.CharField(allow_null=True))
    code = CodeOut()
    datasets = serializers.ListField(child=serializers.CharField())
    max_run_seconds = serializers.IntegerField(allow_null=True)
    retry_limit = serializers.IntegerField()
    attempts = AttemptOut(many=True)
    actions = ActionOut(many=True)


class JobIn(serializers.Serializer[Any]):
    """Four facts are enough; the rest is optional."""

    framework = serializers.ChoiceField(choices=_words(Framework))
    image = serializers.CharField(max_length=500)
    cards = serializers.IntegerField(min_value=0, max_value=100_000, help_text="For inference: of each replica.")
    priority = serializers.ChoiceField(choices=_words(Priority))
    priority_reason = serializers.CharField(required=False, allow_blank=True, help_text="Needed for urgent.")
    name = serializers.CharField(required=False, allow_null=True, max_length=300, help_text="In any script.")
    command = serializers.CharField(required=False, allow_blank=True)
    kind = serializers.ChoiceField(choices=_words(Kind), required=False)
    replicas = serializers.IntegerField(
        required=False, min_value=1, max_value=REPLICAS_MAX, help_text="Only for inference; 1 if left out."
    )
    card_model = serializers.CharField(required=False, help_text="A node group; left out, one is chosen.")
    team = serializers.CharField(required=False, help_text="Needed when one is in several.")
    cluster = serializers.CharField(required=False, help_text="Left out, the first that has the card model.")
    local_queue = serializers.CharField(required=False)
    max_run_seconds = serializers.IntegerField(required=False, allow_null=True, min_value=60, max_value=2_592_000)
    retry_limit = serializers.IntegerField(required=False, min_value=0, max_value=10)
    env = serializers.DictField(required=False, child=serializers.CharField(allow_blank=True))
    code = CodeOut(required=False, help_text="Left out, the image brings the program.")
    datasets = serializers.ListField(
        required=False, child=serializers.CharField(), max_length=20, help_text="Names of the team's data sets."
    )
    cpu = serializers.CharField(required=False, help_text="Only for jobs without cards, such as 4 or 500m.")
    memory = serializers.CharField(required=False, help_text="Only for jobs without cards, such as 16Gi.")


class PreemptIn(serializers.Serializer[Any]):
    """Name the job that shall get the cards, or until when; with both, whichever comes first."""

    beneficiary = serializers.CharField(
        required=False, allow_null=True, allow_blank=True, help_text="Id of a job that waits for the same cards."
    )
    until = serializers.DateTimeField(
        required=False, allow_null=True, help_text="At most 15 minutes from now; so long by default."
    )


class ScaleIn(serializers.Serializer[Any]):
    replicas = serializers.IntegerField(min_value=1, max_value=REPLICAS_MAX)


class PriorityIn(serializers.Serializer[Any]):
    priority = serializers.ChoiceField(choices=_words(Priority))
    priority_reason = serializers.CharField(
        required=False, allow_null=True, allow_blank=True, help_text="Needed for urgent."
    )


class BulkIn(serializers.Serializer[Any]):
    jobs = JobIn(many=True, help_text="1 to 100 jobs.")
    all_or_nothing = serializers.BooleanField(
        default=True, help_text="False: jobs that are right are stored although others are not."
    )


class BulkEntryOut(serializers.Serializer[Any]):
    """One job of the request, in its order: 201 with the job, or 400 with problems at `jobs.<n>.<field>`."""

    status = serializers.IntegerField()
    job = JobOut(allow_null=True)
    errors = ErrorOut(many=True)  # type: ignore[assignment] # shadows a property that is not used here


class BulkOut(serializers.Serializer[Any]):
    stored = serializers.IntegerField()
    refused = serializers.IntegerField()
    results = BulkEntryOut(many=True)


class BulkOperateIn(serializers.Serializer[Any]):
    """One operation; preempt and priority take their own fields beside, the same for all jobs."""

    operation = serializers.ChoiceField(choices=_words(Operation))
    ids = serializers.ListField(child=serializers.CharField(allow_blank=True), min_length=1, max_length=200)
    priority = serializers.ChoiceField(choices=_words(Priority), required=False, allow_blank=True, allow_null=True)
    priority_reason = serializers.CharField(required=False, allow_null=True, allow_blank=True)
    beneficiary = serializers.CharField(required=False, allow_null=True, allow_blank=True)
    until = serializers.DateTimeField(required=False, allow_null=True)
    replicas = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=REPLICAS_MAX)
    dry_run = serializers.BooleanField(required=False, help_text="Only say what would become of each job.")


class EffectOut(serializers.Serializer[Any]):
    """What happens to one job; docs/operations.md has the whole table."""

    code = serializers.ChoiceField(choices=_words(Effect))
    text = serializers.CharField()
    place = serializers.ChoiceField(choices=_words(Place))
    makes = serializers.ChoiceField(choices=_words(Makes))
    loses_work = serializers.BooleanField()


class BulkResultOut(serializers.Serializer[Any]):
    """`status` and `errors` are those that the operation on this job alone would have answered."""

    id = serializers.CharField()
    outcome = serializers.ChoiceField(choices=_words(Outcome))
    status = serializers.IntegerField()
    effect = EffectOut(allow_null=True)
    errors = ErrorOut(many=True)  # type: ignore[assignment] # shadows a property that is not used here


class BulkOperateOut(serializers.Serializer[Any]):
    dry_run = serializers.BooleanField()
    done = serializers.IntegerField()
    unchanged = serializers.IntegerField()
    refused = serializers.IntegerField()
    results = BulkResultOut(many=True)


class LineOut(serializers.Serializer[Any]):
    seq = serializers.IntegerField()
    at = serializers.DateTimeField()
    pod = serializers.CharField()
    text = serializers.CharField(allow_blank=True)


class LogsOut(serializers.Serializer[Any]):
    lines = LineOut(many=True)
    next = serializers.CharField()
    complete = serializers.BooleanField()


class TimelineOut(serializers.Serializer[Any]):
    at = serializers.DateTimeField()
    recorded_at = serializers.DateTimeField()
    code = serializers.CharField()
    text = serializers.CharField()
    facts = serializers.DictField()
    attempt = serializers.IntegerField()
    run = serializers.IntegerField(allow_null=True)
    actor = serializers.CharField(allow_null=True)


# --------------------------------------------------------------------------- bodies


def job_body(job: Job, reason: ReasonView) -> dict[str, Any]:
    return {
        "id": job.public_id,
        "name": job.display_name,
        "state": job.state,
        "flags": job.flags,
        "reason": {"code": reason.code, "text": reason.text, "facts": dict(reason.facts), "since": reason.since},
        "state_since": job.state_since,
        "framework": job.framework,
        "image": job.image,
        "kind": job.kind,
        "priority": job.priority,
        "cards": job.cards,
        "pods": job.pods,
        "cards_per_pod": job.cards_per_pod,
        "card_model": job.group.slug if job.group else None,
        "sharing": card_sharing(job),
        "team": job.team.slug,
        "local_queue": job.local_queue.slug,
        "cluster": job.cluster.slug,
        "owner": job.owner.username,
        "attempt": job.attempt_no,
        "submitted_at": job.submitted_at,
        "started_at": job.started_at,
        "ended_at": job.ended_at,
        "gives_way_until": job.rests_until,
        "is_demo": job.is_demo,
    }


def job_detail_body(
    viewer: Actor, job: Job, reason: ReasonView, attempts: Sequence[Attempt], names: Mapping[str, str]
) -> dict[str, Any]:
    own = can(viewer, Action.ENV_VIEW, job)
    return {
        **job_body(job, reason),
        "command": job.command,
        "env": {name: value if own else None for name, value in sorted(job.env.items())},
        "code": job.code or {"kind": CodeKind.IMAGE.value},
        "datasets": job.datasets,
        "max_run_seconds": job.max_run_seconds,
        "retry_limit": job.retry_limit,
        "attempts": [_attempt(viewer, attempt, names) for attempt in attempts],
        "actions": [
            {"operation": p.operation.value, "allowed": p.allowed, "why_not": p.why_not}
            for p in possible_operations(viewer=viewer, job=job)
        ],
    }


def _attempt(viewer: Actor, attempt: Attempt, names: Mapping[str, str]) -> dict[str, Any]:
    end = None
    if attempt.end_reason:
        facts = facts_for(viewer, attempt.end_reason, attempt.end_facts, names)
        end = {"code": attempt.end_reason, "text": reason_text(attempt.end_reason, facts), "facts": facts}
    return {
        "number": attempt.number,
        "created_at": attempt.created_at,
        "ended_at": attempt.ended_at,
        "end": attempt.end,
        "end_reason": end,
        "exit_code": attempt.exit_code,
        "is_infrastructure": attempt.is_infrastructure,
        "runs": [_run(run) for run in runs_of(attempt)],
    }


def _run(run: Run) -> dict[str, Any]:
    return {name: getattr(run, name) for name in _RUN_FIELDS}
