"""When failures of jobs say something about the node they ran on. Pure: values in, values out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

WINDOW = timedelta(days=1)
OWNERS = 3
"""Jobs of so many people within the window: one person's broken program fails wherever it runs."""

NOT_OF_THE_NODE = frozenset(
    {
        "image_name_invalid",
        "image_not_found",
        "image_unauthorized",
        "image_timeout",
        "bad_config",
        "time_limit",
        "rejected",
        "name_conflict",
        "not_placed",
    }
)
"""Codes of failures that would have come on any node."""


@dataclass(frozen=True, slots=True)
class FailedThere:
    """An attempt that failed on a node."""

    job_ulid: str
    attempt: int
    owner_id: int
    code: str
    at: datetime


def says_something(code: str) -> bool:
    """Whether a failure with this code may be the node's."""
    return code not in NOT_OF_THE_NODE


def evidence(failures: Iterable[FailedThere], cleared_at: datetime | None = None) -> tuple[FailedThere, ...]:
    """The newest failure of each owner within the window before the newest of all, oldest first; empty if too few.

    Failures up to ``cleared_at`` were looked at by an admin and do not count again.
    """
    counted = [
        failure
        for failure in failures
        if says_something(failure.code) and (cleared_at is None or failure.at > cleared_at)
    ]
    if not counted:
        return ()
    newest = max(failure.at for failure in counted)
    by_owner: dict[int, FailedThere] = {}
    for failure in sorted(counted, key=lambda failure: (failure.at, failure.job_ulid, failure.attempt)):
        if newest - failure.at < WINDOW:
            by_owner[failure.owner_id] = failure
    if len(by_owner) < OWNERS:
        return ()
    return tuple(sorted(by_owner.values(), key=lambda failure: (failure.at, failure.job_ulid)))


def avoidable(suspected: Iterable[str], rooms: Mapping[str, int], pods: int, cards_per_pod: int) -> tuple[str, ...]:
    """The suspected nodes, sorted, if pods of a retry would find room without them; else none: a risk beats no place.

    ``rooms`` are the open nodes of the group with their healthy cards, whoever holds them now.
    """
    avoided = sorted(set(suspected) & rooms.keys())
    places = sum(cards // max(1, cards_per_pod) for node, cards in rooms.items() if node not in avoided)
    return tuple(avoided) if places >= pods else ()
