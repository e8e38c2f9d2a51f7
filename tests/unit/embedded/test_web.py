from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from console.embedded.children import allowed_hosts
from console.embedded.errors import EmbeddedError
from console.embedded.web import WebAddress


def test_without_settings_it_is_port_8000_on_loopback() -> None:
    address = WebAddress.from_environment({})
    assert (address.bind, address.url) == ("127.0.0.1:8000", "http://127.0.0.1:8000/")
    assert address.is_local


@pytest.mark.parametrize("port", ["0", "65536", "-1", "http", "８０００", "80 "])
def test_a_port_that_is_none_is_refused_in_words(port: str) -> None:
    with pytest.raises(EmbeddedError, match="no port number"):
        WebAddress.from_environment({"PORT": port})


def test_an_address_for_all_interfaces_is_shown_as_one_that_a_browser_can_open() -> None:
    assert WebAddress.from_environment({"SLUICE_BIND": "0.0.0.0", "PORT": "80"}).url == "http://127.0.0.1:80/"
    everywhere = WebAddress.from_environment({"SLUICE_BIND": "::", "PORT": "80"})
    assert not everywhere.is_local
    assert (everywhere.bind, everywhere.url) == ("[::]:80", "http://[::1]:80/")


def test_a_port_in_use_is_refused_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(EmbeddedError, match=f"Port {port} .*make run PORT="):
            WebAddress("127.0.0.1", port).require_free()
    WebAddress("127.0.0.1", port).require_free()


class _Readyz(BaseHTTPRequestHandler):
    status = 200

    def do_GET(self) -> None:
        self.send_response(self.status if self.path == "/readyz" else 404)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def web_server() -> Iterator[HTTPServer]:
    server = HTTPServer(("127.0.0.1", 0), _Readyz)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(("status", "ready"), [(200, True), (503, False), (302, False)])
def test_ready_means_that_readyz_answers_200(
    web_server: HTTPServer, monkeypatch: pytest.MonkeyPatch, status: int, ready: bool
) -> None:
    monkeypatch.setattr(_Readyz, "status", status)
    assert WebAddress("127.0.0.1", web_server.server_port).is_ready() is ready


def test_nobody_listening_means_not_ready() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert not WebAddress("127.0.0.1", port).is_ready()


def test_host_names_are_added_to_those_of_this_machine() -> None:
    assert allowed_hosts({}) == "127.0.0.1,localhost,[::1]"
    assert (
        allowed_hosts({"SLUICE_ALLOWED_HOSTS": "sluice.example,localhost"})
        == "127.0.0.1,localhost,[::1],sluice.example"
    )
