"""An API server that only repeats prepared bytes, in a process of its own: list pages, and watches at a given rate.

`python -m tests.benchmarks.api_server PORT FOLDER JOBS` with server.pem in FOLDER; ready when it answers `/readyz`.
What happens on a watch is asked for by `/bench/emit?count=…&rate=…` (0 = all at once, of running jobs in turn), and
`/bench/sent` tells the monotonic time at which each of these events was written, by number of its job.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.benchmarks import crowd

JSON = "Content-Type: application/json\r\n"
TICK_SECONDS = 0.005


class Server:
    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._running = crowd.running_jobs(jobs)
        self._pages = {kind.path(): crowd.pages_of(kind, jobs) for kind in crowd.KINDS}
        self._pods = crowd.PODS.path()
        self._watches: dict[str, set[asyncio.StreamWriter]] = {path: set() for path in self._pages}
        self._version = 2 * jobs
        self._told = self._version  # the newest that a watch was told; lists stay as they are, so they are as old
        self._next = 0
        self._sent: list[tuple[int, float]] = []
        self._log: list[tuple[int, bytes]] = []  # of pods: version, chunk
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._answer(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        finally:
            for watching in self._watches.values():
                watching.discard(writer)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        target = urlsplit(head.split(b" ", 2)[1].decode())
        asked = {name: values[0] for name, values in parse_qs(target.query).items()}
        if target.path in self._pages and "watch" in asked:
            return await self._watch(target.path, asked, reader, writer)
        writer.writelines(self._answered(target.path, asked))
        await writer.drain()
        return True

    def _answered(self, path: str, asked: dict[str, str]) -> list[bytes]:
        if path in self._pages:
            place = int(asked.get("continue", 0))
            pages = self._pages[path]
            body = pages[place // crowd.PAGE]
            more = str(place + crowd.PAGE) if place + crowd.PAGE < crowd.PAGE * len(pages) else ""
            head = f'{{"metadata":{{"resourceVersion":"{self._told}","continue":"{more}"}},"items":['.encode()
            return [self._head(len(head) + len(body) + 2), head, body, b"]}"]
        if path == "/bench/emit":
            self._start(int(asked["count"]), float(asked["rate"]))
            body = b"{}"
        elif path == "/bench/sent":
            body = json.dumps(self._sent).encode()
            self._sent = []
        elif path == "/readyz":
            body = b"{}"
        else:
            return [f"HTTP/1.1 404 Not Found\r\n{JSON}Content-Length: 2\r\n\r\n{{}}".encode()]
        return [self._head(len(body)), body]

    @staticmethod
    def _head(length: int) -> bytes:
        return f"HTTP/1.1 200 OK\r\n{JSON}Content-Length: {length}\r\n\r\n".encode()

    async def _watch(
        self, path: str, asked: dict[str, str], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """What has happened since the version asked for, then what happens, until the time asked for is over.

        True = the connection can be used again.
        """
        writer.write(f"HTTP/1.1 200 OK\r\n{JSON}Transfer-Encoding: chunked\r\n\r\n".encode())
        if path == self._pods:
            known = int(asked["resourceVersion"])
            writer.writelines(chunk for version, chunk in self._log if version > known)
            self._told = self._version
        self._watches[path].add(writer)
        await writer.drain()
        try:
            async with asyncio.timeout(float(asked["timeoutSeconds"])):
                await reader.read()  # until whoever watches hangs up
                return False
        except TimeoutError:
            self._watches[path].discard(writer)
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            return True

    def _start(self, count: int, rate: float) -> None:
        task = asyncio.get_running_loop().create_task(self._emit(count, rate))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _emit(self, count: int, rate: float) -> None:
        """Due events are written one by one; what became due while this slept is written at once."""
        lines = [self._event(self._version + place) for place in range(1, count + 1)]
        begun = time.monotonic()
        written = 0
        while written < count:
            due = count if rate == 0 else min(count, int((time.monotonic() - begun) * rate))
            for number, line in lines[written:due]:
                self._version += 1
                chunk = f"{len(line):x}\r\n".encode() + line + b"\r\n"
                self._log.append((self._version, chunk))
                self._sent.append((number, time.monotonic()))
                for writer in self._watches[self._pods]:
                    writer.write(chunk)
                    self._told = self._version
            written = max(written, due)
            await asyncio.gather(*(writer.drain() for writer in self._watches[self._pods]))
            await asyncio.sleep(TICK_SECONDS)

    def _event(self, version: int) -> tuple[int, bytes]:
        number = self._running[self._next % len(self._running)]
        self._next += 1
        return number, crowd.event(number, version)


async def main(port: int, folder: Path, jobs: int) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    server = await asyncio.start_server(Server(jobs).serve, "127.0.0.1", port, ssl=context)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
