"""Jobs and what belongs to them, for operators. Environments may hold secrets of their owners and are not shown."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts.operators import OperatorAdmin, Remedy
from common.admin import ReadOnlyAdmin
from jobs.domain.operations import Operation
from jobs.models import Attempt, IdempotencyKey, Job, JobEvent, JobSync, LogChunk, Run
from jobs.services.operations import job_operate
from jobs.services.repairs import lease_release, reconcile_now


@admin.register(Job)
class JobAdmin(OperatorAdmin):
    list_display = ("public_id", "display_name", "team", "owner", "state", "reason_code", "submitted_at")
    list_filter = ("state", "team")
    list_select_related = ("team", "owner")
    search_fields = ("public_id", "display_name")
    exclude = ("env",)
    reference = "public_id"
    remedies = (
        Remedy(
            "reconcile",
            _("Reconcile now"),
            _("A worker compares the job with its cluster at once, whatever rest it was given after a failure."),
            lambda actor, job: reconcile_now(actor=actor, job=job),
        ),
        Remedy(
            "release-lease",
            _("Release lease"),
            _("The job is taken from the worker that holds it and given to the next one. Nothing on the cluster ends."),
            lambda actor, job: lease_release(actor=actor, job=job),
        ),
        Remedy(
            "cancel",
            _("Cancel"),
            _("The job is stopped and its cards are freed. Work since its last checkpoint is lost."),
            lambda actor, job: job_operate(actor=actor, job=job, operation=Operation.CANCEL),
        ),
    )


@admin.register(Attempt)
class AttemptAdmin(ReadOnlyAdmin):
    list_display = ("object_name", "job", "number", "end", "end_reason", "ended_at")
    list_select_related = ("job",)
    search_fields = ("object_name", "job__public_id")


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    list_display = ("attempt", "ordinal", "queued_at", "admitted_at", "started_at", "ended_at", "end_cause")
    list_select_related = ("attempt",)


@admin.register(JobEvent)
class JobEventAdmin(ReadOnlyAdmin):
    list_display = ("at", "job", "code", "attempt_no", "actor")
    list_select_related = ("job", "actor")
    search_fields = ("job__public_id",)


@admin.register(JobSync)
class JobSyncAdmin(ReadOnlyAdmin):
    list_display = ("job_ulid", "due_at", "lease_until", "failures", "last_error")
    search_fields = ("job_ulid",)
    exclude = ("token",)


@admin.register(IdempotencyKey)
class IdempotencyKeyAdmin(ReadOnlyAdmin):
    """Which submit made which job: the list only, for a row is named by its key, which is its owner's."""

    list_display = ("user", "job", "created_at")
    list_display_links = None
    list_select_related = ("user", "job")
    exclude = ("key", "body_hash")

    def has_view_permission(self, request: HttpRequest, obj: IdempotencyKey | None = None) -> bool:
        return obj is None and super().has_view_permission(request)


@admin.register(LogChunk)
class LogChunkAdmin(ReadOnlyAdmin):
    """Where log lines lie, never the lines: those have a page that says who reads them."""

    list_display = ("attempt", "first_seq", "last_seq", "index")
    list_select_related = ("attempt",)
