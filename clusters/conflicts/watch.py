"""Look for conflicts in what was observed, and keep a notice of each as long as it lasts.

Only rows are read, no cluster is asked. Queues that vanished and groups of pods that were made again are told by those
who mend them (`missing_note`); quotas set from outside by whoever brings quotas to a cluster (`conflicts.drift`).
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from django.conf import settings
from django.db import connection, transaction

from clusters.conflicts import rules
from clusters.conflicts.rules import NodeLook, Signs, Watched
from clusters.conflicts.told import Preemption, teller
from clusters.contract import SharingMode
from clusters.domain.states import GroupSnapshot
from clusters.facts_codec import facts_from_json
from clusters.models import Cluster, Node, Notice
from clusters.notices import Source, notices_settle
from clusters.selectors import group_snapshots
from common.locks import LockSpace, transaction_lock

logger = logging.getLogger(__name__)

TOLD_FOR = timedelta(days=1)
"""What is mended already stays a notice until somebody has seen it, at most so long."""
AT_ONCE = 2_000
"""Attempts of one cluster that are looked at in one go; more than that in trouble is one trouble."""

_CANDIDATES = """
SELECT job_ulid, attempt_no, facts
  FROM clusters_observedworkload
 WHERE cluster_id = %s AND NOT gone
   AND ((facts->>'outcome' IS NULL AND facts->>'admitted_at' IS NOT NULL AND facts->>'scheduled_at' IS NULL)
        OR facts->>'ending' = 'true'
        OR facts->'wait'->>'code' = 'queue_missing')
 ORDER BY id LIMIT %s
"""


def conflicts_watch(now: datetime) -> None:
    """Look at every cluster whose picture is fresh; what is known of the others stays as it is."""
    limit = now - timedelta(seconds=settings.SLUICE["STALE_AFTER_SECONDS"])
    clusters = list(Cluster.objects.filter(synced_at__gte=limit).order_by("pk"))
    if not clusters:
        return
    snapshots = group_snapshots()
    preempted: dict[int, list[Preemption]] = defaultdict(list)
    for each in teller().preemptions(now - rules.LOOP_WITHIN):
        preempted[each.cluster_id].append(each)
    for cluster in clusters:
        _watch(cluster, snapshots, preempted[cluster.pk], now)


def _watch(
    cluster: Cluster, snapshots: Mapping[int, GroupSnapshot], preempted: Sequence[Preemption], now: datetime
) -> None:
    groups = dict(cluster.groups.values_list("pk", "slug"))
    by_slug = {slug: snapshots[pk] for pk, slug in groups.items() if pk in snapshots}
    watched = _watched(cluster, groups)
    signs = {
        Source.NOT_PLACED: rules.not_placed(watched, by_slug, now),
        Source.NEVER_ENDING: rules.never_ending(watched, now),
        Source.LOOP: rules.loops(preempted, now),
        Source.TWO_SCHEDULERS: rules.two_schedulers(
            _nodes(cluster, groups), {slug: group.title for slug, group in by_slug.items()}
        ),
    }
    with transaction.atomic():
        transaction_lock(LockSpace.CONFLICTS, cluster.pk)
        for source, found in signs.items():
            notices_settle(cluster, source, found, now)
        notices_settle(cluster, Source.MISSING, rules.without_queue(watched) | _mended(cluster, now), now)


def _watched(cluster: Cluster, groups: Mapping[int, str]) -> list[Watched]:
    """Attempts that may be in trouble; one that nobody can read is told in the log and left out."""
    with connection.cursor() as cursor:
        cursor.execute(_CANDIDATES, [cluster.pk, AT_ONCE])
        rows = cursor.fetchall()
    jobs = teller().jobs([job for job, _, _ in rows]) if rows else {}
    found = []
    for job, attempt, facts in rows:
        if (told := jobs.get(job)) is None:  # a stray: whoever adopts or removes it looks at it
            continue
        try:
            data = facts if isinstance(facts, dict) else msgspec.json.decode(facts)
            read = facts_from_json(data)
        except msgspec.ValidationError as error:
            logger.warning("the facts of %s/%s cannot be read: %s", job, attempt, error)
            continue
        found.append(Watched(job, attempt, read, groups.get(told.group_id or 0), told.stop_grace))
    return found


def _nodes(cluster: Cluster, groups: Mapping[int, str]) -> dict[str, list[NodeLook]]:
    """Nodes of the whole-card groups on which pods of no queue hold cards."""
    exclusive = Node.objects.filter(cluster=cluster, group__sharing=SharingMode.EXCLUSIVE.value)
    foreign = exclusive.filter(outside__gt=0).values("group_id")
    found: dict[str, list[NodeLook]] = defaultdict(list)
    rows = exclusive.filter(group_id__in=foreign).values_list("group_id", "name", "outside", "outsiders", "holders")
    for group_id, name, outside, outsiders, holders in rows.order_by():
        if group_id in groups:
            ours = sum(holder["cards"] for holder in holders)
            found[groups[group_id]].append(NodeLook(name, outside, ours, outsiders))
    return found


# --------------------------------------------------------------------------- mended already


QUEUES_AGAIN = "queues_again"
GATHERED_AGAIN = "gathered_again"
_MENDED = {QUEUES_AGAIN: "queues", GATHERED_AGAIN: "jobs"}
"""Subject → what its facts list."""


def queues_vanished(cluster: Cluster, queues: Sequence[str], now: datetime) -> None:
    """These team queues were gone from the cluster though nobody took them away here."""
    _note(cluster, QUEUES_AGAIN, [{"queue": queue} for queue in queues], now)


def gathered_again(cluster: Cluster, attempts: Sequence[tuple[str, int]], now: datetime) -> None:
    """What starts the pods of these attempts together was gone, and was made again."""
    _note(cluster, GATHERED_AGAIN, [{"job": job, "attempt": attempt} for job, attempt in attempts], now)


def _note(cluster: Cluster, subject: str, what: list[dict[str, Any]], now: datetime) -> None:
    """Open the notice, or add to the one that nobody has seen yet."""
    if not what:
        return
    listed = _MENDED[subject]
    with transaction.atomic():
        transaction_lock(LockSpace.CONFLICTS, cluster.pk)
        known = Notice.objects.filter(cluster=cluster, source=Source.MISSING, subject=subject, closed_at=None)
        known.exclude(seen_at=None).update(closed_at=now)
        notice = known.filter(seen_at=None).first()
        before = notice.facts[listed] if notice is not None else []
        added = [each for each in what if each not in before]
        count = (notice.facts["count"] if notice is not None else 0) + len(added)
        facts = {"count": count, listed: [*before, *added][-rules.SHOWN :]}
        if notice is None:
            Notice.objects.create(cluster=cluster, source=Source.MISSING, subject=subject, facts=facts, opened_at=now)
        elif added:
            known.filter(pk=notice.pk).update(facts=facts)


def _mended(cluster: Cluster, now: datetime) -> Signs:
    """Notices of what is mended that still wait for somebody to see them."""
    waiting = Notice.objects.filter(
        cluster=cluster,
        source=Source.MISSING,
        subject__in=list(_MENDED),
        closed_at=None,
        seen_at=None,
        opened_at__gt=now - TOLD_FOR,
    )
    return dict(waiting.values_list("subject", "facts"))
