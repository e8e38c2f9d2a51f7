"""The first look at a cluster: does it answer, as whom, and which parts does it have?"""

from __future__ import annotations

import ssl
from contextlib import closing
from dataclasses import dataclass

import msgspec

from clusters.backends.kueue_volcano.client import KubeClient
from clusters.backends.kueue_volcano.credentials import Connection
from clusters.backends.kueue_volcano.discovery import lacking
from clusters.backends.kueue_volcano.names import CLUSTER_QUEUES, WORKLOADS, Kind
from clusters.contract import Part, Rejected, Unauthorized

WHO_AM_I = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
USER_MAX = 200


@dataclass(frozen=True, slots=True)
class Answer:
    """What an API server says to one account. ``user`` is '' where the server does not tell."""

    user: str
    version: str
    lacks: frozenset[Part]


class _Version(msgspec.Struct):
    gitVersion: str = ""


class _User(msgspec.Struct):
    username: str = ""


class _ReviewStatus(msgspec.Struct):
    userInfo: _User = msgspec.field(default_factory=_User)


class _Items(msgspec.Struct):
    items: list[msgspec.Raw] = []


class _Review(msgspec.Struct):
    status: _ReviewStatus = msgspec.field(default_factory=_ReviewStatus)


def first_look(connection: Connection) -> Answer:
    """Ask an API server only what every account may ask. Raises the contract's errors."""
    try:
        client = KubeClient(connection)
    except ssl.SSLError as error:  # a certificate or key that was readable and yet is good for no connection
        raise Unauthorized("credentials_unusable", str(error)) from None
    with closing(client):
        try:
            version = msgspec.json.decode(client.get("/version"), type=_Version)
            lacks = lacking(client)
            user = _who_am_i(client)
        except msgspec.MsgspecError as error:
            raise Rejected("no_api_server", str(error)) from None
    return Answer(user=user[:USER_MAX], version=version.gitVersion[:USER_MAX], lacks=lacks)


def has_others(connection: Connection) -> bool:
    """Whether somebody else has made admission queues there, or work waits or runs in some. Two small reads.

    What the account may not ask, and what does not exist, says nothing. Raises the contract's errors.
    """
    with closing(KubeClient(connection, read_only=True)) as client:
        return any(_has_some(client, kind) for kind in (CLUSTER_QUEUES, WORKLOADS))


def _has_some(client: KubeClient, kind: Kind) -> bool:
    try:
        return bool(msgspec.json.decode(client.get(kind.path(), {"limit": "1"}), type=_Items).items)
    except (Rejected, Unauthorized, msgspec.MsgspecError):
        return False


def _who_am_i(client: KubeClient) -> str:
    try:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        return msgspec.json.decode(client.create(WHO_AM_I, review), type=_Review).status.userInfo.username
    except (Rejected, Unauthorized):  # before Kubernetes 1.28, or taken away from everybody
        return ""
