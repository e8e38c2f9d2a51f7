"""What docker-compose.yml and the Dockerfile say, carried out against a real PostgreSQL and a real Valkey over TCP."""

from __future__ import annotations

import http.client
import json
import re
import signal
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console.embedded.process import ChildProcess, stop_all, wait_until
from tests.system.containers import SERVERS, Stack, compose

CONSOLE = ("web", "worker", "beat", "watcher")
HOST = "sluice.example.org"
SIGN_IN = "/sign-in/"
READY_SECONDS = 60.0
JOB_SECONDS = 60.0
JOB = {"framework": "command", "image": "busybox:1", "cards": 1, "priority": "normal", "command": "sleep 1; exit 0"}
A_TEAM = """
from accounts.models import Role
from accounts.services import membership_set, person_create, team_create
from clusters.models import Cluster
from quotas.services import quotas_apply, shares_set, team_queue_create
cluster, team = Cluster.objects.get(), team_create(actor=None, name="Vision")
person = person_create(actor=None, username="ada", password="a long pass phrase")
membership_set(actor=None, user=person, team=team, role=Role.ENGINEER)
queue = team_queue_create(actor=None, team=team, cluster=cluster)
for group in cluster.groups.all():
    shares_set(actor=None, group=group, basis_points={queue.pk: 10_000})
quotas_apply(cluster)
"""


class Running:
    """The whole stack, as `docker compose up` would have it."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.children: dict[str, ChildProcess] = {}

    def request(
        self, method: str, path: str, *, token: str = "", body: object = None, host: str = HOST, proxied: bool = True
    ) -> tuple[int, dict[str, str], bytes]:
        headers = {"Host": host} | ({"Content-Type": "application/json"} if body is not None else {})
        headers |= {"X-Forwarded-Proto": "https", "X-Forwarded-For": "198.51.100.7"} if proxied else {}
        headers |= {"Authorization": f"Token {token}"} if token else {}
        connection = http.client.HTTPConnection("127.0.0.1", self.stack.ports["web"], timeout=20)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def logs(self) -> str:
        return "".join(f"\n--- {name}\n{self.stack.log(name).read_text()[-3000:]}" for name in self.children)


@pytest.fixture(scope="module")
def console() -> Iterator[Running]:
    with tempfile.TemporaryDirectory(prefix="sluice-containers-") as name:
        stack = Stack.new(Path(name))
        running = Running(stack)
        given, words = stack.image.collect
        done = stack.run(words, {**stack.environment("web"), **given, "DATABASE_URL": "postgresql://unused"})
        assert done.returncode == 0, done.stderr
        files = stack.image.files()
        with stack.servers():
            setup = stack.run(stack.words("setup"), stack.environment("setup"))
            assert setup.returncode == 0, setup.stderr
            running.children = {each: stack.start(each) for each in CONSOLE}
            try:
                assert wait_until(stack.is_healthy, READY_SECONDS), running.logs()
                yield running
            finally:
                stops = {name: ((signal.SIGTERM, stack.stop_seconds(name)),) for name in CONSOLE}
                stop_all([(child, stops[name]) for name, child in running.children.items()])
        ends = {name: child.exit_code for name, child in running.children.items()}
        assert set(ends.values()) <= {0, -signal.SIGTERM}, f"not all ended by themselves in time: {ends}"
        assert stack.image.files() == files, "the application's folder must not be written to"


def test_every_service_of_the_console_may_write_nowhere_but_in_its_state() -> None:
    for name in (*CONSOLE, "setup"):
        service = compose()[name]
        assert service["read_only"] is True, name
        assert (service["tmpfs"], service["volumes"]) == (["/tmp"], ["state:/var/lib/sluice"]), name
        assert (service["cap_drop"], service["security_opt"]) == (["ALL"], ["no-new-privileges:true"]), name


def test_every_service_is_one_that_is_started_here() -> None:
    assert set(compose()) == {*CONSOLE, *SERVERS, "setup"}


def test_the_set_up_leaves_an_admin_whose_password_only_the_owner_reads(console: Running) -> None:
    sign_in = console.stack.state / "sign-in.txt"
    assert re.search(r"^admin +\S{12,} ", sign_in.read_text(), re.MULTILINE)
    assert stat.S_IMODE(sign_in.stat().st_mode) == 0o600


def test_behind_the_proxy_the_sign_in_page_comes_with_its_static_files(console: Running) -> None:
    status, headers, page = console.request("GET", SIGN_IN)
    assert status == 200
    assert "max-age=31536000" in headers["Strict-Transport-Security"]
    found = re.findall(rb'(?:href|src)="(/static/[^"#]+)', page)
    assert found, page
    for path in found:
        assert re.search(rb"\.[0-9a-f]{12}\.", path), f"{path!r} has no hash of its content"
        assert console.request("GET", path.decode())[0] == 200


def test_without_tls_before_it_the_console_sends_people_to_https(console: Running) -> None:
    status, headers, _ = console.request("GET", SIGN_IN, proxied=False)
    assert (status, headers["Location"]) == (301, f"https://{HOST}{SIGN_IN}")


def test_a_name_that_is_not_allowed_is_not_answered(console: Running) -> None:
    assert console.request("GET", SIGN_IN, host="evil.example")[0] == 400


def test_a_job_is_carried_to_its_end(console: Running) -> None:
    console.stack.manage("shell", "--no-imports", "-c", A_TEAM)
    token = console.stack.manage("token_create", "ada").splitlines()[-1]
    status, _, answer = console.request("POST", "/api/v1/jobs", token=token, body=JOB)
    assert status == 201, answer
    job = json.loads(answer)["id"]

    def now() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(console.request("GET", f"/api/v1/jobs/{job}", token=token)[2])
        return found

    assert wait_until(lambda: now()["state"] == "succeeded", JOB_SECONDS), f"{now()}{console.logs()}"


def test_a_backup_comes_out_of_the_running_installation(console: Running) -> None:
    done = console.stack.run(
        ["python", "manage.py", "backup", str(console.stack.folder / "console.backup")],
        console.stack.environment("web"),
    )
    assert done.returncode == 0, done.stderr
    assert (console.stack.folder / "console.backup").stat().st_size > 50_000


def test_all_of_them_run_and_none_complains(console: Running) -> None:
    for name, child in console.children.items():
        assert child.running, f"{name} ended with {child.exit_code}: {console.stack.log(name).read_text()}"
        if name != "web":  # it tells of names that are not allowed in this way
            assert "Traceback" not in console.stack.log(name).read_text(), console.logs()
