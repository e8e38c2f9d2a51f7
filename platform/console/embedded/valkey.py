"""The embedded Valkey: broker and cache as our child, reached only through a private unix socket with a password.

Its append-only file keeps what was queued over a kill; the truth lies in PostgreSQL all the same.
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote

from console.embedded.binaries import valkey_program
from console.embedded.folders import ServerFolder
from console.embedded.osuser import ServiceUser
from console.embedded.process import ChildProcess
from console.embedded.state import StateDir

LOG_NAME = "valkey"
SOCKET_NAME = "v.sock"
STOP_LADDER = ((signal.SIGTERM, 1.5),)
ANSWER_SECONDS = 2.0


class Valkey:
    """One server on the folder `valkey` of a state folder, with a password drawn anew for every start."""

    def __init__(
        self,
        state: StateDir,
        user: ServiceUser,
        sockets: Path,
        *,
        say: Callable[[str], None],
        throw_away: bool = False,
    ) -> None:
        self._user = user
        self._state = state
        self._throw_away = throw_away
        self._password = secrets.token_urlsafe(24)
        self._program = valkey_program(user, say)
        self._socket = sockets / SOCKET_NAME
        self._sockets = ServerFolder(sockets, user)
        self._data = ServerFolder(state.private_folder("valkey", user), user)

    @property
    def url(self) -> str:
        """The address for REDIS_URL."""
        return f"unix://:{self._password}@{quote(str(self._socket))}?db=0"

    def spawn(self, inherited: Sequence[int] = ()) -> ChildProcess:
        """Start the server in the foreground; it answers some moments later (`accepts_connections`)."""
        log = self._state.open_log(LOG_NAME)
        try:
            child = ChildProcess(
                [str(self._program), "-"],  # the settings come on standard input: the password is in no file or list
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"},
                death_signal=signal.SIGTERM,
                output=log,
                stdin=subprocess.PIPE,
                user=self._user,
                pass_fds=(*inherited, *self._data.pass_fds, *self._sockets.pass_fds),
            )
        finally:
            os.close(log)
        child.write_and_close_stdin(self._settings().encode())
        return child

    def _settings(self) -> str:
        settings = {
            "port": "0",
            "unixsocket": _quoted(f"{self._sockets.name_for_server}/{SOCKET_NAME}"),
            "unixsocketperm": "700",
            "dir": _quoted(self._data.name_for_server),
            "requirepass": self._password,
            "daemonize": "no",
            "appendonly": "no" if self._throw_away else "yes",
            "appendfsync": "everysec",
            "save": '""',
            "maxmemory-policy": "noeviction",
            "loglevel": "warning",
        }
        return "".join(f"{name} {value}\n" for name, value in settings.items())

    def accepts_connections(self) -> bool:
        """Whether the server answers a signed-in PING by now."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
                client.settimeout(ANSWER_SECONDS)
                client.connect(str(self._socket))
                client.sendall(f"AUTH {self._password}\r\nPING\r\n".encode())
                answer = b""
                while answer.count(b"\r\n") < 2:
                    received = client.recv(256)
                    if not received:
                        return False
                    answer += received
        except OSError:
            return False
        return answer == b"+OK\r\n+PONG\r\n"

    def close(self) -> None:
        """Let go of the folders, once the server has ended."""
        self._data.close()
        self._sockets.close()


def _quoted(value: str) -> str:
    """A value of the settings file that may hold blanks."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
