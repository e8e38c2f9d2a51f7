"""Brings the secrets of teams to their clusters: once at once, and again until they are there.

The rows say what shall be (``revision``, ``is_dropped``) and what is (``stored``). A value is opened only here, in
memory, on its way to the cluster.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable

from django.db.models import F, Q
from django.utils import timezone

from clusters.contract import BackendError, SecretKeeper
from clusters.models import Cluster, ClusterMode, TeamSecret
from clusters.registry import UnknownKind, backend_for
from common.locks import LockSpace, try_session_lock
from common.secrets import SecretUnreadable, unseal

logger = logging.getLogger(__name__)

UNREADABLE = "unreadable"


def bring_secrets() -> int:
    """Bring what is on its way, cluster by cluster; returns how many arrived. A sick cluster holds up no other."""
    arrived = 0
    due = TeamSecret.objects.filter(Q(is_dropped=True) | ~Q(stored=F("revision")))
    resting = Q(rest_until__gt=timezone.now())
    managed = Cluster.objects.filter(mode=ClusterMode.MANAGING)
    for cluster in managed.filter(pk__in=due.values("cluster")).exclude(resting).order_by("pk"):
        with try_session_lock(LockSpace.SECRETS, cluster.pk) as mine:
            if mine:
                arrived += _bring_to(cluster, list(due.filter(cluster=cluster).select_related("team").order_by("pk")))
    return arrived


def _bring_to(cluster: Cluster, secrets: Iterable[TeamSecret]) -> int:
    try:
        backend = backend_for(cluster)
    except UnknownKind:
        return 0
    keeper = backend if isinstance(backend, SecretKeeper) else None
    arrived = 0
    for secret in secrets:
        try:
            if keeper is not None:
                _bring(keeper, secret)
        except BackendError as error:
            logger.warning("secret %s on %s: %s", secret.object_name, cluster.slug, error.code)
            _note(secret, error.code)
            if error.code in ("silent", "unreachable", "tls"):
                break
        except SecretUnreadable:
            _note(secret, UNREADABLE)
        else:
            arrived += _conclude(secret)
    return arrived


def _bring(keeper: SecretKeeper, secret: TeamSecret) -> None:
    if secret.is_dropped:
        keeper.drop_secret(secret.team.space, secret.object_name)
        return
    values: dict[str, str] = json.loads(unseal(secret.values))
    keeper.put_secret(secret.team.space, secret.object_name, {name: v.encode() for name, v in values.items()})


def _conclude(secret: TeamSecret) -> int:
    """Only the revision that was brought counts: somebody may have changed it meanwhile."""
    same = TeamSecret.objects.filter(pk=secret.pk, revision=secret.revision)
    if secret.is_dropped:
        return same.delete()[0]
    return same.update(stored=secret.revision, error="")


def _note(secret: TeamSecret, code: str) -> None:
    TeamSecret.objects.filter(pk=secret.pk, revision=secret.revision).update(error=code[:64])
