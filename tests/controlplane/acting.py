"""Pods that do what their command says: kwok executes nothing, so the harness acts `sleep N; exit C` for them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.controlplane.api import ApiError
from tests.controlplane.plane import Plane

GONE = (403, 404)
"""What is answered about a pod that has gone meanwhile, and about its space."""
_SLEEP = re.compile(r"\bsleep (\d{1,6})\b")
_EXIT = re.compile(r"\bexit (\d{1,3})\b")


def act(plane: Plane, *, longest: timedelta | None = None) -> None:
    """One step of every running pod whose command is to sleep: a line in its log, and at the time its end.

    ``longest`` is the most that anybody sleeps.
    """
    now = datetime.now(UTC)
    for pod in _running(plane):
        try:
            _act(plane, pod, now, longest)
        except ApiError as error:
            if error.status not in GONE:
                raise


def _act(plane: Plane, pod: dict[str, Any], now: datetime, longest: timedelta | None) -> None:
    command = _command(pod)
    asleep = _SLEEP.search(command)
    if asleep is None:
        return
    namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
    seconds = timedelta(seconds=int(asleep[1]))
    if _started(pod) + (seconds if longest is None else min(longest, seconds)) <= now:
        code = _EXIT.search(command)
        plane.exit_pod(namespace, name, int(code[1]) if code else 0)
    else:
        plane.write_log(namespace, name, [f"asleep at {now.isoformat()}"])


def _running(plane: Plane) -> Iterator[dict[str, Any]]:
    for pod in plane.client.items("/api/v1/pods"):
        if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]:
            yield pod


def _command(pod: dict[str, Any]) -> str:
    """What the person typed: the last word, which shells and launchers are given."""
    return (pod["spec"]["containers"][0].get("command") or [""])[-1]


def _started(pod: dict[str, Any]) -> datetime:
    (container, *_others) = pod["status"]["containerStatuses"]
    return datetime.fromisoformat(container["state"]["running"]["startedAt"])
