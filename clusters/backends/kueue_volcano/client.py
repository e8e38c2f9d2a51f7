"""The API server as raw JSON over one pool of connections. No typed models, no retries of its own, no redirects.

Every failure is one of the contract's three errors. ``Missing`` and ``Exists`` are refusals that callers often
expect; whoever does not catch them passes on a `Rejected`.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlencode

import msgspec
import urllib3
from urllib3.exceptions import HTTPError

from clusters.backends.kueue_volcano.credentials import Connection
from clusters.backends.kueue_volcano.names import FIELD_MANAGER
from clusters.contract import BackendError, Rejected, Retryable, Unauthorized

CONNECT_SECONDS = 3.0
READ_SECONDS = 10.0
SILENCE_SECONDS = 75.0
"""Bookmarks come about once a minute: a watch without a byte for this long is dead (decision 27)."""
POOL = 16
ERROR_BODY_MAX = 64 * 1024
QUESTIONS = ("/apis/authentication.k8s.io/", "/apis/authorization.k8s.io/")
"""What is posted here is asked and kept nowhere: who am I, and what may I do?"""
READ_ONLY = "read_only"
ENDED_MEANWHILE = (OSError, RuntimeError, TypeError, ValueError)
"""What urllib3 says, one or the other, when the reader of a stream closes it at the same moment."""

MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"  # JSON is YAML

encode = msgspec.json.Encoder().encode


class Missing(Rejected):
    """404: there is no such object, or no such kind."""


class Exists(Rejected):
    """409 AlreadyExists: the name is taken."""


class Gone(Retryable):
    """410: the resource version asked for is too old; list again."""


class _Status(msgspec.Struct):
    """The error object of the API server."""

    reason: str = ""
    message: str = ""
    code: int = 0


class KubeClient:
    """One account at one API server. Safe to use from several threads; close it to stop its watches.

    One that is ``read_only`` sends nothing that would change an object: such a call is `Retryable` ("read_only"),
    because it may be allowed later.
    """

    def __init__(self, connection: Connection, *, read_only: bool = False) -> None:
        self.read_only = read_only
        self._headers = {"Accept": "application/json", "User-Agent": FIELD_MANAGER}
        if connection.token:
            self._headers["Authorization"] = f"Bearer {connection.token}"
        # The address was checked and is used as it is; the certificate must be the name's (no second resolution).
        self._pool = urllib3.HTTPSConnectionPool(
            connection.address,
            connection.port,
            maxsize=POOL,
            block=False,
            retries=False,
            timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS),
            ssl_context=_tls(connection),
            server_hostname=connection.host,
            assert_hostname=connection.host,
        )
        host = f"[{connection.host}]" if ":" in connection.host else connection.host
        self._headers["Host"] = f"{host}:{connection.port}"
        self._streams: set[urllib3.BaseHTTPResponse] = set()

    def close(self) -> None:
        """End every open stream; whoever reads one gets `Retryable`."""
        for response in list(self._streams):
            with suppress(*ENDED_MEANWHILE):
                response.shutdown()
        self._pool.close()

    # calls

    def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        """The body of a successful GET. Raises Missing, Gone and the contract's errors."""
        return self._call("GET", path, params)

    def clock(self) -> datetime | None:
        """What time it is by the server, to the second; None where it does not say."""
        try:
            return parsedate_to_datetime(self._answer("GET", "/version").headers.get("Date", ""))
        except ValueError:
            return None

    def create(self, path: str, body: Mapping[str, Any]) -> bytes:
        """Make an object. Raises Exists when its name is taken."""
        return self._call("POST", path, {"fieldManager": FIELD_MANAGER}, encode(body))

    def apply(self, path: str, body: Mapping[str, Any]) -> bytes:
        """Server-side apply under our field manager; fields that others own are taken over."""
        params = {"fieldManager": FIELD_MANAGER, "force": "true"}
        return self._call("PATCH", path, params, encode(body), APPLY)

    def merge(self, path: str, body: Mapping[str, Any], *, dry_run: bool = False) -> bytes:
        """JSON merge patch; the server checks a ``dry_run`` like any other and keeps nothing. Raises Missing."""
        params = {"fieldManager": FIELD_MANAGER, **({"dryRun": "All"} if dry_run else {})}
        return self._call("PATCH", path, params, encode(body), MERGE)

    def delete(self, path: str, *, uid: str | None = None, grace_seconds: int | None = None) -> None:
        """Delete in the background, with everything the object owns (the default of jobs leaves pods running).

        Only the object of this ``uid``, where one is given. Raises Missing; another uid is Missing too.
        """
        body: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        if uid is not None:
            body["preconditions"] = {"uid": uid}
        if grace_seconds is not None:
            body["gracePeriodSeconds"] = grace_seconds
        try:
            self._call("DELETE", path, None, encode(body))
        except Retryable as error:
            if uid is not None and error.code == "conflict":
                raise Missing("not_found", error.detail) from error
            raise

    @contextmanager
    def stream(
        self, path: str, params: Mapping[str, str], silence: float = SILENCE_SECONDS
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        """An open response to iterate by lines; ``silence`` seconds without a byte are a `Retryable`."""
        timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=silence)
        with _contract_errors():
            response = self._pool.request(
                "GET",
                path,
                fields=dict(params),
                headers=self._headers,
                preload_content=False,
                redirect=False,
                timeout=timeout,
            )
        try:
            if response.status >= 300:
                raise _error(response.status, response.read(ERROR_BODY_MAX), response.headers)
            self._streams.add(response)
            yield response
        finally:
            self._streams.discard(response)
            response.close()

    def _call(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
    ) -> bytes:
        return self._answer(method, path, params, body, content_type).data

    def _answer(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
    ) -> urllib3.BaseHTTPResponse:
        if self.read_only and method != "GET" and not path.startswith(QUESTIONS):
            raise Retryable(READ_ONLY, f"{method} {path}")
        headers = self._headers if body is None else {**self._headers, "Content-Type": content_type}
        if params:
            path = f"{path}?{urlencode(params)}"
        with _contract_errors():
            response = self._pool.request(method, path, body=body, headers=headers, redirect=False)
        if response.status >= 300:
            raise _error(response.status, response.data, response.headers)
        return response


@contextmanager
def _contract_errors() -> Iterator[None]:
    """A connection that fails is `Retryable`, and so is whatever goes wrong while its answer is read."""
    try:
        yield
    except urllib3.exceptions.SSLError as error:
        raise Retryable("tls", str(error)[:300]) from error
    except urllib3.exceptions.NewConnectionError as error:  # a kind of time-out to urllib3, but nobody listens
        raise Retryable("unreachable", str(error)[:300]) from error
    except urllib3.exceptions.TimeoutError as error:
        raise Retryable("silent", str(error)[:300]) from error
    except (HTTPError, OSError) as error:
        raise Retryable("unreachable", str(error)[:300]) from error


def read_lines(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    """Lines of an open stream as they come, without their ends."""
    with _contract_errors():
        rest = b""
        for chunk in response.stream(None):
            *lines, rest = (rest + chunk).split(b"\n")
            yield from (line for line in lines if line)
        if rest:
            yield rest


def _error(status: int, body: bytes, headers: Mapping[str, str]) -> BackendError:
    told = _status(body)
    text = told.message or body[:300].decode("utf-8", "replace")
    if status == 404:
        return Missing("not_found", text)
    if status == 409:
        return Exists("already_exists", text) if told.reason == "AlreadyExists" else Retryable("conflict", text)
    if status == 410:
        return Gone("gone", text)
    if "failed calling webhook" in text:  # a gate that is away: its objects cannot be made until it is back
        return Retryable("webhook_silent", text)
    if status in (400, 403) and "denied the request" in text:
        return Rejected("denied", text)
    if status == 403 and "exceeded quota" in text:  # of the namespace, by somebody else (case C-42)
        return Retryable("namespace_quota", text)
    if status == 403 and "is being terminated" in text:
        return Retryable("space_ending", text)
    if status in (401, 403):
        return Unauthorized("forbidden" if status == 403 else "unauthorized", text)
    if status in (429, 500, 502, 503, 504):
        wait = headers.get("Retry-After", "")
        return Retryable(
            "busy" if status == 429 else "server_error", f"{text} (retry after {wait} s)" if wait else text
        )
    return Rejected("invalid" if status == 422 else f"http_{status}", text)


def _status(body: bytes) -> _Status:
    try:
        return msgspec.json.decode(body, type=_Status)
    except msgspec.MsgspecError:
        return _Status()


def _tls(connection: Connection) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=connection.ca_pem)
        if connection.client_cert_pem:
            # The ssl module reads a key from a file only: this one is in memory and has no name for anybody else.
            handle = os.memfd_create("client", os.MFD_CLOEXEC)
            with os.fdopen(handle, "w") as file:
                file.write(f"{connection.client_cert_pem}\n{connection.client_key_pem}")
                file.flush()
                context.load_cert_chain(f"/proc/self/fd/{handle}")
    except ssl.SSLError as error:
        raise Unauthorized("credentials_unreadable", str(error)[:300]) from error
    return context
