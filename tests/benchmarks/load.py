"""Requests over HTTP as people and programs send them: one connection kept open for each, times by address."""

from __future__ import annotations

import http.client
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field


@dataclass
class Caller:
    """One person's browser or program."""

    port: int
    headers: Mapping[str, str]
    _connection: http.client.HTTPConnection | None = field(default=None, init=False)

    def ask(self, address: str, method: str = "GET", body: bytes | None = None) -> tuple[float, int, bytes]:
        """(seconds until the whole answer was here, status, body)."""
        if self._connection is not None:
            with suppress(http.client.RemoteDisconnected, ConnectionError):  # closed because it was idle
                return self._ask(self._connection, address, method, body)
        self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        return self._ask(self._connection, address, method, body)

    def _ask(
        self, connection: http.client.HTTPConnection, address: str, method: str, body: bytes | None
    ) -> tuple[float, int, bytes]:
        begun = time.perf_counter()
        connection.request(method, address, body=body, headers=dict(self.headers))
        response = connection.getresponse()
        read = response.read()
        return time.perf_counter() - begun, response.status, read

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


Times = dict[str, list[float]]


def at_once(workers: list[Callable[[Times], None]]) -> Times:
    """All of these at the same time, each in a thread of its own; their times together. Raises what one raised."""
    times: Times = defaultdict(list)
    errors: list[BaseException] = []

    def guarded(work: Callable[[Times], None]) -> None:
        mine: Times = defaultdict(list)
        try:
            work(mine)
        except BaseException as error:
            errors.append(error)
        for name, values in mine.items():
            times[name] += values

    threads = [threading.Thread(target=guarded, args=(work,)) for work in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return times
