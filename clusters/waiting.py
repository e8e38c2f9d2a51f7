"""What waits for the cards of each node group, as the layer above tells it.

Jobs are known above clusters and imports go down only, so the composition root hands in who can tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from clusters.domain.packing import Gang

Waiting = Mapping[int, Sequence[Gang]]
"""Shapes of waiting jobs by the key of their node group."""

_sources: list[Callable[[], Waiting]] = []


def waiting_source(source: Callable[[], Waiting]) -> None:
    """Name the one that tells; called once, when the process starts."""
    _sources[:] = [source]


def waiting() -> Waiting:
    """What waits now. Raises RuntimeError in a process that nobody told."""
    if not _sources:
        raise RuntimeError("nobody tells what waits: the console's application is not installed")
    return _sources[0]()
