"""A database with jobs, and how the people in it are known."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.benchmarks import stack
from tests.benchmarks.database import Servers, durable_servers
from tests.benchmarks.load import Caller


@dataclass(frozen=True)
class Filled:
    """``known``: what tests/benchmarks/history.py prints."""

    servers: Servers
    active: int
    ended: int
    known: dict[str, Any]

    @property
    def size(self) -> str:
        return f"{self.active:,} live jobs and {self.ended:,} ended"

    def caller(self, port: int, role: str, address: str) -> Caller:
        """Programs send a token, people a cookie."""
        if address.startswith("/api/"):
            return Caller(port, {"Authorization": f"Token {self.known['tokens'][role]}", "Accept": "*/*"})
        return Caller(port, {"Cookie": f"sluice_session={self.known['sessions'][role]}", "Accept": "text/html"})


@contextmanager
def filled(active: int, ended: int) -> Iterator[Filled]:
    with durable_servers() as servers:
        more = {"SUPERUSER_URL": servers.superuser_url}
        yield Filled(servers, active, ended, stack.told_by("history", str(active), str(ended), servers=servers, **more))
