"""Gives the tests a throw-away PostgreSQL and Valkey of the very kind that `make run` starts.

Loaded with `-p console.embedded.pytest_plugin`, before any settings are read. SLUICE_TEST_DATABASE_URL and
SLUICE_TEST_REDIS_URL name servers to use instead. The workers of a parallel run inherit the servers of their parent.
The servers end with pytest, however it ends; the folder of a run that was killed is removed by the next run.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from console.embedded import postgres, valkey
from console.embedded.errors import EmbeddedError
from console.embedded.osuser import choose_service_user
from console.embedded.postgres import Postgres
from console.embedded.process import stop_all
from console.embedded.servers import wait_for_server
from console.embedded.state import CHILDREN_LOCK_NAME, StateDir
from console.embedded.valkey import Valkey

FOLDER_PREFIX = "sluice-test-"
YOUNG_SECONDS = 60.0
NO_TEST_OPTIONS = {"-h", "--help", "-V", "--version"}


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(args: list[str]) -> None:
    """Set DATABASE_URL and REDIS_URL before pytest-django reads the settings."""
    if "PYTEST_XDIST_WORKER" in os.environ or NO_TEST_OPTIONS.intersection(args):
        return
    given = {"DATABASE_URL": "SLUICE_TEST_DATABASE_URL", "REDIS_URL": "SLUICE_TEST_REDIS_URL"}
    urls = {name: os.environ[source] for name, source in given.items() if os.environ.get(source)}
    if len(urls) < len(given):
        _remove_leftovers()
        context = throw_away_servers()
        try:
            urls = context.__enter__() | urls
        except EmbeddedError as error:
            raise pytest.UsageError(str(error)) from error
        atexit.register(context.__exit__, None, None, None)
    os.environ.update(urls)


@contextmanager
def throw_away_servers() -> Iterator[dict[str, str]]:
    """DATABASE_URL and REDIS_URL of two servers that vanish, folder and all, when the context ends."""
    folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
    state = StateDir(folder)
    lock = state.children_lock()
    assert lock is not None  # nobody else knows this folder yet
    user = choose_service_user(None, say=print)
    sockets = state.socket_folder(user)
    database = Postgres(state, user, state.secrets(has_data=False), sockets, say=print, throw_away=True)
    broker = Valkey(state, user, sockets, say=print, throw_away=True)
    stops = []
    try:
        broker_child = broker.spawn([lock.fd])
        stops.append((broker_child, valkey.STOP_LADDER))
        database.prepare([lock.fd])
        database_child = database.spawn([lock.fd])
        stops.append((database_child, postgres.STOP_LADDER[1:]))  # nothing in it is worth a checkpoint
        wait_for_server(database, database_child, state, postgres.LOG_NAME)
        database.ensure_database()
        wait_for_server(broker, broker_child, state, valkey.LOG_NAME)
        yield {"DATABASE_URL": database.url, "REDIS_URL": broker.url}
    finally:
        stop_all(stops)
        database.close()
        broker.close()
        state.remove_socket_folder()
        lock.close()
        shutil.rmtree(folder, ignore_errors=True)


def _remove_leftovers() -> None:
    """Remove the folders of earlier runs that were killed, once none of their servers is alive."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        try:
            lock_file = folder / CHILDREN_LOCK_NAME
            ours = folder.stat().st_uid == os.geteuid()
            if not ours or not lock_file.exists() or time.time() - lock_file.stat().st_mtime < YOUNG_SECONDS:
                continue
            state = StateDir(folder)
            lock = state.children_lock()
        except (OSError, EmbeddedError):
            continue
        if lock is not None:
            state.remove_socket_folder()
            shutil.rmtree(folder, ignore_errors=True)
            lock.close()
