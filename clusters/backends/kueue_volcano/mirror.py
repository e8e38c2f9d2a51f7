"""A cluster followed live: one thread per kind watches, one lists everything anew, one consumer keeps the snapshot.

Each kind is listed once and watched from there. About once a minute all kinds are listed again, one after the other
while the watches go on, which gives a complete observation whatever the watches missed and holds up no event. What is
told between is partial.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.client import Gone, KubeClient
from clusters.backends.kueue_volcano.index import Key
from clusters.backends.kueue_volcano.lists import FOLLOWED, Followed, list_all, watch_events
from clusters.backends.kueue_volcano.raw import Event
from clusters.backends.kueue_volcano.snapshot import Snapshot
from clusters.contract import BackendError, Observation
from common.collection import collection_paused

logger = logging.getLogger(__name__)

ROUND_SECONDS = 50.0
"""All kinds are listed again after this long (decision 27: at least every minute)."""
WATCH_SECONDS = 300
BATCH_SECONDS = 0.05
BATCH_EVENTS = 2_000
SHORT_WATCH_SECONDS = 1.0
BACKLOG = 20_000


@dataclass(frozen=True, slots=True)
class _RoundBegins:
    """What is listed from here on belongs to one look at everything."""


@dataclass(frozen=True, slots=True)
class _ListBegins:
    """The list of this kind that follows may be older than events that come before it."""

    kind: names.Kind


@dataclass(frozen=True, slots=True)
class _Listed:
    kind: names.Kind
    items: tuple[Any, ...]
    version: str
    whole: bool
    begun_at: datetime


@dataclass(frozen=True, slots=True)
class _Changed:
    kind: names.Kind
    event: Event


@dataclass(frozen=True, slots=True)
class _Failed:
    error: Exception


_Told = _RoundBegins | _ListBegins | _Listed | _Changed | _Failed


class Mirror:
    """Follows one cluster for as long as :meth:`observations` is consumed."""

    def __init__(self, client: KubeClient, snapshot: Snapshot, installation: str) -> None:
        self._client = client
        self._snapshot = snapshot
        self._installation = installation
        self._told: queue.SimpleQueue[_Told] = queue.SimpleQueue()
        self._over = threading.Event()
        self._listing = {followed.kind: threading.Lock() for followed in FOLLOWED}

    def observations(self, stop: Callable[[], bool]) -> Iterator[Observation]:
        """Complete first; from then on at least one a second, of nothing if nothing happened.

        Raises the error of the kind that could not be followed.
        """
        for followed in FOLLOWED:
            self._start(f"watch-{followed.kind.plural}", partial(self._follow, followed))
        self._start("list-again", self._list_again)
        try:
            yield from self._tell(stop)
        finally:
            self._over.set()
            self._client.close()

    def _start(self, name: str, work: Callable[[], None]) -> None:
        threading.Thread(target=self._guarded, args=(work,), name=name, daemon=True).start()

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BackendError as error:
            self._put(_Failed(error))
        except Exception as error:
            logger.exception("%s failed", threading.current_thread().name)
            self._put(_Failed(error))

    # ------------------------------------------------------------------- the consumer

    def _tell(self, stop: Callable[[], bool]) -> Iterator[Observation]:
        intake = _Intake(self._snapshot)
        begun = False
        while not stop():
            touched: set[Key] = set()
            for told in self._batch():
                touched |= intake.take(told)
            if len(intake.listed) == len(FOLLOWED):
                begun = True
                with collection_paused():  # while it is worked out and stored
                    yield intake.complete()
            elif begun:
                yield self._partial(touched)

    def _partial(self, touched: set[Key]) -> Observation:
        objects = self._snapshot.observed(touched) if touched else ()
        there = {(row.job_ulid, row.attempt) for row in objects}
        return Observation(
            read_at=datetime.now(UTC), complete=False, objects=objects, gone=tuple(sorted(touched - there))
        )

    def _batch(self) -> list[_Told]:
        """What has come in: waits up to a second for the first, then a moment for those that come with it."""
        try:
            batch = [self._told.get(timeout=1.0)]
        except queue.Empty:
            return []
        if self._told.qsize() < BATCH_EVENTS:
            time.sleep(BATCH_SECONDS)
        while len(batch) < BATCH_EVENTS:
            try:
                batch.append(self._told.get_nowait())
            except queue.Empty:
                break
        return batch

    # ------------------------------------------------------------------- one thread per kind, and one for all

    def _follow(self, followed: Followed) -> None:
        """List once, then watch from there on. A version that has expired costs exactly one list."""
        version = self._list(followed)
        while not self._over.is_set():
            if not version:  # the kind does not exist here, or did not at the last look
                self._over.wait(ROUND_SECONDS)
                version = self._list(followed)
                continue
            try:
                version = self._watch(followed, version)
            except Gone as error:
                logger.info("%s: listing again: %s", followed.kind.plural, error.detail)
                version = self._list(followed)

    def _watch(self, followed: Followed, version: str) -> str:
        """One watch to its end; the version from which to go on."""
        opened = time.monotonic()
        for event in watch_events(self._client, followed, self._installation, version, WATCH_SECONDS):
            version = event.resource_version or version
            if event.type != "BOOKMARK":
                self._put(_Changed(followed.kind, event))
        if time.monotonic() - opened < SHORT_WATCH_SECONDS:
            self._over.wait(SHORT_WATCH_SECONDS)  # a server that hangs up at once is not asked in a tight loop
        return version

    def _list_again(self) -> None:
        while not self._over.wait(ROUND_SECONDS):
            self._put(_RoundBegins())
            for followed in FOLLOWED:
                self._list(followed)

    def _list(self, followed: Followed) -> str:
        """The version of a whole list, which is passed on; '' where the kind does not exist."""
        with self._listing[followed.kind]:
            while not self._over.is_set():
                self._put(_ListBegins(followed.kind))
                begun_at = datetime.now(UTC)
                try:
                    listed = list_all(self._client, followed, self._installation)
                except Gone as error:
                    logger.info("%s: listing again: %s", followed.kind.plural, error.detail)
                    continue
                for name in listed.broken:
                    logger.warning("%s %s cannot be read", followed.kind.plural, name)
                version = listed.resource_version
                self._put(_Listed(followed.kind, listed.items, version, not listed.broken, begun_at))
                return version
        return ""

    def _put(self, told: _Told) -> None:
        """A consumer that falls behind holds up those who tell, so that nothing piles up without bound."""
        while self._told.qsize() >= BACKLOG and not self._over.is_set():
            time.sleep(BATCH_SECONDS)
        self._told.put(told)


@dataclass(slots=True)
class _Intake:
    """Brings lists and events into one order. A list is one moment, and events of both sides of it are under way."""

    snapshot: Snapshot
    listed: dict[names.Kind, _Listed] = field(default_factory=dict)  # of the round that is under way
    _versions: dict[names.Kind, str] = field(default_factory=dict)  # of the newest list
    _since: dict[names.Kind, list[Event]] = field(default_factory=dict)  # events since a list began

    def take(self, told: _Told) -> set[Key]:
        """Returns the attempts concerned. Raises what made a kind impossible to follow."""
        match told:
            case _Failed():
                raise told.error
            case _RoundBegins():
                self.listed.clear()
            case _ListBegins():
                self._since[told.kind] = []
            case _Listed():
                return self._take_list(told)
            case _Changed():
                return self._take_event(told.kind, told.event)
        return set()

    def _take_list(self, told: _Listed) -> set[Key]:
        with collection_paused():
            touched = self.snapshot.replace(told.kind, told.items)
        self.listed[told.kind], self._versions[told.kind] = told, told.version
        for event in self._since.pop(told.kind, ()):  # the newer of them are not in the list
            touched |= self._take_event(told.kind, event)
        return touched

    def _take_event(self, kind: names.Kind, event: Event) -> set[Key]:
        if kind in self._since:
            self._since[kind].append(event)
        if _is_in(self._versions.get(kind, ""), event):
            return set()
        return self.snapshot.apply(kind, event)

    def complete(self) -> Observation:
        """All kinds have been listed: the whole cluster, as of the oldest of these lists."""
        observation = Observation(
            read_at=min(told.begun_at for told in self.listed.values()),
            complete=all(told.whole for told in self.listed.values()),
            objects=self.snapshot.observed(),
        )
        self.listed.clear()
        return observation


def _is_in(version: str, event: Event) -> bool:
    """Whether a list of this version knew of the event already: what it deleted must not come back by it."""
    told = event.resource_version
    return version.isdigit() and told.isdigit() and int(told) <= int(version)
