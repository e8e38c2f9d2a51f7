"""Free ports for servers that cannot choose their own."""

from __future__ import annotations

import fcntl
import json
import os
import random
import socket
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

# Below the range from which the kernel takes the ports of outgoing connections: a server that is away for a minute must
# find its port free when it comes back.
FIRST, LAST = 20_000, 32_000
PARTS = 8


def free_ports(names: Sequence[str]) -> dict[str, int]:
    """A free port of 127.0.0.1 for each name, which no other process on this machine is given meanwhile."""
    chosen: dict[str, int] = {}
    while len(chosen) < len(names):
        port = random.SystemRandom().choice(_own_part())
        if port not in chosen.values() and is_free(port):
            chosen[names[len(chosen)]] = port
    return chosen


@cache
def _own_part() -> range:
    """The part of the range that is this process's while it lives: a port is free, too, while its server is away.

    All of it where more processes than parts ask.
    """
    size = (LAST - FIRST) // PARTS
    for number in range(PARTS):
        try:
            lock = os.open(Path(tempfile.gettempdir(), f"sluice-ports-{number}.lock"), os.O_CREAT | os.O_RDWR, 0o600)
        except OSError:  # another user's
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        return range(FIRST + number * size, FIRST + (number + 1) * size)
    return range(FIRST, LAST)


def kept_ports(file: Path, names: Sequence[str]) -> dict[str, int]:
    """The ports that ``file`` holds from an earlier start if all are free, else new ones, written there."""
    if file.exists():
        ports = json.loads(file.read_text())
        if set(ports) == set(names) and all(map(is_free, ports.values())):
            return ports
    ports = free_ports(names)
    file.write_text(json.dumps(ports))
    return ports


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
