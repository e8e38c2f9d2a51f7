"""One console that runs, as `make run` starts it, and what may happen to it while it runs."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from console.embedded.children import ROOT
from console.embedded.process import wait_until
from tests.system.console import (
    CHILDREN,
    MAKE_RUN,
    SUPERVISOR,
    Console,
    environment,
    free_port,
    running,
    seconds_until,
    state_folder,
)

FIRST_START_SECONDS = 60.0
BACK_SECONDS = 10.0


@pytest.fixture(scope="module")
def console() -> Iterator[Console]:
    """A console with the demo, as a stranger starts it, once it is ready."""
    with state_folder() as state, running(state, argv=MAKE_RUN, DEMO="1") as console:
        assert console.wait_for("READY") < FIRST_START_SECONDS
        yield console


def test_the_first_start_tells_how_to_sign_in_as_each_role(console: Console) -> None:
    assert console.is_ready()
    console.wait_for(f"How to sign in as each role: {console.state / 'sign-in.txt'}", 5)
    sign_in = (console.state / "sign-in.txt").read_text()
    assert sign_in.strip() in console.output
    for person in ("admin", "lead-vision", "eng-vision-1"):
        assert person in sign_in


def test_each_step_is_one_line_with_its_seconds(console: Console) -> None:
    for title in ("PostgreSQL", "Valkey", "Database tables", "People and clusters", "Web, worker, beat, watcher"):
        (line,) = [line for line in console.output.splitlines() if line.strip().startswith(title)]
        assert line.endswith(" s")


def test_all_processes_run(console: Console) -> None:
    assert [name for name in CHILDREN if console.child(name) is None] == []


def test_only_the_web_port_listens(console: Console) -> None:
    listening = set()
    for process in console.family():
        with suppress(psutil.NoSuchProcess):  # the database's helpers come and go
            listening |= {
                (connection.laddr.ip, connection.laddr.port)
                for connection in process.net_connections("inet")
                if connection.status == psutil.CONN_LISTEN
            }
    assert listening == {("127.0.0.1", console.port)}


def test_nobody_else_can_read_the_state(console: Console) -> None:
    for path in (console.state, *console.state.rglob("*")):
        entry = path.lstat()
        if stat.S_ISLNK(entry.st_mode):
            continue
        open_to_others = stat.S_IMODE(entry.st_mode) & (stat.S_IRWXG | stat.S_IRWXO)
        inside_a_closed_folder = path.parent.stat().st_mode & (stat.S_IXGRP | stat.S_IXOTH) == 0
        assert not open_to_others or (path != console.state and inside_a_closed_folder), path


def test_no_command_line_shows_a_secret(console: Console) -> None:
    instance = console.instance
    secrets = [instance["secret_key"], instance["fernet_keys"], instance["database_url"], instance["redis_url"]]
    lines = "\n".join(" ".join(process.cmdline()) for process in console.family())
    assert [secret for secret in secrets if secret in lines] == []


def test_manage_py_in_another_terminal_finds_the_console(console: Console) -> None:
    done = console.manage("token_create", "eng-vision-1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_a_second_console_on_the_same_state_is_refused_at_once(console: Console) -> None:
    done = subprocess.run(
        SUPERVISOR, cwd=ROOT, env=environment(console.state, free_port()), capture_output=True, text=True, timeout=10
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "already runs" in done.stderr
    assert f"http://127.0.0.1:{console.port}/" in done.stderr
    assert console.is_ready()


@pytest.mark.parametrize("name", CHILDREN)
def test_a_killed_process_is_back_within_ten_seconds(console: Console, name: str) -> None:
    before = console.child(name)
    assert before is not None

    def is_back() -> bool:
        child = console.child(name)
        return child is not None and child.pid != before.pid and console.is_ready()

    os.kill(before.pid, signal.SIGKILL)
    seconds_until(is_back, BACK_SECONDS)
    assert wait_until(lambda: f"{name} was ended by SIGKILL; starting it again" in console.output, 5)


def test_a_process_that_is_killed_again_and_again_still_comes_back(console: Console) -> None:
    for _ in range(5):
        child = console.child("watcher")
        assert child is not None
        os.kill(child.pid, signal.SIGKILL)
        seconds_until(lambda pid=child.pid: (c := console.child("watcher")) is not None and c.pid != pid, BACK_SECONDS)
    assert console.process.poll() is None


def test_logs_are_kept_in_the_state_folder_and_not_on_the_terminal(console: Console) -> None:
    logs = {path.name for path in (console.state / "logs").iterdir()}
    assert {f"{name}.log" for name in CHILDREN} <= logs
    assert "Traceback" not in console.output


def test_the_environment_of_the_servers_holds_none_of_ours(console: Console) -> None:
    for name in ("postgres", "valkey"):
        child = console.child(name)
        assert child is not None
        assert set(child.environ()) <= {"PATH", "LC_ALL", "TZ"}


def test_the_folder_above_keeps_its_rights(console: Console) -> None:
    assert Path(console.state).stat().st_mode & 0o777 == 0o700


def test_a_second_console_with_a_place_and_a_port_of_its_own_does_not_disturb_the_first(
    console: Console, used_state: Path
) -> None:
    with running(used_state) as second:
        second.wait_for("READY")
        assert second.instance["secret_key"] != console.instance["secret_key"]
        assert console.is_ready()
    assert console.is_ready()
