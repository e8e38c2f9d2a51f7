"""A PostgreSQL as a real installation has it, for the time of a run."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from console.embedded import postgres
from console.embedded.osuser import choose_service_user
from console.embedded.postgres import Postgres
from console.embedded.process import stop_all
from console.embedded.servers import wait_for_server
from console.embedded.state import StateDir


@contextmanager
def durable_database() -> Iterator[str]:
    """Its address. It keeps what it has committed, and goes with its folder in the end."""
    folder = Path(tempfile.mkdtemp(prefix="sluice-bench-"))
    state = StateDir(folder)
    lock = state.children_lock()
    assert lock is not None  # nobody else knows this folder yet
    user = choose_service_user(None, say=print)
    database = Postgres(state, user, state.secrets(has_data=False), state.socket_folder(user), say=print)
    stops = []
    try:
        database.prepare([lock.fd])
        child = database.spawn([lock.fd])
        stops.append((child, postgres.STOP_LADDER[1:]))
        wait_for_server(database, child, state, postgres.LOG_NAME)
        database.ensure_database()
        yield database.url
    finally:
        stop_all(stops)
        database.close()
        state.remove_socket_folder()
        lock.close()
        shutil.rmtree(folder, ignore_errors=True)
