"""Notices: what the watches over a cluster have found, from when until when, and who has seen it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import audit
from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.models import Cluster, Notice
from common.errors import NotFound


class Source(StrEnum):
    """Which watch found it. All but the first two are conflicts (`clusters.conflicts`)."""

    PREFLIGHT = "preflight"  # a part of the setup has become worse
    GROUPS = "groups"  # nodes wait for a word about their group
    NOT_PLACED = "not_placed"  # jobs are admitted and no node takes them
    MISSING = "missing"  # queues, or what gathers the pods of a job, were not there
    NEVER_ENDING = "never_ending"  # pods were told to end and did not
    LOOP = "loop"  # two jobs interrupt each other
    TWO_SCHEDULERS = "two_schedulers"  # somebody else places pods on nodes that teams share
    DRIFT = "drift"  # quotas were set from outside the console


class NoticeState(StrEnum):
    """Which notices to read."""

    OPEN = "open"  # there still, and nobody has taken it away
    SEEN = "seen"  # there still, and somebody has
    ENDED = "ended"
    ALL = "all"


STATES: Mapping[NoticeState, Q] = {
    NoticeState.OPEN: Q(closed_at=None, seen_at=None),
    NoticeState.SEEN: Q(closed_at=None, seen_at__isnull=False),
    NoticeState.ENDED: Q(closed_at__isnull=False),
    NoticeState.ALL: Q(),
}


def notices_settle(cluster: Cluster, source: Source, signs: Mapping[str, Mapping[str, Any]], now: datetime) -> None:
    """Make the open notices of one watch those of ``signs`` (subject -> facts): open, refresh, close.

    Three queries at most, whatever the number. Needs a transaction, in which nobody else settles the same watch.
    """
    known = {notice.subject: notice for notice in Notice.objects.filter(cluster=cluster, source=source, closed_at=None)}
    over = [notice.pk for subject, notice in known.items() if subject not in signs]
    if over:
        Notice.objects.filter(pk__in=over).update(closed_at=now)
    changed = [notice for subject, notice in known.items() if subject in signs and notice.facts != signs[subject]]
    for notice in changed:
        notice.facts = dict(signs[notice.subject])
    if changed:
        Notice.objects.bulk_update(changed, ["facts"])
    Notice.objects.bulk_create(
        Notice(cluster=cluster, source=source, subject=subject, facts=dict(facts), opened_at=now)
        for subject, facts in signs.items()
        if subject not in known
    )


def unseen_notices() -> int:
    """How many open notices nobody has seen yet: the banner of the admin's console. One query on a small index."""
    return Notice.objects.filter(closed_at=None, seen_at=None).count()


@transaction.atomic
def notice_seen(*, actor: Actor, pk: int) -> None:
    """Take the banner of one notice away; the row stays. Raises NotAllowed, NotFound."""
    require(actor, Action.CLUSTER_MANAGE)
    notice = Notice.objects.select_related("cluster").filter(pk=pk).first()
    if notice is None:
        raise NotFound("not_found", _("There is no such notice."))
    if Notice.objects.filter(pk=pk, seen_at=None).update(seen_at=timezone.now(), seen_by=actor.user):
        audit.record(
            actor,
            "notice.seen",
            target_type="cluster",
            target_id=notice.cluster.public_id,
            source=notice.source,
            subject=notice.subject,
        )
