"""Drives the whole chain in tests without waiting: time is moved, sandbox and loop are run by hand."""

from __future__ import annotations

from datetime import timedelta
from types import TracebackType
from typing import Any

import time_machine
from django.utils import timezone

from accounts.models import User
from clusters.models import Cluster
from clusters.sync import cluster_sync
from jobs.logs import collect_logs
from jobs.models import Job
from jobs.reconcile.loop import sweep
from jobs.services.submit import job_submit
from tests.cast import Cast

BODY: dict[str, Any] = {"framework": "pytorch", "image": "registry.example/bert:1.0", "cards": 8, "priority": "normal"}


class Stage:
    """A cast and a clock. ``run(seconds)`` lets that much time pass in steps, with every sweep that would happen."""

    def __init__(self, cast: Cast) -> None:
        self.cast = cast
        self._travel = time_machine.travel(timezone.now(), tick=False)

    def __enter__(self) -> Stage:
        self._clock = self._travel.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._travel.__exit__(kind, error, trace)

    def submit(self, username: str = "eng-vision-1", **body: Any) -> Job:
        return job_submit(actor=self.cast.actor(username), data={**BODY, **body}).job

    def run(self, seconds: float, step: float = 2.0) -> None:
        """Let time pass."""
        passed = 0.0
        while passed < seconds:
            passed += step
            self._clock.shift(timedelta(seconds=step))
            self.settle()

    def skip(self, seconds: float) -> None:
        """Let time pass without anybody looking."""
        self._clock.shift(timedelta(seconds=seconds))

    def settle(self) -> None:
        """Everything that would happen at this moment."""
        for cluster in Cluster.objects.all():
            cluster_sync(cluster)
        sweep()
        collect_logs()

    def job(self, job: Job) -> Job:
        return Job.objects.get(pk=job.pk)

    def user(self, username: str) -> User:
        return self.cast.users[username]
