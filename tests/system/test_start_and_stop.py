"""How a console starts and how it ends: by a key, a signal, a kill, or a start that cannot work."""

from __future__ import annotations

import signal
import socket
import subprocess
from pathlib import Path

import psutil
import pytest

from console.embedded.children import ROOT
from tests.system.console import MAKE_RUN, SUPERVISOR, environment, free_port, running, seconds_until

STOP_SECONDS = 5.0
LATER_START_SECONDS = 15.0


def start(state: Path, port: int, **extra: str) -> subprocess.CompletedProcess[str]:
    """A start that is expected to end by itself."""
    env = environment(state, port, **extra)
    return subprocess.run(SUPERVISOR, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)


def test_ctrl_c_ends_everything_within_five_seconds_and_the_next_start_takes_fifteen(state: Path) -> None:
    with running(state, argv=MAKE_RUN) as console:
        console.wait_for("READY")
        console.press_ctrl_c()
        seconds_until(console.nothing_left, STOP_SECONDS)
        console.exit_code()
        assert "Stopped." in console.output
        assert not (state / "instance.json").exists()
    with running(state, argv=MAKE_RUN) as console:
        assert console.wait_for("READY") < LATER_START_SECONDS
        console.wait_for("How to sign in as each role: ", 5)
        assert (state / "sign-in.txt").read_text().strip() not in console.output


def test_a_second_ctrl_c_while_it_stops_changes_nothing(state: Path) -> None:
    with running(state) as console:
        console.wait_for("READY")
        console.press_ctrl_c()
        console.wait_for("Stopping.", 5)
        console.press_ctrl_c()
        seconds_until(console.nothing_left, STOP_SECONDS)
        assert console.exit_code() == 0
        assert "Traceback" not in console.output


def test_sigterm_ends_everything_within_five_seconds(state: Path) -> None:
    with running(state) as console:
        console.wait_for("READY")
        console.process.send_signal(signal.SIGTERM)
        seconds_until(console.nothing_left, STOP_SECONDS)
        assert console.exit_code() == 0


@pytest.mark.parametrize("argv", [SUPERVISOR, MAKE_RUN], ids=["supervisor", "make"])
def test_after_a_kill_nothing_is_left_within_five_seconds_and_the_next_start_works(
    state: Path, argv: tuple[str, ...]
) -> None:
    with running(state, argv=argv) as console:
        console.wait_for("READY")
        family = console.family()
        console.process.kill()
        seconds_until(console.nothing_left, STOP_SECONDS)
        assert [
            process for process in family if process.is_running() and process.status() != psutil.STATUS_ZOMBIE
        ] == []
    with running(state) as console:
        console.wait_for("READY")


def test_a_start_right_after_a_kill_waits_for_what_is_left(state: Path) -> None:
    with running(state) as first:
        first.wait_for("READY")
        first.process.kill()
        with running(state) as second:
            second.wait_for("READY")


def test_ctrl_c_during_the_first_start_leaves_a_state_that_can_be_started(state: Path) -> None:
    with running(state) as console:
        console.wait_for("Database tables")
        console.press_ctrl_c()
        seconds_until(console.nothing_left, STOP_SECONDS)
        assert console.exit_code() == 0
    with running(state) as console:
        console.wait_for("READY")
        console.wait_for("How to sign in as each role: ", 5)


def test_a_kill_during_the_first_start_leaves_a_state_that_can_be_started(state: Path) -> None:
    with running(state) as console:
        console.wait_for("PostgreSQL")
        console.process.kill()
        seconds_until(console.nothing_left, STOP_SECONDS)
    with running(state) as console:
        console.wait_for("READY")


def test_a_port_in_use_is_refused_before_anything_starts(state: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        done = start(state, other.getsockname()[1])
    assert done.returncode == 1
    assert done.stdout == ""
    assert "cannot be used" in done.stderr
    assert "make run PORT=" in done.stderr
    assert not list(state.glob("pg*"))


def test_a_folder_with_other_things_in_it_is_refused(state: Path) -> None:
    (state / "thesis.txt").touch()
    done = start(state, free_port())
    assert done.returncode == 1
    assert "neither empty nor a state folder" in done.stderr


def test_a_set_up_that_fails_ends_the_start_with_the_end_of_its_log(state: Path) -> None:
    nowhere = "postgresql://nobody@127.0.0.1:1/none"
    done = start(state, free_port(), DATABASE_URL=nowhere)
    assert done.returncode == 1
    assert f"Its log is {state / 'logs' / 'setup.log'}" in done.stderr
    assert "Connection refused" in done.stderr
    assert "Traceback" not in done.stdout


def test_a_place_with_a_long_path_works_and_leaves_nothing_in_tmp(state: Path) -> None:
    long = state / ("a-folder-with-a-long-name" * 5) / "state"
    before = set(Path("/tmp").glob("sluice-*"))
    with running(long) as console:
        console.wait_for("READY")
        (sockets,) = [path for path in set(Path("/tmp").glob("sluice-*")) - before if path.is_dir()]
        assert sockets.stat().st_mode & 0o777 == 0o700
        assert console.manage("token_create", "admin").returncode == 0
    assert not sockets.exists()
    assert state.stat().st_mode & 0o777 == 0o700


def test_two_consoles_with_a_place_and_a_port_each_do_not_disturb_each_other(state: Path) -> None:
    (state / "one").mkdir()
    with running(state / "one") as one, running(state / "two") as two:
        one.wait_for("READY")
        two.wait_for("READY")
        keys = [console.instance["secret_key"] for console in (one, two)]
        assert keys[0] != keys[1]
        two.process.send_signal(signal.SIGTERM)
        assert two.exit_code() == 0
        assert one.is_ready()
