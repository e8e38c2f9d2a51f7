"""A cluster followed live: one thread per kind lists and watches, one consumer keeps the snapshot and tells changes.

All kinds are listed anew about once a minute at the same moment, which gives a complete observation whatever the
watches missed. What is told between is partial.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.client import Gone, KubeClient
from clusters.backends.kueue_volcano.lists import FOLLOWED, Followed, list_all, watch_events
from clusters.backends.kueue_volcano.snapshot import Snapshot
from clusters.contract import BackendError, Observation

logger = logging.getLogger(__name__)

ROUND_SECONDS = 50.0
"""All kinds are listed again after this long (decision 27: at least every minute)."""
BATCH_SECONDS = 0.05
BATCH_EVENTS = 200
SHORT_WATCH_SECONDS = 1.0
BACKLOG = 20_000


@dataclass(frozen=True, slots=True)
class _Listed:
    kind: names.Kind
    items: tuple[Any, ...]
    whole: bool
    begun_at: datetime


@dataclass(frozen=True, slots=True)
class _Changed:
    kind: names.Kind
    event: Any


@dataclass(frozen=True, slots=True)
class _Failed:
    error: Exception


class Mirror:
    """Follows one cluster for as long as :meth:`observations` is consumed."""

    def __init__(self, client: KubeClient, snapshot: Snapshot, installation: str) -> None:
        self._client = client
        self._snapshot = snapshot
        self._installation = installation
        self._told: queue.Queue[_Listed | _Changed | _Failed] = queue.Queue(BACKLOG)
        self._over = threading.Event()
        self._next_round = time.monotonic() + ROUND_SECONDS
        self._clock = threading.Lock()

    def observations(self, stop: Callable[[], bool]) -> Iterator[Observation]:
        """Complete first. Raises the error of the kind that could not be followed."""
        threads = [
            threading.Thread(target=self._follow, args=(followed,), name=f"watch-{followed.kind.plural}", daemon=True)
            for followed in FOLLOWED
        ]
        for thread in threads:
            thread.start()
        try:
            yield from self._tell(stop)
        finally:
            self._over.set()
            self._client.close()

    # ------------------------------------------------------------------- the consumer

    def _tell(self, stop: Callable[[], bool]) -> Iterator[Observation]:
        listed: dict[names.Kind, _Listed] = {}
        begun = False
        while not stop():
            batch = self._batch()
            touched: set[tuple[str, int]] = set()
            for item in batch:
                match item:
                    case _Failed():
                        raise item.error
                    case _Listed():
                        touched |= self._snapshot.replace(item.kind, item.items)
                        listed[item.kind] = item
                    case _Changed():
                        touched |= self._snapshot.apply(item.kind, item.event)
            if len(listed) == len(FOLLOWED):
                begun = True
                yield Observation(
                    read_at=min(item.begun_at for item in listed.values()),
                    complete=all(item.whole for item in listed.values()),
                    objects=self._snapshot.observed(),
                )
                listed.clear()
            elif begun and touched:
                objects = self._snapshot.observed(touched)
                there = {(row.job_ulid, row.attempt) for row in objects}
                yield Observation(
                    read_at=datetime.now(UTC), complete=False, objects=objects, gone=tuple(sorted(touched - there))
                )

    def _batch(self) -> list[_Listed | _Changed | _Failed]:
        """What has come in: waits up to a second for the first, then a moment for those that come with it."""
        try:
            batch = [self._told.get(timeout=1.0)]
        except queue.Empty:
            return []
        until = time.monotonic() + BATCH_SECONDS
        while len(batch) < BATCH_EVENTS and (left := until - time.monotonic()) > 0:
            try:
                batch.append(self._told.get(timeout=left))
            except queue.Empty:
                break
        return batch

    # ------------------------------------------------------------------- one thread per kind

    def _follow(self, followed: Followed) -> None:
        try:
            while not self._over.is_set():
                try:
                    self._round(followed)
                except Gone as error:  # costs exactly one list
                    logger.info("%s: listing again: %s", followed.kind.plural, error.detail)
        except BackendError as error:
            self._put(_Failed(error))
        except Exception as error:
            logger.exception("following %s failed", followed.kind.plural)
            self._put(_Failed(error))

    def _round(self, followed: Followed) -> None:
        """One list, and watches from there until all kinds are listed again."""
        until = self._round_end()
        begun_at = datetime.now(UTC)
        listed = list_all(self._client, followed, self._installation)
        for name in listed.broken:
            logger.warning("%s %s cannot be read", followed.kind.plural, name)
        self._put(_Listed(followed.kind, listed.items, not listed.broken, begun_at))
        version = listed.resource_version
        while not self._over.is_set() and (left := until - time.monotonic()) > 0:
            if not version:  # the kind does not exist here
                self._over.wait(left)
                return
            opened = time.monotonic()
            for event in watch_events(self._client, followed, self._installation, version, int(left) + 1):
                version = event.resource_version or version
                if event.type != "BOOKMARK":
                    self._put(_Changed(followed.kind, event))
            if time.monotonic() - opened < SHORT_WATCH_SECONDS:
                self._over.wait(SHORT_WATCH_SECONDS)  # a server that hangs up at once is not asked in a tight loop

    def _round_end(self) -> float:
        with self._clock:
            now = time.monotonic()
            while self._next_round <= now + 1.0:
                self._next_round += ROUND_SECONDS
            return self._next_round

    def _put(self, item: _Listed | _Changed | _Failed) -> None:
        while not self._over.is_set():
            try:
                self._told.put(item, timeout=1.0)
                return
            except queue.Full:
                continue
