"""Clients kept between calls, so that connections to an API server are used again.

A client is as old as its address at most: the address is looked up and checked anew after a few minutes, and at
once when the credentials change. The client of a cluster that is only watched writes nothing, whoever asks it to.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass

from clusters.backends.kueue_volcano.client import KubeClient
from clusters.backends.kueue_volcano.credentials import Account, connection_of
from clusters.contract import Unauthorized
from clusters.models import Cluster

KEPT_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class _Kept:
    client: KubeClient
    ciphertext: str
    made: float


_kept: dict[tuple[int, str], _Kept] = {}
_lock = threading.Lock()


def client_of(cluster: Cluster, account: str) -> KubeClient:
    """The client of one account at a cluster. Raises Unauthorized when the cluster has no usable credentials."""
    key = (cluster.pk, account)
    with _lock:
        kept = _kept.get(key)
        if kept and _still_good(kept, cluster):
            return kept.client
    client = fresh_client(cluster, account)
    with _lock:
        _kept[key] = _Kept(client, cluster.credentials, time.monotonic())
    return client  # the one before it ends with the calls that still use it


def _still_good(kept: _Kept, cluster: Cluster) -> bool:
    return (
        kept.ciphertext == cluster.credentials
        and kept.client.read_only == cluster.is_watched_only
        and time.monotonic() - kept.made < KEPT_SECONDS
    )


def clients_of(cluster: Cluster) -> dict[Account, KubeClient]:
    """The clients of all accounts that the console has at a cluster. Raises Unauthorized without one for jobs."""
    clients = {Account.RUNTIME: client_of(cluster, Account.RUNTIME)}
    for account in (Account.QUOTA, Account.NODE):
        with suppress(Unauthorized):
            clients[account] = client_of(cluster, account)
    return clients


def fresh_client(cluster: Cluster, account: str) -> KubeClient:
    """A client of one's own, to be closed by whoever asked for it."""
    return KubeClient(connection_of(cluster, account), read_only=cluster.is_watched_only)
