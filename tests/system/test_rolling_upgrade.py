"""The schema is new, the worker is not yet: processes of the previous version carry jobs that the new web has taken."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from console.embedded.children import ROOT, console_commands
from console.embedded.process import ChildProcess, stop_all, wait_until
from tests.system.console import environment, free_port

PREVIOUS = tomllib.loads((Path(__file__).with_name("previous_version.toml")).read_text())
DATABASE = "rolling_upgrade"
BROKER = "7"  # a number of its own on the tests' broker
KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
PERSON = "eng-vision-1"
JOB_SECONDS = 90.0
JOB = {"framework": "command", "image": "busybox:1", "cards": 1, "priority": "normal", "command": "sleep 1; exit 0"}


def has_previous_version() -> bool:
    found = subprocess.run(["git", "cat-file", "-e", f"{PREVIOUS['commit']}^{{commit}}"], cwd=ROOT, capture_output=True)
    return found.returncode == 0


pytestmark = pytest.mark.skipif(
    not has_previous_version(), reason="the previous version is not in the history of this clone"
)


class Version:
    """The code of one version, on the database and broker of this test."""

    def __init__(self, root: Path, logs: Path) -> None:
        self.root = root
        self._logs = logs
        self._port = free_port()
        self.state = logs / "state"
        self.state.mkdir(exist_ok=True)

    @property
    def _environment(self) -> dict[str, str]:
        database = urlunsplit(urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{DATABASE}"))
        return environment(
            self.state, self._port, DATABASE_URL=database,
            REDIS_URL=os.environ["REDIS_URL"].replace("db=0", f"db={BROKER}"),
            SLUICE_SECRET_KEY="tests-only-" + "0123456789" * 5, SLUICE_FERNET_KEYS=KEY, SLUICE_DEMO="0",
            DJANGO_SETTINGS_MODULE="console.settings.base", PYTHONPATH=f"{self.root}:{self.root / 'platform'}",
        )  # fmt: skip

    def manage(self, *arguments: str, demo: str = "0") -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=self.root,
            env=self._environment | {"SLUICE_DEMO": demo},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    @contextmanager
    def running(self, *names: str) -> Iterator[None]:
        """Its processes of these names, until the block ends."""
        commands = {each.name: each for each in console_commands(f"127.0.0.1:{self._port}", self.state)}
        children = [self._start(name, commands[name].argv) for name in names]
        try:
            yield
        finally:
            stop_all([(child, ((signal.SIGTERM, 10.0),)) for child in children])

    def _start(self, name: str, argv: tuple[str, ...]) -> ChildProcess:
        with self.log(name).open("ab") as log:
            words = [word.replace(str(ROOT), str(self.root)) if word.endswith("manage.py") else word for word in argv]
            return ChildProcess(words, env=self._environment, death_signal=signal.SIGKILL, output=log, cwd=self.root)

    def log(self, name: str) -> Path:
        return self._logs / f"{self.root.name}-{name}.log"

    def request(self, method: str, path: str, token: str, body: object = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=20)
        headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"}
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException):
            return 0, None
        finally:
            connection.close()

    def is_ready(self) -> bool:
        return self.request("GET", "/readyz", "")[0] == 200


@pytest.fixture
def old(tmp_path: Path) -> Version:
    """The previous version's tree."""
    packed = subprocess.run(["git", "archive", PREVIOUS["commit"]], cwd=ROOT, capture_output=True, check=True).stdout
    (tmp_path / "old").mkdir()
    subprocess.run(["tar", "--extract", "--directory", tmp_path / "old"], input=packed, check=True)
    return Version(tmp_path / "old", tmp_path)


@pytest.fixture
def new(tmp_path: Path) -> Version:
    return Version(ROOT, tmp_path)


@pytest.fixture
def database() -> Iterator[None]:
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
        connection.execute(f"CREATE DATABASE {DATABASE}")
        yield
        connection.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)")


def test_what_is_recorded_of_the_previous_version_is_what_it_has(old: Version) -> None:
    found = {
        app: (old.root / app / "migrations/max_migration.txt").read_text().strip() for app in PREVIOUS["migrations"]
    }
    assert found == PREVIOUS["migrations"]


@pytest.mark.usefixtures("database")
def test_old_processes_on_the_new_schema_carry_jobs_to_their_end(old: Version, new: Version) -> None:
    old.manage("migrate", "--noinput")
    old.manage("instance_setup", demo="1")
    token = old.manage("token_create", PERSON).splitlines()[-1]
    with old.running("web", "worker", "beat", "watcher"):
        assert wait_until(old.is_ready, 60), old.log("web").read_text()
        before = _submitted(old, token)
        new.manage("migrate", "--noinput")  # step 1: the schema, while everything old runs
        between = _submitted(old, token)
        with new.running("web"):  # step 2: the new web beside the old worker
            assert wait_until(new.is_ready, 60), new.log("web").read_text()
            after = [_submitted(new, token) for _ in range(2)]
            jobs = [before, between, *after]
            ended = wait_until(lambda: _states(new, token, jobs) == {"succeeded"}, JOB_SECONDS)
            assert ended, f"{_states(new, token, jobs)}\n{old.log('worker').read_text()[-3000:]}"
            assert new.request("POST", f"/api/v1/jobs/{after[0]}/restart", token)[0] in (200, 202)
            again = wait_until(lambda: _states(new, token, after[:1]) == {"succeeded"}, JOB_SECONDS)
            assert again, _states(new, token, after)
    for name in ("web", "worker", "beat", "watcher"):
        assert "Traceback" not in old.log(name).read_text(), old.log(name).read_text()[-3000:]


def _submitted(version: Version, token: str) -> str:
    status, answer = version.request("POST", "/api/v1/jobs", token, JOB)
    assert status == 201, answer
    return str(answer["id"])


def _states(version: Version, token: str, jobs: list[str]) -> set[str]:
    return {version.request("GET", f"/api/v1/jobs/{job}", token)[1]["state"] for job in jobs}
