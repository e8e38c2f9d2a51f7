"""The preview of a plan for people: names instead of ids, and jobs one can go to."""

from __future__ import annotations

from dataclasses import dataclass

from clusters.models import Cluster
from jobs.models import Job
from quotas.domain.foresight import Holding
from quotas.domain.plan import divide
from quotas.models import TeamQueue
from quotas.plans.preview import PlanPreview, PreviewRow
from quotas.plans.words import changes_in_words

JOBS_SHOWN = 12


@dataclass(frozen=True, slots=True)
class AffectedJob:
    """A running job that a plan could cost its cards. ``taken_by`` names the waiting job that takes them at once."""

    public_id: str
    name: str
    team: str
    group: str
    cards: int
    taken_by: str


@dataclass(frozen=True, slots=True)
class PreviewLine:
    """One team in one node group."""

    team: str
    group: str
    unit: str
    row: PreviewRow


@dataclass(frozen=True, slots=True)
class PreviewView:
    """A preview with names."""

    preview: PlanPreview
    changes: list[str]
    lines: list[PreviewLine]
    pools: list[tuple[str, int]]
    jobs: list[AffectedJob]
    more_jobs: int

    @property
    def taken_cards(self) -> int:
        return sum(each.holding.cards for each in self.preview.taken)


def team_names(cluster: Cluster) -> dict[str, str]:
    """Names of the teams by queue, in their order; one query."""
    rows = TeamQueue.objects.filter(cluster=cluster).order_by("team__name", "slug")
    return dict(rows.values_list("slug", "team__name"))


def preview_view(cluster: Cluster, preview: PlanPreview) -> PreviewView:
    """Three queries beside the preview's own."""
    teams = team_names(cluster)
    groups = {slug: (title, unit) for slug, title, unit in cluster.groups.values_list("slug", "title", "unit")}
    titles = {slug: title for slug, (title, _unit) in groups.items()}
    found: list[tuple[Holding, str]] = [(each.holding, each.by.job_ulid) for each in preview.taken]
    found += [(holding, "") for holding in preview.returnable]
    shown = found[:JOBS_SHOWN]
    ids = {holding.job_ulid for holding, _by in shown} | {by for _holding, by in shown if by}
    names = dict(Job.objects.filter(public_id__in=ids).values_list("public_id", "display_name"))
    pool = divide(preview.after).pool
    changed = {row.change.group for row in preview.rows} | {change.group for change in preview.groups}
    return PreviewView(
        preview=preview,
        changes=changes_in_words(preview.diff, teams, titles),
        lines=[
            PreviewLine(teams.get(row.change.queue, row.change.queue), *groups[row.change.group], row)
            for row in preview.rows
        ],
        pools=[(titles[group], cards) for group, cards in pool.items() if group in changed],
        jobs=[
            AffectedJob(
                public_id=holding.job_ulid,
                name=names.get(holding.job_ulid, holding.job_ulid),
                team=teams.get(holding.queue, holding.queue),
                group=titles.get(holding.group, holding.group),
                cards=holding.cards,
                taken_by=names.get(by, by),
            )
            for holding, by in shown
        ],
        more_jobs=len(found) - len(shown),
    )
