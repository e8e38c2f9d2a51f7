"""How a console starts and how it ends: by a key, a signal, a kill, or a start that cannot work."""

from __future__ import annotations

import signal
import socket
import subprocess
from pathlib import Path

import psutil
import pytest

from console.embedded.children import ROOT
from tests.system.console import MAKE_RUN, SUPERVISOR, copy_state, environment, free_port, running, seconds_until

STOP_SECONDS = 5.0
LATER_START_SECONDS = 15.0
TRIES_ON_A_BUSY_MACHINE = 3
JOB_SECONDS = 60.0


def start(state: Path, port: int, **extra: str) -> subprocess.CompletedProcess[str]:
    """A start that is expected to end by itself."""
    env = environment(state, port, **extra)
    return subprocess.run(SUPERVISOR, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_later_start_takes_at_most_fifteen_seconds(used_state: Path) -> None:
    seconds = []
    for _ in range(TRIES_ON_A_BUSY_MACHINE):
        with running(used_state, argv=MAKE_RUN) as console:
            seconds.append(console.wait_for("READY"))
        if seconds[-1] < LATER_START_SECONDS:
            return
    pytest.fail(f"later starts took {seconds} s")


def test_ctrl_c_ends_everything_within_five_seconds(used_state: Path) -> None:
    with running(used_state, argv=MAKE_RUN) as console:
        console.wait_for("How to sign in as each role: ")
        assert (used_state / "sign-in.txt").read_text().strip() not in console.output
        console.press_ctrl_c()
        console.wait_for("Stopping.", STOP_SECONDS)
        console.press_ctrl_c()  # an impatient second one changes nothing
        seconds_until(console.nothing_left, STOP_SECONDS)
        console.exit_code()
        assert "Stopped." in console.output
        assert "Traceback" not in console.output
        assert not (used_state / "instance.json").exists()


def test_after_a_kill_the_next_start_waits_for_what_is_left_and_finishes_every_acknowledged_job(
    used_state: Path,
) -> None:
    job = {"framework": "command", "image": "busybox:1", "cards": 1, "priority": "normal", "command": "sleep 1; exit 0"}
    with running(used_state) as killed:
        killed.wait_for("READY")
        token = killed.manage("token_create", "eng-vision-1").stdout.strip()
        answers = [killed.request("POST", "/api/v1/jobs", token=token, body=job) for _ in range(5)]
        family = killed.family()
        killed.process.kill()
        assert [status for status, _ in answers] == [201] * 5
        with running(used_state) as console:
            seconds_until(lambda: not any(map(is_alive, family)), STOP_SECONDS)
            console.wait_for("READY")

            def states() -> set[str]:
                paths = [f"/api/v1/jobs/{answer['id']}" for _, answer in answers]
                return {console.request("GET", path, token=token)[1]["state"] for path in paths}

            seconds_until(lambda: states() == {"succeeded"}, JOB_SECONDS)
            console.process.send_signal(signal.SIGTERM)
            seconds_until(console.nothing_left, STOP_SECONDS)
            assert console.exit_code() == 0


def test_a_kill_of_make_leaves_nothing_after_five_seconds(used_state: Path) -> None:
    with running(used_state, argv=MAKE_RUN) as console:
        console.wait_for("READY")
        family = console.family()
        console.process.kill()
        seconds_until(lambda: console.nothing_left() and not any(map(is_alive, family)), STOP_SECONDS)


def test_a_first_start_that_was_interrupted_can_be_repeated(state: Path) -> None:
    with running(state) as console:
        console.wait_for("PostgreSQL")
        console.process.kill()
        seconds_until(console.nothing_left, STOP_SECONDS)
    with running(state) as console:
        console.wait_for("Database tables")
        console.press_ctrl_c()
        seconds_until(console.nothing_left, STOP_SECONDS)
        assert console.exit_code() == 0
    with running(state) as console:
        console.wait_for("READY")
        console.wait_for("How to sign in as each role: ", 5)


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


def test_a_place_with_a_long_and_unusual_path_below_a_closed_folder_works_and_leaves_nothing_in_tmp(
    state: Path, state_of_an_earlier_start: Path
) -> None:
    place = state / ("a-folder-with-a-long-name" * 5) / 'it\'s 100% 任务, "state"'
    place.mkdir(parents=True)
    copy_state(state_of_an_earlier_start, place)
    with running(place) as console:
        console.wait_for("READY")
        sockets = (place / "run").readlink()
        assert len(str(sockets)) < 40
        assert sockets.stat().st_mode & 0o777 == 0o700
        assert console.manage("token_create", "admin").returncode == 0
    assert not sockets.exists()
    assert state.stat().st_mode & 0o777 == 0o700
