"""Starts the product as a person does, in a state folder and on a port of its own, and watches its processes."""

from __future__ import annotations

import fcntl
import http.client
import json
import os
import pty
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from console.embedded.children import ROOT
from console.embedded.process import wait_until

READY_SECONDS = 90.0
PORTS = (10_000, 32_000)
CHILDREN = ("postgres", "valkey", "web", "worker", "beat", "watcher")
_MARKS = {
    "postgres": "bin/postgres",
    "valkey": "valkey-server",
    "web": "gunicorn",
    "worker": "--app console worker",
    "beat": "--app console beat",
    "watcher": "manage.py watch",
}
# What belongs to the tests or to whoever runs them, and must not reach the product.
_FOREIGN = ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE", "PYTHONPATH", "SLUICE_", "PYTEST_", "PORT", "MAKE")
SUPERVISOR = (sys.executable, "-m", "console.embedded")
MAKE_RUN = ("make", "--no-print-directory", "run")


def free_port() -> int:
    """A port that nobody uses at this moment, and that the kernel gives to no outgoing connection either."""
    while True:
        port = random.SystemRandom().randrange(*PORTS)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@contextmanager
def state_folder() -> Iterator[Path]:
    """A new folder that only we may enter."""
    folder = Path(tempfile.mkdtemp(prefix="sluice-system-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def copy_state(source: Path, target: Path) -> None:
    """Copy the content of a state folder that is not in use, owners included."""
    subprocess.run(["cp", "--archive", f"{source}/.", str(target)], check=True)


def environment(state: Path, port: int, **extra: str) -> dict[str, str]:
    """The environment of a person's shell, with the place and port of this start."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    return clean | {"SLUICE_STATE_DIR": str(state), "PORT": str(port), "SLUICE_DEMO": "0"} | extra


class Console:
    """One start of the product on a terminal of its own."""

    def __init__(
        self,
        state: Path,
        port: int,
        *,
        argv: tuple[str, ...] = SUPERVISOR,
        root: Path = ROOT,
        user: pwd.struct_passwd | None = None,
        **extra: str,
    ) -> None:
        self.state = state
        self.port = port
        self.started_at = time.monotonic()
        self._output = b""
        self._terminal, side = pty.openpty()
        try:
            self.process = subprocess.Popen(
                argv,
                cwd=root,
                env=environment(state, port, **extra),
                **({"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}),
                stdin=side,
                stdout=side,
                stderr=side,
                preexec_fn=_take_terminal,  # so that Ctrl-C means what it means to a person
            )
        finally:
            os.close(side)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._terminal, 4096)
            except OSError:  # the last process on the terminal has ended
                return
            if not data:
                return
            self._output += data

    @property
    def output(self) -> str:
        return self._output.decode(errors="replace").replace("\r\n", "\n")

    def wait_for(self, text: str, seconds: float = READY_SECONDS) -> float:
        """Seconds since the start when `text` has appeared."""
        found = wait_until(lambda: text in self.output or self.process.poll() is not None, seconds)
        assert found, f"no {text!r} within {seconds} s:\n{self.output}"
        assert text in self.output, f"ended without {text!r}:\n{self.output}{self.logs()}"
        return time.monotonic() - self.started_at

    def logs(self) -> str:
        """The end of every log, for the message of a test that failed."""
        return "".join(f"\n--- {path.name}\n{path.read_text()[-2000:]}" for path in self.state.glob("logs/*.log"))

    def press_ctrl_c(self) -> None:
        os.write(self._terminal, b"\x03")

    def exit_code(self, seconds: float = 15.0) -> int:
        """The exit code, once it has ended by itself."""
        code = self.process.wait(seconds)
        self._reader.join(seconds)
        return code

    def close(self) -> None:
        """Stop it however it stands."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(20)
        self._reader.join(5)
        os.close(self._terminal)

    # --- processes ------------------------------------------------------------
    @property
    def supervisor(self) -> psutil.Process:
        return psutil.Process(self.instance["pid"])

    @property
    def instance(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads((self.state / "instance.json").read_text())
        return data

    def child(self, name: str) -> psutil.Process | None:
        """The supervisor's child of that name, None while it is not there."""
        for process in self.supervisor.children():
            try:
                if process.status() != psutil.STATUS_ZOMBIE and _MARKS[name] in " ".join(process.cmdline()):
                    return process
            except psutil.NoSuchProcess:
                continue
        return None

    def family(self) -> list[psutil.Process]:
        """The supervisor and everything below it."""
        return [self.supervisor, *self.supervisor.children(recursive=True)]

    def nothing_left(self) -> bool:
        """Whether the supervisor and all that descends from it have ended: they hold these locks while they live."""
        return lock_is_free(self.state / "children.lock") and lock_is_free(self.state / "supervisor.lock")

    # --- the product ----------------------------------------------------------
    def request(self, method: str, path: str, *, token: str = "", body: object = None) -> tuple[int, Any]:
        """Status and JSON of an answer; status 0 when nobody answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Token {token}"} if token else {})
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        except (OSError, http.client.HTTPException):
            return 0, None
        finally:
            connection.close()

    def is_ready(self) -> bool:
        return self.request("GET", "/readyz")[0] == 200

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """`manage.py` in another terminal, where only the state folder is known."""
        env = environment(self.state, self.port)
        return subprocess.run(
            [sys.executable, "manage.py", *arguments], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60
        )


def _take_terminal() -> None:
    """Become the leader of a session whose terminal is standard input."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def lock_is_free(path: Path) -> bool:
    try:
        with path.open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


@contextmanager
def running(state: Path, *, argv: tuple[str, ...] = SUPERVISOR, **options: Any) -> Iterator[Console]:
    """A console that is stopped in the end, and has left nothing behind."""
    console = Console(state, free_port(), argv=argv, **options)
    try:
        yield console
    finally:
        console.close()
        assert wait_until(console.nothing_left, 10), "processes outlive the console"


def seconds_until(done: Callable[[], bool], at_most: float) -> float:
    """The seconds that `done` took; fails when it took more than `at_most`."""
    started = time.monotonic()
    assert wait_until(done, at_most), f"not within {at_most} s"
    return time.monotonic() - started
