"""Free ports for servers that cannot choose their own."""

from __future__ import annotations

import json
import random
import socket
from collections.abc import Sequence
from pathlib import Path

# Below the range from which the kernel takes the ports of outgoing connections: a server that is away for a minute must
# find its port free when it comes back.
FIRST, LAST = 20_000, 32_000


def free_ports(names: Sequence[str]) -> dict[str, int]:
    """A free port of 127.0.0.1 for each name."""
    chosen: dict[str, int] = {}
    while len(chosen) < len(names):
        port = random.SystemRandom().randint(FIRST, LAST)
        if port not in chosen.values() and is_free(port):
            chosen[names[len(chosen)]] = port
    return chosen


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
