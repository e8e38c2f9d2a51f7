"""Twenty kills of whatever comes, the supervisor among them: what was acknowledged ends, once, and everything runs."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import psutil

from console.embedded.process import wait_until
from tests.system.console import CHILDREN, Console, free_port, seconds_until

SEED = int(os.environ.get("SLUICE_TEST_SEED", "20"))
KILLS = 20
SUPERVISOR_KILLS = 2
PAUSE_SECONDS = (0.1, 1.5)
SETTLED_SECONDS = 120.0
JOB = {"framework": "command", "image": "busybox:1", "cards": 1, "priority": "normal", "command": "sleep 1; exit 0"}


def test_after_twenty_random_kills_everything_acknowledged_has_ended_and_everything_runs(used_state: Path) -> None:
    _tell(f"SLUICE_TEST_SEED={SEED}")
    dice = random.Random(SEED)
    supervisor_at = set(dice.sample(range(2, KILLS - 1), SUPERVISOR_KILLS))
    console = Console(used_state, free_port())
    acknowledged: set[str] = set()
    try:
        console.wait_for("READY")
        token = console.manage("token_create", "eng-vision-1").stdout.strip()
        for number in range(KILLS):
            acknowledged |= _submitted(console, token)
            if number in supervisor_at:
                _tell(f"{number}: supervisor")
                console.process.kill()
                console.close()
                console = Console(used_state, free_port())
                console.wait_for("READY")
            else:
                _tell(f"{number}: {_kill_a_child(console, dice)}")
            time.sleep(dice.uniform(*PAUSE_SECONDS))
        acknowledged |= _submitted(console, token)
        assert len(acknowledged) >= KILLS // 3, "hardly anything was acknowledged between the kills"
        seconds_until(lambda: console.is_ready() and all(console.child(name) for name in CHILDREN), SETTLED_SECONDS)
        ended = wait_until(lambda: _are_all_over(console, token, acknowledged), SETTLED_SECONDS)
        assert ended, f"{_states(console, token, acknowledged)}{console.logs()}"
        assert {_attempts(console, token, job) for job in acknowledged} == {1}
    finally:
        console.close()
    assert wait_until(console.nothing_left, 10)


def _tell(line: str) -> None:
    """Shown when the test fails."""
    sys.stdout.write(f"{line}\n")


def _kill_a_child(console: Console, dice: random.Random) -> str:
    """SIGKILL for one of those that are there now; its name."""
    there = {name: child for name in CHILDREN if (child := console.child(name)) is not None}
    assert there, console.output
    name = dice.choice(sorted(there))
    try:
        there[name].send_signal(signal.SIGKILL)
    except psutil.NoSuchProcess:
        return f"{name}, already gone"
    return name


def _submitted(console: Console, token: str) -> set[str]:
    """The id of a job, if it was acknowledged."""
    status, answer = console.request("POST", "/api/v1/jobs", token=token, body=JOB)
    return {answer["id"]} if status == 201 else set()


def _states(console: Console, token: str, jobs: set[str]) -> dict[str, str]:
    answers = {job: console.request("GET", f"/api/v1/jobs/{job}", token=token) for job in jobs}
    return {job: answer["state"] if status == 200 else str(status) for job, (status, answer) in answers.items()}


def _are_all_over(console: Console, token: str, jobs: set[str]) -> bool:
    return set(_states(console, token, jobs).values()) == {"succeeded"}


def _attempts(console: Console, token: str, job: str) -> int:
    return int(console.request("GET", f"/api/v1/jobs/{job}", token=token)[1]["attempt"])
