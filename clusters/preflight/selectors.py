"""The preflight table and notices for people. Fixed numbers of queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.conflicts.texts import conflict_text
from clusters.group_notices import group_notice_text
from clusters.labels import error_text
from clusters.models import Cluster, Notice, PreflightRow
from clusters.notices import STATES, NoticeState, Source
from clusters.preflight.texts import FEATURES, VERDICTS, Text, found_text, mend_text
from clusters.preflight.words import Feature, Finding, Problem, Verdict
from common.pages import Page, keyset_page
from common.texts import storable


@dataclass(frozen=True, slots=True)
class RowView:
    """One row of the table; ``found`` and ``mend`` are '' for one that is ok."""

    feature: str
    title: Text
    needs: Text
    lost: Text
    verdict: str
    verdict_label: Text
    found: str
    mend: str
    since: datetime

    @property
    def is_ok(self) -> bool:
        return self.verdict == Verdict.OK


@dataclass(frozen=True, slots=True)
class PreflightView:
    """The table of one cluster. ``rows`` is empty until the first whole look."""

    cluster: Cluster
    rows: tuple[RowView, ...]
    read_at: datetime | None
    is_asked: bool  # a look was asked for and has not come yet
    error_code: str
    error: str  # why the newest look failed; ''

    @property
    def counts(self) -> dict[str, int]:
        """How many rows of each verdict."""
        found = Counter(row.verdict for row in self.rows)
        return {verdict.value: found[verdict] for verdict in Verdict}

    @property
    def to_mend(self) -> list[RowView]:
        return [row for row in self.rows if not row.is_ok]

    @property
    def well(self) -> list[RowView]:
        return [row for row in self.rows if row.is_ok]


def preflight_view(*, viewer: Actor, cluster: Cluster) -> PreflightView:
    """The table as last found, in the order of the table in code; one query. Raises NotAllowed."""
    require(viewer, Action.CLUSTER_MANAGE)
    found = {row.feature: row for row in PreflightRow.objects.filter(cluster=cluster)}
    asked, tried = cluster.survey_asked_at, cluster.survey_tried_at
    return PreflightView(
        cluster=cluster,
        rows=tuple(_row(feature, found[feature.value]) for feature in Feature if feature.value in found),
        read_at=cluster.surveyed_at,
        is_asked=asked is not None and (tried is None or asked > tried),
        error_code=cluster.survey_error,
        error=error_text(cluster.survey_error) if cluster.survey_error else "",
    )


def _row(feature: Feature, row: PreflightRow) -> RowView:
    finding = Finding(Verdict(row.verdict), Problem(row.problem) if row.problem else None, row.facts)
    text = FEATURES[feature]
    return RowView(
        feature=feature.value,
        title=text.title,
        needs=text.needs,
        lost=text.lost,
        verdict=row.verdict,
        verdict_label=VERDICTS[finding.verdict],
        found=found_text(finding),
        mend=mend_text(finding),
        since=row.since,
    )


@dataclass(frozen=True, slots=True)
class NoticeView:
    """One notice in a sentence."""

    pk: int
    cluster: str
    cluster_slug: str
    source: str
    subject: str
    text: str
    facts: Mapping[str, Any]
    opened_at: datetime
    closed_at: datetime | None
    seen_at: datetime | None
    seen_by: str  # user name; '' = nobody has seen it, or somebody who is gone

    @property
    def is_conflict(self) -> bool:
        return self.source not in (Source.PREFLIGHT, Source.GROUPS)

    @property
    def is_of_groups(self) -> bool:
        return self.source == Source.GROUPS


def notice_views(*, viewer: Actor) -> list[NoticeView]:
    """Open notices that nobody has taken away yet, newest first, at most 50; one query. Raises NotAllowed."""
    require(viewer, Action.CLUSTER_MANAGE)
    rows = Notice.objects.filter(STATES[NoticeState.OPEN]).select_related("cluster", "seen_by")[:50]
    return [notice_view(row) for row in rows]


def notices_page(
    *, viewer: Actor, state: NoticeState, cluster: str = "", source: Source | None = None, cursor: str | None = None
) -> Page[Notice]:
    """Notices newest first, a page at a time; ``cluster`` is a slug. One query. Raises NotAllowed, BadCursor."""
    require(viewer, Action.CLUSTER_MANAGE)
    rows = Notice.objects.filter(STATES[state]).select_related("cluster", "seen_by")
    if cluster:
        rows = rows.filter(cluster__slug=storable(cluster))
    if source is not None:
        rows = rows.filter(source=source)
    return keyset_page(rows, cursor, field="opened_at")


def notice_view(row: Notice) -> NoticeView:
    """Needs ``cluster`` and ``seen_by`` loaded."""
    return NoticeView(
        pk=row.pk,
        cluster=row.cluster.name,
        cluster_slug=row.cluster.slug,
        source=row.source,
        subject=row.subject,
        text=_text(row),
        facts=row.facts,
        opened_at=row.opened_at,
        closed_at=row.closed_at,
        seen_at=row.seen_at,
        seen_by=row.seen_by.username if row.seen_by is not None else "",
    )


def _text(row: Notice) -> str:
    source = Source(row.source)
    if source is Source.GROUPS:
        return group_notice_text(row.subject, row.facts)
    return _preflight_text(row) if source is Source.PREFLIGHT else conflict_text(source, row.subject, row.facts)


def _preflight_text(row: Notice) -> str:
    facts = row.facts
    finding = Finding(Verdict(facts["after"]), Problem(facts["problem"]), facts["facts"])
    return _("%(feature)s: was %(before)s, now %(after)s. %(found)s") % {
        "feature": FEATURES[Feature(row.subject)].title,
        "before": VERDICTS[Verdict(facts["before"])],
        "after": VERDICTS[finding.verdict],
        "found": found_text(finding),
    }
