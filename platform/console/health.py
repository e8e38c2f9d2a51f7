"""`/healthz`: this process answers. `/readyz`: jobs can be submitted: database and schema, and a looked-at cluster."""

from __future__ import annotations

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from clusters.models import Cluster
from console.embedded.state import SETTING_UP_NAME
from jobs.services.overdue import overdue_for

_migrated = False


@require_GET
def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


@require_GET
def readyz(request: HttpRequest) -> JsonResponse:
    """503 with the first thing that is missing. The broker is not asked: without it everything still works.

    Says for how long due jobs have been waiting when nobody takes them: then no beat ticks, or no worker listens.
    """
    try:
        missing = _missing()
    except DatabaseError:
        missing = "database"
    if missing:
        return JsonResponse({"status": "not ready", "missing": missing}, status=503)
    late = overdue_for(timezone.now())
    if late is not None:  # submits are taken all the same: this server is ready, a beat or a worker is missing
        return JsonResponse({"status": "ready", "late": "jobs", "seconds": int(late.total_seconds())})
    return JsonResponse({"status": "ready"})


def _missing() -> str | None:
    global _migrated
    if (settings.STATE_DIR / SETTING_UP_NAME).exists():
        return "setup"
    if not _migrated:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            return "migrations"
        _migrated = True
    if not Cluster.objects.filter(synced_at__isnull=False).exists():
        return "cluster"
    return None
