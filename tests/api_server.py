"""A few addresses of an API server behind real TLS on loopback, for tests of what talks to one."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from clusters.backends.kueue_volcano.addresses import AllowList
from clusters.backends.kueue_volcano.credentials import Account
from tests.certificates import Pair, authority, issue, kubeconfig_file

TOKENS = {
    Account.RUNTIME: "runtime-token-0123456789",
    Account.QUOTA: "quota-token-0123456789",
    Account.NODE: "node-token-0123456789",
}
USERS = {token: f"system:serviceaccount:sluice-system:sluice-{account}" for account, token in TOKENS.items()}
KUEUE = ("workloads", "clusterqueues", "localqueues", "topologies")
PARTS = {"kueue.x-k8s.io/v1beta2": KUEUE, "scheduling.volcano.sh/v1beta1": ("podgroups",)}


@dataclass
class ApiServer:
    """Knows some tokens and client certificates of its authority; remembers what it was asked."""

    port: int
    ca: Pair
    users: dict[str, str] = field(default_factory=dict)  # token → user
    parts: dict[str, tuple[str, ...]] = field(default_factory=lambda: dict(PARTS))  # resources by group and version
    answers: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)  # path → instead of its own
    asked: list[tuple[str, str, str]] = field(default_factory=list)  # method, path, Host

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def answer(self, handler: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        path = handler.path.split("?")[0]
        self.asked.append((handler.command, path, handler.headers["Host"]))
        if path in self.answers:
            return self.answers[path]
        user = self._user(handler)
        if user is None:
            return self._json(401, {"kind": "Status", "reason": "Unauthorized", "message": "Unauthorized"})
        if path == "/version":
            return self._json(200, {"gitVersion": "v1.34.2"})
        if (served := self.parts.get(path.removeprefix("/apis/"))) is not None:
            return self._json(200, {"kind": "APIResourceList", "resources": [{"name": name} for name in served]})
        if path == "/apis/authentication.k8s.io/v1/selfsubjectreviews":
            return self._json(201, {"kind": "SelfSubjectReview", "status": {"userInfo": {"username": user}}})
        return self._json(404, {"kind": "Status", "reason": "NotFound", "message": "not here"})

    def _user(self, handler: BaseHTTPRequestHandler) -> str | None:
        connection: Any = handler.connection
        if certificate := connection.getpeercert():
            return next(value for part in certificate["subject"] for key, value in part if key == "commonName")
        return self.users.get(handler.headers.get("Authorization", "").removeprefix("Bearer "))

    @staticmethod
    def _json(status: int, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        return status, {"Content-Type": "application/json"}, json.dumps(body).encode()


@contextmanager
def api_server(folder: Path, *, hosts: tuple[str, ...] = ("127.0.0.1",), **known: Any) -> Iterator[ApiServer]:
    """An API server whose certificate names ``hosts``; ``folder`` takes its files."""
    ca = known.pop("ca", None) or authority()
    served = issue("kube-apiserver", by=ca, hosts=hosts)
    (folder / "ca.pem").write_text(ca.certificate)
    (folder / "server.pem").write_text(served.certificate + served.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    context.load_verify_locations(folder / "ca.pem")
    context.verify_mode = ssl.CERT_OPTIONAL

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _respond(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, headers, body = server.answer(self)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _respond

        def log_message(self, *_arguments: Any) -> None:
            """Quiet."""

    class Listener(ThreadingHTTPServer):
        def get_request(self) -> Any:
            plain, address = super().get_request()
            plain.settimeout(5)
            return context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False), address

        def handle_error(self, *_arguments: Any) -> None:
            """A client that does not like the certificate hangs up."""

    with Listener(("127.0.0.1", 0), Handler) as listener:
        server = ApiServer(listener.server_port, ca, **known)
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            listener.shutdown()
            thread.join()


@pytest.fixture
def server(tmp_path: Path, settings: Any) -> Iterator[ApiServer]:
    """An API server that knows the three accounts, and whose address the console may use."""
    settings.SLUICE = settings.SLUICE | {"CLUSTER_ADDRESSES": AllowList.parse("127.0.0.1,localhost")}
    with api_server(tmp_path, users=dict(USERS)) as server:
        yield server


def kubeconfig_of(server: ApiServer, account: Account = Account.RUNTIME, **user: Any) -> bytes:
    """The kubeconfig of one of the three accounts, or of another ``user``."""
    return kubeconfig_file(server=server.url, ca=server.ca, **(user or {"token": TOKENS[account]}))
