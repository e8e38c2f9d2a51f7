"""The history of a cluster's plan: who changed it, when, why, and what."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from clusters.models import Cluster
from common.errors import NotFound
from common.pages import Page, keyset_page
from quotas.domain.plan import Division, Plan, PlanDiff, diff
from quotas.models import GroupCards, QuotaVersion
from quotas.plans.content import division_from

_NOTHING = Division(Plan({}), {})


@dataclass(frozen=True, slots=True)
class VersionView:
    """One version and what it changed."""

    version: QuotaVersion
    changed: PlanDiff


def version_page(cluster: Cluster, cursor: str = "") -> Page[QuotaVersion]:
    """A page of versions, newest first; one query. Raises BadCursor."""
    return keyset_page(QuotaVersion.objects.filter(cluster=cluster), cursor or None, field="made_at")


def version_views(cluster: Cluster, versions: list[QuotaVersion]) -> list[VersionView]:
    """Versions with what each changed against the one before it; one query."""
    numbers = {version.number - 1 for version in versions}
    contents = dict(QuotaVersion.objects.filter(cluster=cluster, number__in=numbers).values_list("number", "content"))
    contents |= {version.number: version.content for version in versions}
    divisions = {number: division_from(content) for number, content in contents.items()}
    return [
        VersionView(version, diff(divisions.get(version.number - 1, _NOTHING), divisions[version.number]))
        for version in versions
    ]


def version_get(cluster: Cluster, number: int) -> QuotaVersion:
    """One version. Raises NotFound."""
    found = QuotaVersion.objects.filter(cluster=cluster, number=number).first()
    if found is None:
        raise NotFound("not_found", _("There is no such version of this plan."))
    return found


def changed_since(cluster: Cluster, number: int) -> PlanDiff:
    """What differs between a version and the newest one; everything where there was none yet."""
    newest = QuotaVersion.objects.filter(cluster=cluster).order_by("-number").first()
    old = QuotaVersion.objects.filter(cluster=cluster, number=number).first()
    return diff(division_from(old.content) if old else _NOTHING, division_from(newest.content) if newest else _NOTHING)


def waiting_groups() -> list[GroupCards]:
    """Node groups whose cards are another number by now, and wait for an admin's word; one query."""
    rows = GroupCards.objects.exclude(waiting=None).select_related("group__cluster")
    return list(rows.order_by("group__cluster__name", "group__position"))
