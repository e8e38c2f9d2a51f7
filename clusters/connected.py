"""What is known of connected clusters without opening a secret, for pages and the API."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec
from django.conf import settings
from django.db.models import Count, QuerySet
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.backends.kueue_volcano.credentials import Account
from clusters.backends.kueue_volcano.names import installation_of
from clusters.contract import Part
from clusters.labels import ACCOUNTS, KINDS, PUBLIC_KINDS, error_text
from clusters.models import Cluster, ClusterMode
from common.errors import NotFound

CONNECTED_KIND = "kueue_volcano"
SETTINGS_KEY = "connection"
"""Where the facts of a connection lie in `Cluster.settings`."""
ENDS_SOON = timedelta(days=30)


class AccountFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """One stored account: which it is, as whom it acts, and until when it says that it is good."""

    fingerprint: str
    user: str = ""
    valid_until: datetime | None = None


class ConnectionFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What stands beside the sealed credentials. ``version`` is '' when the cluster was silent at the first look."""

    accounts: dict[Account, AccountFacts] = {}
    version: str = ""
    ca_valid_until: datetime | None = None


def connection_facts(cluster: Cluster) -> ConnectionFacts:
    return msgspec.convert(cluster.settings.get(SETTINGS_KEY, {}), ConnectionFacts)


def facts_as_json(facts: ConnectionFacts) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(facts)
    return built


@dataclass(frozen=True, slots=True)
class AccountView:
    """One of the three accounts for people; ``facts`` is None for one that is not stored."""

    account: str
    label: str | Promise
    facts: AccountFacts | None
    ends: str  # '' | soon | over


@dataclass(frozen=True, slots=True)
class ClusterView:
    """One cluster for people. ``error`` is a sentence, '' while it answers."""

    slug: str
    name: str
    kind: str
    kind_label: str | Promise
    is_connected: bool  # False for the sandbox
    is_default: bool
    mode: str
    server: str
    fingerprint: str
    installation: str  # the value of our label on everything that is ours there
    read_at: datetime | None
    stale: bool
    error_code: str
    error: str
    nodes: int
    takes_jobs: bool | None  # None: not known yet
    facts: ConnectionFacts
    accounts: tuple[AccountView, ...]
    ca_ends: str  # '' | soon | over

    @property
    def is_watched_only(self) -> bool:
        """Nothing is written there."""
        return self.mode == ClusterMode.WATCHING


def cluster_views(*, viewer: Actor) -> list[ClusterView]:
    """Every cluster, default first; one query. Raises NotAllowed."""
    require(viewer, Action.CLUSTER_MANAGE)
    now = timezone.now()
    return [_view(cluster, now) for cluster in _rows()]


def cluster_view(*, viewer: Actor, slug: str) -> ClusterView:
    """One cluster; one query. Raises NotAllowed, NotFound."""
    return _view(_found(viewer, _rows(), slug), timezone.now())


def cluster_get(*, viewer: Actor, slug: str) -> Cluster:
    """One cluster's row. Raises NotAllowed, NotFound."""
    return _found(viewer, Cluster.objects.all(), slug)


def _rows() -> QuerySet[Cluster]:
    return Cluster.objects.annotate(node_count=Count("nodes")).order_by("-is_default", "name", "pk")


def _found(viewer: Actor, rows: QuerySet[Cluster], slug: str) -> Cluster:
    require(viewer, Action.CLUSTER_MANAGE)
    found = rows.filter(slug=slug).first()
    if found is None:
        raise NotFound("not_found", _("There is no cluster of this name."))
    return found


def _view(cluster: Cluster, now: datetime) -> ClusterView:
    facts = connection_facts(cluster)
    is_connected = cluster.kind == CONNECTED_KIND
    oldest = now - timedelta(seconds=settings.SLUICE["STALE_AFTER_SECONDS"])
    return ClusterView(
        slug=cluster.slug,
        name=cluster.name,
        kind=PUBLIC_KINDS.get(cluster.kind, cluster.kind),
        kind_label=KINDS.get(cluster.kind, cluster.kind),
        is_connected=is_connected,
        is_default=cluster.is_default,
        mode=cluster.mode,
        server=cluster.server,
        fingerprint=cluster.fingerprint,
        installation=installation_of(cluster.public_id),
        read_at=cluster.synced_at,
        stale=cluster.synced_at is None or cluster.synced_at < oldest,
        error_code=cluster.sync_error,
        error=error_text(cluster.sync_error) if cluster.sync_error else "",
        nodes=cluster.node_count,  # type: ignore[attr-defined] # counted by _rows
        takes_jobs=Part.GATE not in cluster.lacks if cluster.synced_at or facts.version else None,
        facts=facts,
        accounts=tuple(_account(account, facts, now) for account in Account) if is_connected else (),
        ca_ends=ends(facts.ca_valid_until, now),
    )


def _account(account: Account, facts: ConnectionFacts, now: datetime) -> AccountView:
    found = facts.accounts.get(account)
    return AccountView(account.value, ACCOUNTS[account], found, ends(found.valid_until if found else None, now))


def ends(valid_until: datetime | None, now: datetime) -> str:
    """'over' for what has ended, 'soon' for what ends within 30 days, else ''."""
    if valid_until is None or valid_until - now > ENDS_SOON:
        return ""
    return "over" if valid_until <= now else "soon"
