"""How to reach a cluster, and as whom. What stands here is secret: it is never shown, logged or sent to a queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import msgspec
from django.conf import settings

from clusters.backends.kueue_volcano.addresses import AddressError, AddressProblem, Server, pin
from clusters.backends.kueue_volcano.kubeconfig import Access
from clusters.contract import Retryable, Unauthorized
from clusters.models import Cluster
from common.secrets import SecretUnreadable, seal, unseal


class Account(StrEnum):
    """The accounts of a cluster (decision 35). Only the first is required."""

    RUNTIME = "runtime"
    QUOTA = "quota"
    NODE = "node"


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


class _Stored(msgspec.Struct, omit_defaults=True):
    """One account as it lies sealed in the cluster's row."""

    host: str
    port: int
    ca: str
    token: str = ""
    cert: str = ""
    key: str = ""


_decoder = msgspec.json.Decoder(dict[Account, _Stored])


def seal_accounts(accounts: Mapping[Account, Access]) -> str:
    """What `Cluster.credentials` holds for these accounts."""
    stored = {
        account: _Stored(
            host=access.server.host,
            port=access.server.port,
            ca=access.ca_pem,
            token=access.token,
            cert=access.client_cert_pem,
            key=access.client_key_pem,
        )
        for account, access in accounts.items()
    }
    return seal(msgspec.json.encode(stored).decode())


def connection_of(cluster: Cluster, account: Account | str = Account.RUNTIME) -> Connection:
    """The way to a cluster for one of its accounts. Ask anew for each pool of connections: names are looked up here.

    Raises Unauthorized (`no_runtime_account`, `no_quota_account`, `no_node_account`, `credentials_unreadable`,
    `address_not_allowed`) and Retryable (`name_not_found`).
    """
    account = Account(account)
    stored = _accounts(cluster).get(account)
    if stored is None:
        raise Unauthorized(f"no_{account}_account")
    return _connection(Server(stored.host, stored.port), stored.ca, stored.token, stored.cert, stored.key)


def connection_to(access: Access) -> Connection:
    """The way to a cluster that is not stored yet. Raises as :func:`connection_of` does."""
    return _connection(access.server, access.ca_pem, access.token, access.client_cert_pem, access.client_key_pem)


def _accounts(cluster: Cluster) -> dict[Account, _Stored]:
    if not cluster.credentials:
        return {}
    try:
        return _decoder.decode(unseal(cluster.credentials))
    except SecretUnreadable as error:
        raise Unauthorized("credentials_unreadable", str(error)) from None


def _connection(server: Server, ca_pem: str, token: str, cert: str, key: str) -> Connection:
    try:
        address = pin(server, settings.SLUICE["CLUSTER_ADDRESSES"])
    except AddressError as error:
        failed = Retryable if error.code is AddressProblem.NO_SUCH_NAME else Unauthorized
        raise failed(error.code.value, error.host) from None
    return Connection(server.host, server.port, address, ca_pem, token, cert, key)
