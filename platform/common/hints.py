"""Doorbells: tell a worker after commit that something may be due.

A hint is sent by task name, so nothing imports upwards, and may be lost without harm: every sweep finds the
work in PostgreSQL. An unreachable broker must therefore never fail a request, nor keep one waiting (decision 49):
a thread of its own rings.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from celery import Celery, current_app
from django.db import transaction

logger = logging.getLogger(__name__)

LULL_SECONDS = 0.02
"""After ringing, so that what many people ask for at the same time is rung for together. The first rings at once."""
TOGETHER_MAX = 200
WAITING_MAX = 5_000
"""More than so many hints wait for a broker that is away only: the rest are left to the sweeps."""
AT_EXIT_SECONDS = 2.0


def send(task: str, *args: int | str) -> None:
    """Ring after the current transaction commits (at once outside of one)."""
    transaction.on_commit(partial(_ring, task, args))


def send_for(task: str, key: int) -> None:
    """The same for a task that takes any number of keys: what is rung for at the same time is one call."""
    transaction.on_commit(partial(_ring, task, (key,), takes_many=True))


def _ring(task: str, args: tuple[int | str, ...], *, takes_many: bool = False) -> None:
    ringer.ring(Hint(current_app._get_current_object(), task, args, takes_many))


class Hint(NamedTuple):
    """A call of a task of ``app``; with ``takes_many`` its arguments may go with those of others."""

    app: Celery
    task: str
    args: tuple[int | str, ...]
    takes_many: bool = False


class Ringer:
    """Sends hints from a thread of its own."""

    def __init__(self) -> None:
        self._waiting: dict[Hint, None] = {}
        self._is_busy = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def ring(self, hint: Hint) -> None:
        """Returns at once. What waits already is not rung for twice."""
        with self._changed:
            if len(self._waiting) < WAITING_MAX:
                self._waiting[hint] = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="hints", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def settle(self, seconds: float) -> bool:
        """Wait until everything was rung for, so long at most; says whether it was."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._is_busy, seconds)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._is_busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._waiting)
                waiting, self._waiting, self._is_busy = self._waiting, {}, True
            for hint in calls(waiting):
                _send(hint)
            time.sleep(LULL_SECONDS)


def calls(hints: Iterable[Hint]) -> list[Hint]:
    """As few calls as these hints come to."""
    found: list[Hint] = []
    together: dict[tuple[Celery, str], list[int | str]] = {}
    for hint in hints:
        if hint.takes_many:
            together.setdefault((hint.app, hint.task), []).extend(hint.args)
        else:
            found.append(hint)
    for (app, task), args in together.items():
        starts = range(0, len(args), TOGETHER_MAX)
        found += [Hint(app, task, tuple(args[start : start + TOGETHER_MAX])) for start in starts]
    return found


def _send(hint: Hint) -> None:
    try:
        hint.app.send_task(hint.task, args=hint.args, ignore_result=True, retry=False, expires=30)
    except Exception as error:
        logger.warning("hint %s not sent: %s", hint.task, type(error).__name__)


ringer = Ringer()


def _start_anew() -> None:
    """A fork has no threads of its parent, and maybe its locks."""
    global ringer
    ringer = Ringer()


os.register_at_fork(after_in_child=_start_anew)
atexit.register(lambda: ringer.settle(AT_EXIT_SECONDS))
