"""PostgreSQL and Valkey as a real installation has them, for the time of a run."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from console.embedded import postgres, valkey
from console.embedded.osuser import choose_service_user
from console.embedded.postgres import Postgres
from console.embedded.process import stop_all
from console.embedded.servers import wait_for_server
from console.embedded.state import StateDir
from console.embedded.valkey import Valkey


@dataclass(frozen=True)
class Servers:
    """Where they answer, their processes, and the folder with all that they keep."""

    database_url: str
    superuser_url: str
    redis_url: str
    pids: tuple[int, ...]
    folder: Path


@contextmanager
def durable_servers() -> Iterator[Servers]:
    """PostgreSQL keeps what it has committed; everything goes with its folder in the end."""
    folder = Path(tempfile.mkdtemp(prefix="sluice-bench-"))
    state = StateDir(folder)
    lock = state.children_lock()
    assert lock is not None  # nobody else knows this folder yet
    user = choose_service_user(None, say=print)
    sockets = state.socket_folder(user)
    secrets = state.secrets(has_data=False)
    database = Postgres(state, user, secrets, sockets, say=print)
    broker = Valkey(state, user, sockets, say=print)
    stops = []
    try:
        database.prepare([lock.fd])
        database_child = database.spawn([lock.fd])
        stops.append((database_child, postgres.STOP_LADDER[1:]))
        broker_child = broker.spawn([lock.fd])
        stops.append((broker_child, valkey.STOP_LADDER))
        wait_for_server(database, database_child, state, postgres.LOG_NAME)
        wait_for_server(broker, broker_child, state, valkey.LOG_NAME)
        database.ensure_database()
        own = f"{postgres.ROLE}:{quote(secrets.database_password, safe='')}@"
        superuser = f"{postgres.SUPERUSER}:{quote(secrets.superuser_password, safe='')}@"
        superuser_url = database.url.replace(own, superuser)
        yield Servers(database.url, superuser_url, broker.url, (database_child.pid, broker_child.pid), folder)
    finally:
        stop_all(stops)
        database.close()
        broker.close()
        state.remove_socket_folder()
        lock.close()
        shutil.rmtree(folder, ignore_errors=True)
