"""The conflicts of one cluster for people, with evidence. Fixed numbers of queries."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta

from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.conflicts.texts import ADVICE, KINDS, Evidence, conflict_evidence, conflict_text
from clusters.models import Cluster, Notice
from clusters.notices import Source
from common.errors import Text

PAST = timedelta(days=7)
PAST_SHOWN = 20
OPEN_SHOWN = 100


@dataclass(frozen=True, slots=True)
class ConflictView:
    """One conflict, still there or over. ``decided`` is '' unless somebody decided about quotas set from outside."""

    pk: int
    source: Source
    kind: Text
    text: str
    advice: Text
    evidence: list[Evidence]
    opened_at: datetime
    closed_at: datetime | None
    is_seen: bool
    decided: str

    @property
    def is_drift(self) -> bool:
        return self.source is Source.DRIFT


@dataclass(frozen=True, slots=True)
class ConflictsView:
    """``open`` by kind, the oldest first; ``past`` are those that were over within a week, the newest first."""

    cluster: Cluster
    open: list[ConflictView]
    past: list[ConflictView]


def conflicts_view(*, viewer: Actor, cluster: Cluster, now: datetime) -> ConflictsView:
    """Two queries. Raises NotAllowed."""
    require(viewer, Action.CLUSTER_MANAGE)
    kinds = list(KINDS)
    notices = Notice.objects.filter(cluster=cluster, source__in=[kind.value for kind in kinds])
    found = sorted(
        notices.filter(closed_at=None)[:OPEN_SHOWN], key=lambda row: (kinds.index(Source(row.source)), row.pk)
    )
    past = notices.filter(closed_at__gte=now - PAST).order_by("-closed_at", "-pk")[:PAST_SHOWN]
    return ConflictsView(cluster, [_view(row) for row in found], [_view(row) for row in past])


def open_conflicts() -> dict[str, int]:
    """How many conflicts are open by the slug of their cluster; one query."""
    rows = Notice.objects.filter(closed_at=None, source__in=[kind.value for kind in KINDS])
    return dict(Counter(rows.order_by().values_list("cluster__slug", flat=True)))


def _view(row: Notice) -> ConflictView:
    source = Source(row.source)
    return ConflictView(
        pk=row.pk,
        source=source,
        kind=KINDS[source],
        text=conflict_text(source, row.subject, row.facts),
        advice=ADVICE[source],
        evidence=conflict_evidence(source, row.facts),
        opened_at=row.opened_at,
        closed_at=row.closed_at,
        is_seen=row.seen_at is not None,
        decided=str(row.facts.get("decided", "")),
    )
