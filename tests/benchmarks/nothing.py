"""A Celery application whose one task does nothing, with the console's settings of tasks."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings.base")

app = Celery("nothing")
app.config_from_object("django.conf:settings", namespace="CELERY")


@app.task(name="bench.nothing")
def nothing(number: int) -> None:
    """What a task for one job would be told."""
