"""Going back from managing a cluster to looking at it: what of ours stays there, and taking away what nobody needs.

Queues go while the cluster is still managed, because nothing is ever written to one that is only watched. A job that
comes in between keeps it managed, and what went is made again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django.utils.translation import gettext_lazy as _

from accounts.actors import Actor
from clusters.contract import BackendError, Fate, Leaving, LeftKind, LeftObject, Retryable, TakenAway
from clusters.labels import error_text
from clusters.models import Cluster
from clusters.services import backend
from common.errors import DomainError
from quotas.managing import manage_stop, require_stoppable

T = TypeVar("T")

KINDS = {
    LeftKind.LOCAL_QUEUE: _("queue of a team's people"),
    LeftKind.TEAM_QUEUE: _("queue of a team"),
    LeftKind.POOL: _("common pool"),
    LeftKind.NODE_GROUP: _("node group of quotas"),
    LeftKind.LAYOUT: _("layout of nodes"),
    LeftKind.PRIORITY: _("priority"),
    LeftKind.SPACE: _("team space"),
}
FATES = {
    Fate.GOES: _("empty: it can be taken away"),
    Fate.IN_USE: _("stays: something waits or runs in it, or that is not known"),
    Fate.NEEDED: _("stays: something that stays uses it"),
    Fate.STAYS: _("stays: the console never takes it away"),
}


def leaving_preview(*, viewer: Actor, cluster: Cluster) -> tuple[LeftObject, ...]:
    """What of ours is there and what would become of it, read at this moment. Outside of a transaction.

    Raises as :func:`leave` does before it removes anything.
    """
    require_stoppable(actor=viewer, cluster=cluster)
    return _asked(cluster, lambda leaving: leaving.left_behind())


def leave(*, actor: Actor, cluster: Cluster, take_away: bool) -> TakenAway:
    """Only look at a cluster from now on; before, with ``take_away``, remove what is ours and empty. Audited once.

    Outside of a transaction, it talks to the cluster. Raises NotAllowed, DomainError (the sandbox, watched already,
    jobs of ours are there; with ``take_away`` 503: the cluster does not answer, or 409: it refuses).
    """
    require_stoppable(actor=actor, cluster=cluster)
    taken = _asked(cluster, lambda leaving: leaving.take_away()) if take_away else TakenAway(())
    detail = {"taken_away": [each.address for each in taken.removed]} if take_away else {}
    manage_stop(actor=actor, cluster=cluster, **detail)
    return taken


def removal_command(left: LeftObject) -> str:
    """How an administrator of the cluster removes it."""
    space = f" --namespace {left.space}" if left.space else ""
    return f"kubectl delete {left.address}{space}"


def _asked(cluster: Cluster, ask: Callable[[Leaving], T]) -> T:
    asked = backend(cluster)
    if not isinstance(asked, Leaving):
        raise DomainError("not_connected", _("This cluster keeps nothing that could be taken away."))
    try:
        return ask(asked)
    except BackendError as error:
        status = 503 if isinstance(error, Retryable) else 409
        raise DomainError(error.code, error_text(error.code), status=status) from error
