from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from console.embedded.process import ChildProcess, stop_all, wait_until

PATIENCE_SECONDS = 20.0


def start(code: str, *, output: Path) -> ChildProcess:
    """A Python child that writes to `output`, once it has written its first line."""
    with output.open("wb") as file:
        child = ChildProcess(
            [sys.executable, "-c", textwrap.dedent(code)], env={}, death_signal=signal.SIGKILL, output=file.fileno()
        )
    assert wait_until(lambda: output.read_bytes().endswith(b"\n") or not child.running, PATIENCE_SECONDS)
    return child


def is_alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pid: int) -> Callable[[], bool]:
    return lambda: not is_alive(pid)


SLEEPER = "import time; print('up', flush=True); time.sleep(600)"
STUBBORN = """
    import signal, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background inherits it ignored
    print('up', flush=True)
    time.sleep(600)
"""
WITH_CHILD = """
    import subprocess, sys, time
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    print(child.pid, flush=True)
    time.sleep(600)
"""


def test_a_running_child_has_no_exit_code_and_an_ended_one_keeps_its_own(tmp_path: Path) -> None:
    child = start(SLEEPER, output=tmp_path / "out")
    assert child.running
    child.send(signal.SIGTERM)
    assert child.wait(PATIENCE_SECONDS)
    assert child.exit_code == -signal.SIGTERM
    child.send(signal.SIGTERM)  # too late, and no error
    child.kill()


def test_a_killed_child_takes_its_own_children_along(tmp_path: Path) -> None:
    child = start(WITH_CHILD, output=tmp_path / "out")
    grandchild = int((tmp_path / "out").read_text())
    assert is_alive(grandchild)
    os.kill(child.pid, signal.SIGKILL)
    assert child.wait(PATIENCE_SECONDS)
    assert wait_until(gone(grandchild), PATIENCE_SECONDS)


def test_a_stubborn_child_is_killed_when_its_time_is_up(tmp_path: Path) -> None:
    polite = start(SLEEPER, output=tmp_path / "polite")
    stubborn = start(STUBBORN, output=tmp_path / "stubborn")
    started = time.monotonic()
    stop_all([(child, [(signal.SIGTERM, 0.3)]) for child in (polite, stubborn)])
    assert 0.3 <= time.monotonic() - started < PATIENCE_SECONDS
    assert polite.exit_code == -signal.SIGTERM
    assert stubborn.exit_code == -signal.SIGKILL


def test_each_step_of_a_ladder_gets_its_time(tmp_path: Path) -> None:
    stubborn = start(STUBBORN, output=tmp_path / "out")
    stop_all([(stubborn, [(signal.SIGTERM, 0.1), (signal.SIGINT, PATIENCE_SECONDS)])])
    assert stubborn.exit_code not in (None, -signal.SIGKILL)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel's parent-death signal is Linux's")
def test_a_child_does_not_outlive_a_parent_that_is_killed(tmp_path: Path) -> None:
    code = f"""
        import os, signal, sys, time
        from console.embedded.process import ChildProcess
        argv = [sys.executable, "-c", {textwrap.dedent(STUBBORN)!r}]
        child = ChildProcess(argv, env={{}}, death_signal=signal.SIGKILL, output=2)
        print(child.pid, flush=True)
        time.sleep(600)
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert is_alive(child)
        parent.kill()
    assert wait_until(gone(child), PATIENCE_SECONDS)
