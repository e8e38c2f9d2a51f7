"""The console's own processes as the supervisor starts them, on given servers."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil

from console.embedded.children import Command, console_commands, console_environment
from console.embedded.process import ChildProcess, stop_all
from console.embedded.state import Instance
from console.embedded.supervisor import APP_STOP_LADDER
from tests.benchmarks.database import Servers
from tests.controlplane.ports import free_ports

ROOT = Path(__file__).resolve().parents[2]
SECRET_KEY = "benchmarks-only-" + "0123456789abcdef" * 4
FERNET_KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
APPLICATION = "console.wsgi:application"
EVERY_PROCESS = ("web", "worker", "beat", "watcher")
READY_SECONDS = 60.0
POLL_SECONDS = 0.02


def environment(servers: Servers) -> dict[str, str]:
    """Of every process of the console that works on these servers."""
    instance = Instance(
        version="0",
        database_url=servers.database_url,
        redis_url=servers.redis_url,
        secret_key=SECRET_KEY,
        fernet_keys=FERNET_KEY,
        base_url="http://127.0.0.1/",
        demo=False,
        pid=os.getpid(),
    )
    return console_environment(instance, servers.folder) | {"SLUICE_CLUSTER_ADDRESSES": "127.0.0.0/8"}


def told_by(module: str, *arguments: str, servers: Servers, **more: str) -> Any:
    """What a module of this folder prints as JSON, run in a process of its own on these servers."""
    command = [sys.executable, "-m", f"tests.benchmarks.{module}", *arguments]
    env = environment(servers) | more
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{module}: {done.stderr[-3000:]}")
    return json.loads(done.stdout)


@dataclass
class Stack:
    """Processes that run; ``port`` is that of the web server."""

    port: int
    servers: Servers
    commands: Mapping[str, Command]
    children: dict[str, ChildProcess] = field(default_factory=dict)

    def start(self, name: str) -> None:
        command = self.commands[name]
        log = os.open(self.servers.folder / f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self.children[name] = ChildProcess(
                command.argv, env=environment(self.servers), death_signal=command.death_signal, output=log, cwd=ROOT
            )
        finally:
            os.close(log)

    def until_ready(self) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while not self.answers():
            if time.monotonic() > deadline or not self.children["web"].running:
                raise RuntimeError((self.servers.folder / "web.log").read_text()[-2000:])
            time.sleep(POLL_SECONDS)

    def answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False

    def cpu_seconds(self, name: str) -> float:
        """Of one process with its children."""
        return sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in _family(self.children[name].pid))

    def pss_bytes(self) -> dict[str, int]:
        """Memory by process, with its children: pages that several share are divided among them."""
        named = {name: child.pid for name, child in self.children.items()}
        named |= dict(zip(("postgresql", "valkey"), self.servers.pids, strict=True))
        return {name: sum(map(_pss, _family(pid))) for name, pid in named.items()}


@contextmanager
def running(
    servers: Servers, names: Sequence[str] = EVERY_PROCESS, *, application: str = APPLICATION
) -> Iterator[Stack]:
    """These processes, once the web server answers; ``application``: another one for the same web server."""
    port = free_ports(["web"])["web"]
    commands = {each.name: each for each in console_commands(f"127.0.0.1:{port}", servers.folder)}
    argv = tuple(application if part == APPLICATION else part for part in commands["web"].argv)
    commands["web"] = replace(commands["web"], argv=argv)
    stack = Stack(port, servers, commands)
    try:
        for name in names:
            stack.start(name)
        stack.until_ready()
        yield stack
    finally:
        stop_all([(child, APP_STOP_LADDER) for child in stack.children.values()])


def _family(pid: int) -> list[int]:
    process = psutil.Process(pid)
    return [pid, *(child.pid for child in process.children(recursive=True))]


def _pss(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0
