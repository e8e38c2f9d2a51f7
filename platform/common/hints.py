"""Doorbells: tell a worker after commit that something may be due.

A hint is sent by task name, so nothing imports upwards, and may be lost without harm: every sweep finds the
work in PostgreSQL. An unreachable broker must therefore never fail a request (decision 49).
"""

from __future__ import annotations

import logging
from functools import partial

from celery import current_app
from django.db import transaction

logger = logging.getLogger(__name__)


def send(task: str, *args: int | str) -> None:
    """Ring after the current transaction commits (at once outside of one)."""
    transaction.on_commit(partial(_ring, task, args))


def _ring(task: str, args: tuple[int | str, ...]) -> None:
    try:
        current_app.send_task(task, args=args, ignore_result=True, retry=False, expires=30)
    except Exception as error:
        logger.warning("hint %s not sent: %s", task, type(error).__name__)
