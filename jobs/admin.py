"""Jobs and what belongs to them, for reading. Environments may hold secrets of their owners and are not shown."""

from __future__ import annotations

from django.contrib import admin

from common.admin import ReadOnlyAdmin
from jobs.models import Attempt, Job, JobEvent, JobSync, Run


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    list_display = ("public_id", "display_name", "team", "owner", "state", "reason_code", "submitted_at")
    list_filter = ("state", "team")
    list_select_related = ("team", "owner")
    search_fields = ("public_id", "display_name")
    exclude = ("env",)


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
