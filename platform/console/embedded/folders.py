"""Folders of a server that runs as another user."""

from __future__ import annotations

import os
from pathlib import Path

from console.embedded.osuser import ServiceUser


class ServerFolder:
    """A folder that belongs to a server, and the name by which the server reaches it.

    Started by root, a server runs as a user who may not enter the private folders above its own. Rather than open those
    for it, we hand the server an open descriptor of its folder, and it goes through /proc/self/fd.
    """

    def __init__(self, path: Path, user: ServiceUser) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) if user.drops else None

    @property
    def name_for_server(self) -> str:
        return str(self.path) if self._fd is None else f"/proc/self/fd/{self._fd}"

    @property
    def pass_fds(self) -> tuple[int, ...]:
        """What the server's process must inherit."""
        return () if self._fd is None else (self._fd,)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
