"""B16: from nothing but the repository and cached packages to a page of jobs of a sandbox that moves."""

from __future__ import annotations

import http.cookiejar
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psycopg

from tests.benchmarks.measure import Row, Spread
from tests.benchmarks.stack import ROOT
from tests.controlplane.ports import free_ports

ROUNDS = 3
GOAL = 15.0
PATIENCE_SECONDS = 300.0
POLL_SECONDS = 0.1
STOP_SECONDS = 20.0
FOREIGN = ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE", "PYTHONPATH", "SLUICE_", "MAKE", "VIRTUAL_ENV")


def rows() -> Iterator[Row]:
    taken = [_start() for _ in range(ROUNDS + 1)][1:]  # the first fills the cache of packages
    spread = Spread(tuple(taken))
    what = "git clone and `make run` with cached packages, until a person reads jobs in a browser and the sandbox moves"
    goal = f"<= {GOAL:.0f} s"
    yield Row("B16", what, f"{spread:.1f} s", "", "", goal, spread.median <= GOAL, gauge=spread.median)


def _start() -> float:
    folder = Path(tempfile.mkdtemp(prefix="sluice-bench-zero-"))
    port = free_ports(["web"])["web"]
    state = folder / "state"
    clean = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    env = clean | {"SLUICE_STATE_DIR": str(state), "PORT": str(port)}
    begun = time.perf_counter()
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder / "sluice")], check=True)
    with (folder / "log").open("wb") as log:
        command = ["make", "--no-print-directory", "run"]
        started = subprocess.Popen(command, cwd=folder / "sluice", env=env, stdout=log, stderr=log)
    try:
        _until_a_person_reads_jobs(port, state)
        _until_it_moves(state)
        return time.perf_counter() - begun
    except AssertionError as error:
        raise AssertionError((folder / "log").read_text()[-2000:]) from error
    finally:
        started.send_signal(signal.SIGTERM)
        started.wait(STOP_SECONDS)
        shutil.rmtree(folder, ignore_errors=True)


def _until_a_person_reads_jobs(port: int, state: Path) -> None:
    """Sign in by the form, as the first engineer who is named, and see rows of jobs."""
    base = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not _answers(f"{base}/readyz"):
        assert time.monotonic() < deadline, "not ready"
        time.sleep(POLL_SECONDS)
    line = next(line for line in (state / "sign-in.txt").read_text().splitlines() if "engineer" in line)
    username, password = line.split()[:2]
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
    sign_in = browser.open(f"{base}/jobs/")  # leads to the form
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', sign_in.read().decode())
    assert token is not None
    fields = {"csrfmiddlewaretoken": token[1], "login": username, "password": password}
    browser.open(sign_in.geturl(), urllib.parse.urlencode(fields).encode())
    page = browser.open(f"{base}/jobs/").read().decode()
    assert len(re.findall(r'href="/jobs/[0-9A-Z]{26}/"', page)) > 1, page[:500]


def _answers(url: str) -> bool:
    try:
        return urllib.request.urlopen(url, timeout=2).status == 200
    except (OSError, urllib.error.URLError):
        return False


def _until_it_moves(state: Path) -> None:
    """The sandbox's own time goes on."""
    url = json.loads((state / "instance.json").read_text())["database_url"]
    deadline = time.monotonic() + PATIENCE_SECONDS
    with psycopg.connect(url, autocommit=True) as database:

        def now() -> int:
            row = database.execute("SELECT now_ms FROM clusters_sandboxworld").fetchone()
            assert row is not None
            return int(row[0])

        first = now()
        while now() == first:
            assert time.monotonic() < deadline, "the sandbox stands still"
            time.sleep(POLL_SECONDS)
