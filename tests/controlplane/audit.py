"""What was asked of the API server, by whom, read from its audit log."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ANSWERED, STREAMING = "ResponseComplete", "ResponseStarted"


@dataclass(frozen=True)
class Call:
    """One request; ``status`` is the HTTP status of its answer. Core kinds have an empty group."""

    user: str
    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    status: int
    path: str

    @property
    def kind(self) -> str:
        """The resource as a role names it: with its subresource."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


class AuditLog:
    """The requests of everybody but the parts of the control plane and of the harness itself."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def mark(self) -> int:
        """A place in the log, to read from later."""
        return self._file.stat().st_size if self._file.exists() else 0

    def calls(self, since: int = 0, *, user: str | None = None) -> list[Call]:
        """Answered requests since a mark; a watch counts from its start. Only those of one user where one is given."""
        with self._file.open("rb") as log:
            log.seek(since)
            events = [json.loads(line) for line in log if line.endswith(b"\n")]
        calls = [_call(event) for event in events if _counts(event)]
        return [call for call in calls if user is None or call.user == user]


def _counts(event: Mapping[str, Any]) -> bool:
    # A stream is written down twice: at its start, and at its end if that is ever seen.
    is_stream = event["verb"] == "watch" or "follow=true" in event["requestURI"]
    return event["stage"] == (STREAMING if is_stream and event["responseStatus"]["code"] < 300 else ANSWERED)


def _call(event: Mapping[str, Any]) -> Call:
    target = event.get("objectRef", {})
    return Call(
        user=event["user"]["username"],
        verb=event["verb"],
        group=target.get("apiGroup", ""),
        resource=target.get("resource", ""),
        subresource=target.get("subresource", ""),
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        status=event.get("responseStatus", {}).get("code", 0),
        path=event["requestURI"].partition("?")[0],
    )
