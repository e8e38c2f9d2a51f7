"""The one address that listens: reading it from the environment, trying it, asking it whether it is ready."""

from __future__ import annotations

import http.client
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass

from console.embedded.errors import EmbeddedError

DEFAULT_BIND = "127.0.0.1"
DEFAULT_PORT = 8000
PROBE_SECONDS = 3.0
LOCAL = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}


@dataclass(frozen=True)
class WebAddress:
    """Where the web server listens."""

    host: str
    port: int

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> WebAddress:
        """SLUICE_BIND (127.0.0.1) and PORT (8000). Errors: PORT is no port number."""
        host = environ.get("SLUICE_BIND") or DEFAULT_BIND
        given = environ.get("PORT") or str(DEFAULT_PORT)
        if not (given.isascii() and given.isdecimal() and 0 < int(given) < 65536):
            raise EmbeddedError(f"PORT={given} is no port number: give one from 1 to 65535.")
        return cls(host.strip("[]"), int(given))

    @property
    def bind(self) -> str:
        """HOST:PORT as the web server wants it."""
        return f"{_bracketed(self.host)}:{self.port}"

    @property
    def url(self) -> str:
        """The address to type into a browser on this machine."""
        return f"http://{_bracketed(self._local_host)}:{self.port}/"

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in LOCAL

    @property
    def _local_host(self) -> str:
        return EVERYWHERE.get(self.host, self.host)

    def require_free(self) -> None:
        """Errors: another process listens there, or this machine has no such address."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((self.host, self.port))
                probe.listen(1)
            except OSError as error:
                raise EmbeddedError(
                    f"Port {self.port} on {self.host} cannot be used ({error.strerror}). End the program that uses it, "
                    f"or choose another port, for example: make run PORT={self.port % 65535 + 1}"
                ) from error

    def is_ready(self) -> bool:
        """Whether GET /readyz answers 200 by now."""
        connection = http.client.HTTPConnection(self._local_host, self.port, timeout=PROBE_SECONDS)
        try:
            connection.request("GET", "/readyz", headers={"Host": f"localhost:{self.port}"})
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
