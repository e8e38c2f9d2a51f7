"""A client that is closed ends every stream, also while the reader of one is just closing it itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
import urllib3

from clusters.backends.kueue_volcano.client import KubeClient
from clusters.backends.kueue_volcano.credentials import Account, Connection
from tests.api_server import TOKENS, ApiServer

PATHS = ("/first", "/second", "/third")


def _closed(response: urllib3.BaseHTTPResponse) -> None:
    response.close()


def _released(response: urllib3.BaseHTTPResponse) -> None:
    response.release_conn()


def _without_its_socket(response: Any) -> None:
    os.close(response._connection.sock.detach())


@pytest.mark.parametrize("ends", [_closed, _released, _without_its_socket])
def test_a_stream_that_ends_at_the_same_moment_keeps_no_other_from_being_ended(
    server: ApiServer, ends: Callable[[urllib3.BaseHTTPResponse], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in PATHS:
        server.answers[path] = 200, {"Content-Type": "application/json"}, b"{}\n" * 1_000
    client = KubeClient(
        Connection("127.0.0.1", server.port, "127.0.0.1", server.ca.certificate, token=TOKENS[Account.RUNTIME])
    )
    ended = []
    with (
        client.stream(PATHS[0], {}) as first,
        client.stream(PATHS[1], {}) as second,
        client.stream(PATHS[2], {}) as third,
    ):
        for other in (first, third):
            monkeypatch.setattr(other, "shutdown", lambda other=other: ended.append(other))
        ends(second)
        with pytest.raises((OSError, RuntimeError, ValueError)):
            second.shutdown()
        client.close()
        assert set(ended) == {first, third}
