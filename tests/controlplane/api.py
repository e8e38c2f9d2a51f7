"""A small client of the API server for tests, and the kubeconfigs of those who may use it."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3
import yaml

FIELD_MANAGER = "plane"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
CONTENT_TYPES = {"PATCH": MERGE}
ASKS_FOR_A_MOMENT = 429
"""Among others for some seconds after a start, while the server fills its caches."""
MOMENTS, MOMENT_SECONDS = 100, 0.2
LOST_CONNECTION = urllib3.exceptions.HTTPError


class ApiError(Exception):
    """The API server refused; ``status`` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


@dataclass(frozen=True)
class Identity:
    """Who asks: a client certificate, or a token."""

    certificate: Path | None = None
    key: Path | None = None
    token: str | None = None


class Client:
    """Sends requests as one identity. It may be used by several threads."""

    def __init__(self, server: str, authority: Path, identity: Identity, *, connections: int = 16) -> None:
        self.server, self._authority, self.identity = server, authority, identity
        self._headers = {"Authorization": f"Bearer {identity.token}"} if identity.token else {}
        self._pool = urllib3.PoolManager(
            maxsize=connections,
            ca_certs=str(authority),
            cert_file=_text(identity.certificate),
            key_file=_text(identity.key),
            retries=False,
            timeout=30.0,
        )

    def raw(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        content_type: str = "application/json",
        timeout: float = 30.0,
    ) -> tuple[int, bytes]:
        """Status and body as they come.

        :raises urllib3.exceptions.HTTPError: when there is no answer
        """
        headers = {**self._headers, "Content-Type": content_type}
        answer = self._pool.request(method, self.server + path, body=body, headers=headers, timeout=timeout)
        return answer.status, answer.data

    def request(self, method: str, path: str, body: Any = None, *, content_type: str | None = None) -> Any:
        """The JSON of the answer (text where it is none); PATCH merges unless the content type says otherwise.

        :raises ApiError: on every status from 300; a server that asks for a moment is given some
        """
        data = None if body is None else json.dumps(body).encode()
        kind = content_type or CONTENT_TYPES.get(method, "application/json")
        status, answer = self.raw(method, path, data, content_type=kind)
        patience = MOMENTS
        while status == ASKS_FOR_A_MOMENT and patience:
            patience -= 1
            time.sleep(MOMENT_SECONDS)
            status, answer = self.raw(method, path, data, content_type=kind)
        if status >= 300:
            raise ApiError(status, _message(answer))
        try:
            return json.loads(answer)
        except ValueError:
            return answer.decode()

    def find(self, path: str) -> Any:
        """The object, None when there is none."""
        try:
            return self.request("GET", path)
        except ApiError as error:
            if error.status != 404:
                raise
            return None

    def items(self, path: str) -> list[dict[str, Any]]:
        """A whole list; an empty one for a kind that this server does not have."""
        return (self.find(path) or {"items": []})["items"]

    def apply(self, path: str, manifest: Mapping[str, Any]) -> Any:
        """Server-side apply of one object; ``path`` is that of its collection."""
        address = f"{path}/{manifest['metadata']['name']}?fieldManager={FIELD_MANAGER}&force=true"
        return self.request("PATCH", address, manifest, content_type=APPLY)

    def delete(self, path: str, *, grace_seconds: int | None = None) -> None:
        """Delete an object or a collection with its dependents; what is not there is no error."""
        options: dict[str, Any] = {"propagationPolicy": "Background"}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        try:
            self.request("DELETE", path, options)
        except ApiError as error:
            if error.status != 404:
                raise

    def answers(self, path: str) -> bool:
        """Whether the address answers with success."""
        try:
            status, _ = self.raw("GET", path, timeout=5.0)
        except LOST_CONNECTION:
            return False
        return status < 300

    def close(self) -> None:
        self._pool.clear()

    def kubeconfig(self) -> str:
        """A kubeconfig with everything inside, for this identity."""
        user: dict[str, str] = {}
        if self.identity.token:
            user["token"] = self.identity.token
        if self.identity.certificate and self.identity.key:
            user["client-certificate-data"] = _base64(self.identity.certificate)
            user["client-key-data"] = _base64(self.identity.key)
        cluster = {"server": self.server, "certificate-authority-data": _base64(self._authority)}
        return yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "plane",
                "clusters": [{"name": "plane", "cluster": cluster}],
                "users": [{"name": "user", "user": user}],
                "contexts": [{"name": "plane", "context": {"cluster": "plane", "user": "user"}}],
            }
        )


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def _message(answer: bytes) -> str:
    try:
        return json.loads(answer)["message"]
    except (ValueError, KeyError, TypeError):
        return answer.decode(errors="replace")[:500]
