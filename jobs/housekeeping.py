"""Bookkeeping that outlives its use: idempotency keys after a day, observed rows of objects long gone."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from clusters.services import observed_forget
from jobs.domain.words import TERMINAL_STATES
from jobs.models import IdempotencyKey, Job
from jobs.services.submit import KEY_LIFE

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
