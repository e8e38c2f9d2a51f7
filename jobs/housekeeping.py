"""What outlives its use: idempotency keys after a day, observed rows of objects long gone, uploads of no job."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from clusters.archives import archives_old, archives_remove
from clusters.services import observed_forget
from jobs.domain.words import TERMINAL_STATES
from jobs.models import IdempotencyKey, Job
from jobs.services.keys import KEY_LIFE

OBSERVED_LIFE = timedelta(hours=1)
BATCH = 5_000


def clear_old_rows() -> tuple[int, int]:
    """Returns how many keys and observed rows were dropped."""
    now = timezone.now()
    keys, _ = IdempotencyKey.objects.filter(created_at__lt=now - KEY_LIFE).delete()
    ended = Job.objects.filter(
        state__in=[state.value for state in TERMINAL_STATES],
        ended_at__lt=now - OBSERVED_LIFE,
        ended_at__gt=now - OBSERVED_LIFE - timedelta(days=2),
        sync__due_at=None,
    ).values_list("public_id", flat=True)[:BATCH]
    return keys, observed_forget(list(ended))


def clear_unused_archives() -> int:
    """Remove uploads that no job has named; returns how many. Those that a job names stay as long as the job."""
    old = archives_old(timezone.now())
    used = set(Job.objects.filter(code__archive__in=old).values_list("code__archive", flat=True))
    return archives_remove([archive for archive in old if archive not in used])
