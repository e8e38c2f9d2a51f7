"""How to reach a cluster, and as whom. What stands here is secret: it is never shown, logged or sent to a queue."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, repr=False)
class Connection:
    """One account's way to an API server: where to connect, which certificate to expect, and what to show it.

    TLS verifies ``host`` against ``ca_pem``; the socket goes to ``address``, the IP address that was checked.
    """

    host: str  # as the kubeconfig names it: a DNS name or an IP address without brackets
    port: int
    address: str
    ca_pem: str
    token: str = ""
    client_cert_pem: str = ""
    client_key_pem: str = ""

    def __repr__(self) -> str:
        return f"<Connection {self.host}:{self.port}>"
