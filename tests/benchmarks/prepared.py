"""The API server of prepared bytes as the benchmarks use it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from clusters.backends.kueue_volcano.client import KubeClient
from clusters.backends.kueue_volcano.credentials import Connection
from clusters.contract import Retryable
from tests.certificates import authority, issue
from tests.controlplane.ports import free_ports

TOKEN = "bench-token"
START_SECONDS = 60.0


@dataclass(frozen=True)
class Prepared:
    """The API server of prepared bytes. Its process is no part of what is measured."""

    port: int
    pid: int
    ca_file: Path

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def connection(self) -> Connection:
        return Connection("127.0.0.1", self.port, "127.0.0.1", authority().certificate, token=TOKEN)

    def client(self) -> KubeClient:
        return KubeClient(self.connection())

    def emit(self, count: int, rate: float) -> None:
        """Events on the watches of pods, so many a second; 0 = all at once."""
        self.client().get("/bench/emit", {"count": str(count), "rate": str(rate)})

    def sent(self) -> list[tuple[int, float]]:
        """(number of the job, monotonic time) of the events since this was last asked."""
        return msgspec.json.decode(self.client().get("/bench/sent"), type=list[tuple[int, float]])


@contextmanager
def prepared_server(jobs: int) -> Iterator[Prepared]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        served = issue("kube-apiserver", by=authority(), hosts=("127.0.0.1",))
        (folder / "server.pem").write_text(served.certificate + served.key)
        (folder / "ca.pem").write_text(authority().certificate)
        port = free_ports(["api"])["api"]
        command = [sys.executable, "-m", "tests.benchmarks.api_server", str(port), str(folder), str(jobs)]
        with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": ".:platform"}) as process:
            server = Prepared(port, process.pid, folder / "ca.pem")
            try:
                _wait_until_ready(server, process)
                yield server
            finally:
                process.kill()


def _wait_until_ready(server: Prepared, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            server.client().get("/readyz")
            return
        except Retryable:
            time.sleep(0.1)
    raise RuntimeError("The API server of prepared bytes did not start")
