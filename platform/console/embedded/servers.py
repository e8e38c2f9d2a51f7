"""Wait for a freshly started server, with a message that helps when it does not come up."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from console.embedded.errors import EmbeddedError
from console.embedded.process import POLL_SECONDS, ChildProcess
from console.embedded.state import StateDir

START_SECONDS = 60.0


class Server(Protocol):
    """What PostgreSQL and Valkey have in common here."""

    def accepts_connections(self) -> bool: ...


def wait_for_server(
    server: Server, child: ChildProcess, state: StateDir, log_name: str, *, pause: Callable[[float], None] = time.sleep
) -> None:
    """Return once the server answers. Errors: it ended, or did not answer within START_SECONDS.

    `pause` may raise to give up earlier.
    """
    deadline = time.monotonic() + START_SECONDS
    while not server.accepts_connections():
        if not child.running or time.monotonic() > deadline:
            what = f"did not answer within {START_SECONDS:.0f} s" if child.running else f"ended ({child.exit_code})"
            raise EmbeddedError(
                f"The server {log_name} {what}. Its log is {state.log_file(log_name)}; the last lines:\n"
                + state.log_tail(log_name)
            )
        pause(POLL_SECONDS)
