"""Start, watch and stop child processes so that none of them outlives its parent."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO

from console.embedded.osuser import ServiceUser

PR_SET_PDEATHSIG = 1
POLL_SECONDS = 0.05


def die_with_parent(death_signal: signal.Signals) -> None:
    """Ask the kernel to send `death_signal` to this process when its parent ends (Linux; elsewhere nothing happens)."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)


def _before_exec(death_signal: signal.Signals) -> Callable[[], None] | None:
    """The hook that runs in the child between fork and exec; everything it needs is loaded before the fork."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()
    wanted = int(death_signal)

    def hook() -> None:
        prctl(PR_SET_PDEATHSIG, wanted, 0, 0, 0)
        if os.getppid() != parent:  # the parent ended before the request was made
            os._exit(1)

    return hook


class ChildProcess:
    """A child in a session of its own: a terminal's Ctrl-C reaches only us, and its whole group can be ended.

    Create it from the main thread only: the kernel sends the death signal when the *thread* that forked ends.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        death_signal: signal.Signals,
        output: IO[bytes] | int | None = None,
        stdin: int = subprocess.DEVNULL,
        cwd: Path | str = "/",
        user: ServiceUser | None = None,
        pass_fds: Iterable[int] = (),
    ) -> None:
        self.started_at = time.monotonic()
        self._popen = subprocess.Popen(
            list(argv),
            env=dict(env),
            cwd=cwd,
            stdin=stdin,
            stdout=output,
            stderr=subprocess.STDOUT if output is not None else None,
            start_new_session=True,
            umask=0o077,
            pass_fds=tuple(pass_fds),
            preexec_fn=_before_exec(death_signal),
            **(user.popen_options() if user else {}),
        )

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def exit_code(self) -> int | None:
        """The exit code (negative: the signal that ended it), None while it runs. Ends what is left of its group."""
        if self._popen.returncode is None and self._has_exited():
            self.kill()  # before the reaping frees the group's number for somebody else
            self._popen.wait()
        return self._popen.returncode

    @property
    def running(self) -> bool:
        return self.exit_code is None

    def _has_exited(self) -> bool:
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    def write_and_close_stdin(self, data: bytes) -> None:
        """Hand over `data` on standard input; a child that is already gone is noticed by whoever waits for it."""
        assert self._popen.stdin is not None
        try:
            with self._popen.stdin as stdin:
                stdin.write(data)
        except BrokenPipeError:
            return

    def send(self, signum: signal.Signals) -> None:
        """Send a signal to the process itself; one that has ended is left alone."""
        if self.running:
            self._popen.send_signal(signum)

    def kill(self) -> None:
        """SIGKILL the whole group."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return

    def wait(self, seconds: float) -> bool:
        """True as soon as it has ended, False when `seconds` have passed first."""
        return wait_until(lambda: not self.running, seconds)


def wait_until(done: Callable[[], bool], seconds: float) -> bool:
    """Poll `done` until it is true (True) or `seconds` have passed (False)."""
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def stop_all(stops: Sequence[tuple[ChildProcess, Sequence[tuple[signal.Signals, float]]]]) -> None:
    """Stop children side by side, each by its own ladder of (signal, seconds to wait) with SIGKILL at its end."""
    deadlines: dict[ChildProcess, float] = {}
    ladders = {child: list(ladder) for child, ladder in stops}
    while ladders:
        for child in list(ladders):
            if not child.running:
                del ladders[child]
            elif time.monotonic() >= deadlines.get(child, 0.0):
                if not ladders[child]:
                    child.kill()
                    child.wait(1.0)
                    del ladders[child]
                    continue
                signum, seconds = ladders[child].pop(0)
                child.send(signum)
                deadlines[child] = time.monotonic() + seconds
        if ladders:
            time.sleep(POLL_SECONDS)
