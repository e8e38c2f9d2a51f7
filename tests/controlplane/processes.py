"""The programs of one control plane as processes: start, stop for a while, start again, end."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from console.embedded.process import ChildProcess, stop_all, wait_until

LAST_WORDS = 3_000
"""Characters of a log that a failure quotes."""
STOP_LADDER = ((signal.SIGTERM, 3.0),)


class PlaneError(RuntimeError):
    """The control plane does not do what it is told; the message says which part, and why."""


@dataclass(frozen=True)
class Command:
    """How one program is started; ``is_ready`` is asked until it says yes."""

    argv: Sequence[str | Path]
    is_ready: Callable[[], bool] = lambda: True
    env: Mapping[str, str] = field(default_factory=dict)


class Processes:
    """Children by name, each with a log in ``folder``. Use it from the main thread only (see ChildProcess)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._commands: dict[str, Command] = {}
        self._children: dict[str, ChildProcess] = {}

    def log_file(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def start(self, name: str, command: Command | None = None) -> None:
        """Start a program, by the command it was started with before unless one is given; do not wait for it."""
        if command is not None:
            self._commands[name] = command
        command = self._commands[name]
        with self.log_file(name).open("ab") as log:
            self._children[name] = ChildProcess(
                [str(word) for word in command.argv],
                env={**os.environ, **command.env},
                death_signal=signal.SIGKILL,
                output=log,
            )

    def wait_ready(self, name: str, seconds: float) -> None:
        """:raises PlaneError: when the program ends or is not ready after ``seconds``; its last words are quoted."""
        child, command = self._children[name], self._commands[name]
        deadline = time.monotonic() + seconds
        while not command.is_ready():
            if not child.running:
                raise PlaneError(f"{name} ended with {child.exit_code}: {self.last_words(name)}")
            if time.monotonic() >= deadline:
                raise PlaneError(f"{name} was not ready after {seconds:.0f} s: {self.last_words(name)}")
            time.sleep(0.1)

    def kill(self, name: str) -> None:
        """End a program at once, as a crash of its machine does."""
        self._children[name].kill()
        if not self._children[name].wait(10.0):
            raise PlaneError(f"{name} could not be ended")

    def freeze(self, name: str) -> None:
        """The program keeps its connections and answers nothing, until :meth:`thaw`."""
        self._children[name].send(signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        self._children[name].send(signal.SIGCONT)

    def running(self, name: str) -> bool:
        return name in self._children and self._children[name].running

    def known(self) -> Iterable[str]:
        """Every program that was started once, in that order."""
        return tuple(self._commands)

    def last_words(self, name: str) -> str:
        return self.log_file(name).read_text(errors="replace")[-LAST_WORDS:]

    def stop(self, *, at_once: bool) -> None:
        """End everything, the newest first; ``at_once`` where nobody needs what they hold."""
        names = [name for name in reversed(self.known()) if self.running(name)]
        for name in names:
            self.thaw(name)
        if at_once:
            for name in names:
                self._children[name].kill()
            wait_until(lambda: not any(map(self.running, names)), 10.0)
        else:
            for name in names:  # one after the other: the store goes last
                stop_all([(self._children[name], STOP_LADDER)])
        self._children.clear()
