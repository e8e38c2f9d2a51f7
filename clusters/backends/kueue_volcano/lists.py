"""Whole lists and open watches of one kind, decoded. What the API server may answer is settled here once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clusters.backends.kueue_volcano import names, raw
from clusters.backends.kueue_volcano.client import SILENCE_SECONDS, Gone, KubeClient, Missing, read_lines

PAGE = 1_000
MINE = names.INSTALLATION


@dataclass(frozen=True, slots=True)
class Followed:
    """A kind that is mirrored. ``ours_only`` asks the server for objects with our label alone."""

    kind: names.Kind
    ours_only: bool = False
    optional: bool = False  # the kind may not exist on a cluster

    def selector(self, installation: str) -> dict[str, str]:
        return {"labelSelector": f"{MINE}={installation}"} if self.ours_only else {}


FOLLOWED = (
    Followed(names.JOBS, ours_only=True),
    Followed(names.DEPLOYMENTS, ours_only=True),
    Followed(names.PODS_KIND),  # all: cards that others hold are not free
    Followed(names.POD_GROUPS, ours_only=True, optional=True),
    Followed(names.WORKLOADS, optional=True),  # Kueue copies no label of ours
    Followed(names.CLUSTER_QUEUES, optional=True),
    Followed(names.LOCAL_QUEUES, optional=True),
    Followed(names.NODES),
)


def list_all(client: KubeClient, followed: Followed, installation: str, namespace: str | None = None) -> raw.Listed:
    """Every object of a kind as of one moment, page by page. A kind that does not exist has none, if it may.

    A list whose continuation has expired is taken once more from the start; then it is `Gone`.
    """
    try:
        return _list(client, followed, installation, namespace)
    except Gone:
        return _list(client, followed, installation, namespace)
    except Missing:
        if followed.optional:
            return raw.Listed(items=(), resource_version="", continue_token="", broken=())
        raise


def _list(client: KubeClient, followed: Followed, installation: str, namespace: str | None) -> raw.Listed:
    path = followed.kind.path(namespace)
    params = {**followed.selector(installation), "limit": str(PAGE)}
    listed = raw.decode_list(followed.kind, client.get(path, params))
    if not listed.continue_token:
        return listed
    items: list[Any] = list(listed.items)
    broken = list(listed.broken)
    while listed.continue_token:
        listed = raw.decode_list(followed.kind, client.get(path, {**params, "continue": listed.continue_token}))
        items += listed.items
        broken += listed.broken
    return raw.Listed(tuple(items), listed.resource_version, "", tuple(broken))


def watch_events(
    client: KubeClient, followed: Followed, installation: str, resource_version: str, seconds: int
) -> Iterator[raw.Event]:
    """Events after a list, until the server ends the watch after ``seconds``. Bookmarks are passed on.

    Both forms of an expired version are `Gone`: the answer 410, and an ERROR event inside a good answer (C-84).
    """
    params: Mapping[str, str] = {
        **followed.selector(installation),
        "watch": "1",
        "resourceVersion": resource_version,
        "allowWatchBookmarks": "true",
        "timeoutSeconds": str(max(1, seconds)),
    }
    silence = min(SILENCE_SECONDS, seconds + 15.0)  # the server itself should have ended it by then
    with client.stream(followed.kind.path(), params, silence) as response:
        for line in read_lines(response):
            event = raw.decode_event(followed.kind, line)
            if event.type == "ERROR":
                raise Gone("gone", f"{followed.kind.plural}: {event.code}")
            yield event
