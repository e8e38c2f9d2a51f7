"""What the supervisor says: one calm line per step, the rest in log files."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TextIO

TITLE_WIDTH = 44


class Terminal:
    """Lines for the person at the terminal. A terminal that has gone away is no reason to stop."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._in_step = False

    def say(self, text: str = "") -> None:
        """One line, or several."""
        if self._in_step:
            self._write("\n")
            self._in_step = False
        self._write(f"{text}\n")

    def note(self, text: str) -> None:
        """One line with the local time before it, for what happens while the console runs."""
        self.say(f"{datetime.now().astimezone():%H:%M:%S}  {text}")

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Name a step when it begins, and its seconds when it has succeeded."""
        started = time.monotonic()
        self._write(f"  {title:<{TITLE_WIDTH}}")
        self._in_step = True
        try:
            yield
        except BaseException:
            if self._in_step:
                self._write("\n")
            self._in_step = False
            raise
        seconds = f"{time.monotonic() - started:6.1f} s"
        self._write(f"{seconds}\n" if self._in_step else f"  {title:<{TITLE_WIDTH}}{seconds}\n")
        self._in_step = False

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            return
