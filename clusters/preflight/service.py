"""Look at a cluster's setup, keep the rows, and give notice where something has become worse."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q, Sum
from django.utils import timezone

from accounts import audit
from accounts.actors import Actor
from accounts.models import Team
from accounts.policy import Action, require
from clusters.accelerator_models import AcceleratorName
from clusters.contract import BackendError, Preflightable, SharingMode
from clusters.models import Cluster, Node, NodeGroup, Notice, PreflightRow, TeamStorage
from clusters.notices import Source, notices_settle
from clusters.preflight.survey import Survey
from clusters.preflight.table import preflight
from clusters.preflight.words import Feature, Finding, Verdict
from clusters.registry import backend_for
from common.hints import send
from common.locks import LockSpace, try_session_lock

logger = logging.getLogger(__name__)

EVERY = timedelta(hours=1)
AGAIN_AFTER_FAILURE = timedelta(minutes=5)

RANK = {Verdict.OK: 0, Verdict.UNKNOWN: 1, Verdict.LIMITED: 2, Verdict.MISSING: 3}
"""How bad a verdict is; a row whose rank rises is worth a notice."""


def preflight_due(now: datetime | None = None) -> int:
    """Have every cluster looked at whose last look is too old or that somebody asked for; returns how many."""
    now = now or timezone.now()
    old = Q(surveyed_at=None) | Q(surveyed_at__lte=now - EVERY)
    rested = Q(survey_tried_at=None) | Q(survey_tried_at__lte=now - AGAIN_AFTER_FAILURE)
    asked = Q(survey_asked_at__isnull=False) & (Q(survey_tried_at=None) | Q(survey_asked_at__gt=F("survey_tried_at")))
    awake = Q(rest_until=None) | Q(rest_until__lte=now)
    due = Cluster.objects.filter(awake & ((old & rested) | asked)).order_by("pk")
    clusters = list(due.values_list("pk", flat=True))
    for pk in clusters:
        send("clusters.preflight", pk)
    return len(clusters)


@transaction.atomic
def preflight_ask(*, actor: Actor, cluster: Cluster) -> None:
    """Ask for a look now; a worker takes it within seconds. Raises NotAllowed."""
    require(actor, Action.CLUSTER_MANAGE)
    Cluster.objects.filter(pk=cluster.pk).update(survey_asked_at=timezone.now())
    audit.record(actor, "cluster.preflight", target_type="cluster", target_id=cluster.public_id)
    send("clusters.preflight", cluster.pk)


def preflight_run(cluster: Cluster, now: datetime | None = None) -> bool:
    """Look and store; False if another process is at it, the cluster does not answer, or it cannot be asked."""
    backend = backend_for(cluster)
    if not isinstance(backend, Preflightable):
        return False
    now = now or timezone.now()
    with try_session_lock(LockSpace.SURVEY, cluster.pk) as taken:
        if not taken:
            return False
        try:
            survey = backend.survey(now)
        except BackendError as error:
            logger.warning("the setup of cluster %s could not be read: %s", cluster.slug, error.code)
            Cluster.objects.filter(pk=cluster.pk).update(survey_tried_at=now, survey_error=error.code[:64])
            return False
        _store(cluster, preflight(_completed(cluster, survey)), now)
    return True


def _completed(cluster: Cluster, survey: Survey) -> Survey:
    """With what the console knows itself; five queries."""
    named = set(AcceleratorName.objects.filter(cluster=cluster).values_list("resource", flat=True))
    unknown = survey.unknown_resources
    groups = NodeGroup.objects.filter(cluster=cluster).values_list("sharing", flat=True)
    return replace(
        survey,
        unknown_resources=unknown and {name: nodes for name, nodes in unknown.items() if name not in named},
        outside_cards=Node.objects.filter(cluster=cluster).aggregate(cards=Sum("outside"))["cards"] or 0,
        teams=Team.objects.filter(archived_at=None).count(),
        teams_with_storage=TeamStorage.objects.filter(cluster=cluster, team__archived_at=None).count(),
        groups=len(groups),
        shared_groups=sum(sharing != SharingMode.EXCLUSIVE.value for sharing in groups),
    )


def _store(cluster: Cluster, findings: Mapping[Feature, Finding], now: datetime) -> None:
    """Write the rows that changed, and settle the notices. Under the cluster's survey lock."""
    known = {row.feature: row for row in PreflightRow.objects.filter(cluster=cluster)}
    signs = _signs(cluster, known, findings)
    made: list[PreflightRow] = []
    changed: list[PreflightRow] = []
    for feature, found in findings.items():
        row = known.get(feature.value) or PreflightRow(cluster=cluster, feature=feature.value, since=now)
        after = (found.verdict.value, found.problem.value if found.problem else "", dict(found.facts))
        if row.pk is not None and (row.verdict, row.problem, row.facts) == after:
            continue
        if (row.verdict, row.problem) != after[:2]:
            row.since = now
        row.verdict, row.problem, row.facts = after
        (made if row.pk is None else changed).append(row)
    with transaction.atomic():
        PreflightRow.objects.filter(cluster=cluster).exclude(
            feature__in=[feature.value for feature in Feature]
        ).delete()
        PreflightRow.objects.bulk_create(made)
        if changed:
            PreflightRow.objects.bulk_update(changed, ["verdict", "problem", "facts", "since"])
        notices_settle(cluster, Source.PREFLIGHT, signs, now)
        Cluster.objects.filter(pk=cluster.pk).update(surveyed_at=now, survey_tried_at=now, survey_error="")


def _signs(
    cluster: Cluster, known: Mapping[str, PreflightRow], findings: Mapping[Feature, Finding]
) -> dict[str, dict[str, Any]]:
    """Rows that are worse than they were: since the look before this one, or since a notice of that is open.

    The first look at a cluster is news to nobody: its rows stand on the page.
    """
    open_ones = Notice.objects.filter(cluster=cluster, source=Source.PREFLIGHT, closed_at=None)
    before = {notice.subject: str(notice.facts.get("before", Verdict.OK)) for notice in open_ones}
    before |= {feature: row.verdict for feature, row in known.items() if feature not in before}
    return {
        feature.value: {
            "before": before[feature.value],
            "after": found.verdict.value,
            "problem": found.problem.value if found.problem else "",
            "facts": dict(found.facts),
        }
        for feature, found in findings.items()
        if feature.value in before and RANK[found.verdict] > RANK[Verdict(before[feature.value])]
    }
