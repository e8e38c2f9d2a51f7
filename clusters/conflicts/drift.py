"""Quotas that somebody set from outside the console: told, left as they are, and decided by an admin.

Decisions are kept in the notice, so that the next time quotas are brought to the cluster they are carried out,
whatever happens to the process that was asked.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db import transaction

from clusters.contract import DriftField, QuotaChange, QuotaDrift
from clusters.models import Cluster, Notice
from clusters.notices import Source, notices_settle
from common.locks import LockSpace, transaction_lock

SUBJECT = "quotas"


class Decision(StrEnum):
    """What an admin does about it."""

    TAKE_OVER = "take_over"  # write ours again
    ADOPT = "adopt"  # make a version of the plan from what is there


@transaction.atomic
def drift_settle(cluster: Cluster, drift: QuotaDrift | None, now: datetime) -> None:
    """Open, refresh or close the notice of one cluster by what the last look at its queues found."""
    transaction_lock(LockSpace.CONFLICTS, cluster.pk)
    signs = {}
    if drift is not None:
        known = drift_notice(cluster)
        decided = known.facts["decided"] if known is not None else ""
        signs[SUBJECT] = _facts(drift) | {"decided": decided}
    notices_settle(cluster, Source.DRIFT, signs, now)


def drift_notice(cluster: Cluster) -> Notice | None:
    """The open notice of one cluster; one query."""
    return Notice.objects.filter(cluster=cluster, source=Source.DRIFT, closed_at=None).first()


def drift_is_decided(cluster: Cluster) -> bool:
    """An admin has said what to do, and it was not done yet; one query."""
    notice = drift_notice(cluster)
    return notice is not None and bool(notice.facts["decided"])


def drift_locked(cluster: Cluster) -> Notice | None:
    """The open notice, and nobody else opens, changes or decides it until the transaction ends."""
    transaction_lock(LockSpace.CONFLICTS, cluster.pk)
    return drift_notice(cluster)


def drift_decide(notice: Notice, decision: Decision) -> None:
    """Keep a decision; call it with what :func:`drift_locked` gave, in its transaction."""
    notice.facts = {**notice.facts, "decided": decision.value}
    notice.save(update_fields=["facts"])


def drift_changes(notice: Notice) -> list[QuotaChange]:
    """What was set from outside."""
    return [
        QuotaChange(
            each["queue"], each["node_group"], DriftField(each["field"]), planned=each["planned"], found=each["found"]
        )
        for each in notice.facts["changes"]
    ]


def _facts(drift: QuotaDrift) -> dict[str, Any]:
    return {
        "changes": [
            {
                "queue": change.queue,
                "node_group": change.node_group,
                "field": change.field.value,
                "planned": change.planned,
                "found": change.found,
            }
            for change in drift.changes
        ],
        "by": list(drift.by),
        "at": drift.at.isoformat() if drift.at is not None else None,
    }
