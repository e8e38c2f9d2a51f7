"""The preview of a plan for people: names instead of ids, and jobs one can go to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.utils.translation import gettext_lazy

from clusters.models import Cluster, NodeGroup
from jobs.card_sharing import group_sharing
from jobs.models import Job
from quotas.domain.live import Holding, Verdict
from quotas.domain.plan import divide
from quotas.models import TeamQueue
from quotas.plans.preview import PlanPreview, PreviewRow, QueuedJob
from quotas.plans.words import changes_in_words

JOBS_SHOWN = 12
LINES_SHOWN = 48
CHANGES_SHOWN = 24
CARD = "card"

VERDICTS = {
    Verdict.NOW: gettext_lazy("at once"),
    Verdict.TAKES: gettext_lazy("when others have given cards back"),
    Verdict.CARDS: gettext_lazy("when cards come free"),
    Verdict.PLACES: gettext_lazy("when nodes have room for it"),
    Verdict.BEHIND: gettext_lazy("after the job before it"),
    Verdict.NEVER: gettext_lazy("never: it is too large"),
}


@dataclass(frozen=True, slots=True)
class JobLine:
    """A job with names and the cards that it is about."""

    public_id: str
    name: str
    team: str
    group: str
    unit: str
    sharing: str
    cards: int


@dataclass(frozen=True, slots=True)
class AffectedJob:
    """A running job that a plan could cost its cards. ``taken_by`` names the waiting job that takes them at once."""

    job: JobLine
    taken_by: str


@dataclass(frozen=True, slots=True)
class ExpectedJob:
    """A waiting job for which a plan changes when it starts."""

    job: JobLine
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class PreviewLine:
    """One team in one node group."""

    team: str
    group: str
    unit: str
    row: PreviewRow


@dataclass(frozen=True, slots=True)
class PreviewView:
    """A preview with names. Of long lists the beginning, and how many more there are."""

    preview: PlanPreview
    changes: list[str]
    more_changes: int
    lines: list[PreviewLine]
    more_lines: int
    pools: list[tuple[str, int, str]]
    jobs: list[AffectedJob]
    more_jobs: int
    verdicts: list[tuple[str, int, int]]  # what is said of waiting jobs, of how many today and with the plan
    expected: list[ExpectedJob]
    more_expected: int
    units: dict[str, str]  # by group; amounts of different units are never added up

    @property
    def taken(self) -> list[tuple[str, int]]:
        """What is taken back at once, unit by unit."""
        return self._by_unit(each.holding for each in self.preview.taken)

    @property
    def returnable(self) -> list[tuple[str, int]]:
        """What owners may take back, with what is taken at once, unit by unit."""
        return self._by_unit([*(each.holding for each in self.preview.taken), *self.preview.returnable])

    def _by_unit(self, holdings: Iterable[Holding]) -> list[tuple[str, int]]:
        sums: Counter[str] = Counter()
        for holding in holdings:
            sums[self.units.get(holding.group, CARD)] += holding.cards
        return sorted(sums.items()) or [(CARD, 0)]


def team_names(cluster: Cluster) -> dict[str, str]:
    """Names of the teams by queue, in their order; one query."""
    rows = TeamQueue.objects.filter(cluster=cluster).order_by("team__name", "slug")
    return dict(rows.values_list("slug", "team__name"))


def preview_view(cluster: Cluster, preview: PlanPreview) -> PreviewView:
    """Three queries beside the preview's own."""
    teams, groups = team_names(cluster), {group.slug: group for group in cluster.groups.all()}
    titles = {slug: group.title for slug, group in groups.items()}
    found: list[tuple[Holding, str]] = [(each.holding, each.by.job_ulid) for each in preview.taken]
    found += [(holding, "") for holding in preview.returnable]
    changing = [each for each in preview.queued if each.before is not each.after]
    shown, expected = found[:JOBS_SHOWN], changing[:JOBS_SHOWN]
    names = _Names(teams, groups, _job_names(shown, expected))
    changes = changes_in_words(preview.diff, teams, titles)
    changed = {row.change.group for row in preview.rows} | {change.group for change in preview.groups}
    pool = [(group, cards) for group, cards in divide(preview.after).pool.items() if group in changed]
    return PreviewView(
        preview=preview,
        changes=changes[:CHANGES_SHOWN],
        more_changes=max(0, len(changes) - CHANGES_SHOWN),
        lines=[names.line(row) for row in preview.rows[:LINES_SHOWN]],
        more_lines=max(0, len(preview.rows) - LINES_SHOWN),
        pools=[(titles[group], cards, groups[group].unit) for group, cards in pool[:LINES_SHOWN]],
        jobs=[
            AffectedJob(
                names.job(holding.job_ulid, holding.queue, holding.group, holding.cards), names.jobs.get(by, by)
            )
            for holding, by in shown
        ],
        more_jobs=len(found) - len(shown),
        verdicts=_verdicts(preview),
        expected=[
            ExpectedJob(
                names.job(each.waiting.job_ulid, each.waiting.queue, each.waiting.group, each.waiting.cards),
                str(VERDICTS[each.before]),
                str(VERDICTS[each.after]),
            )
            for each in expected
        ],
        more_expected=len(changing) - len(expected),
        units={slug: group.unit for slug, group in groups.items()},
    )


@dataclass(frozen=True, slots=True)
class _Names:
    """What people call queues, node groups and jobs."""

    teams: Mapping[str, str]
    groups: Mapping[str, NodeGroup]
    jobs: Mapping[str, str]

    def line(self, row: PreviewRow) -> PreviewLine:
        group = self.groups[row.change.group]
        return PreviewLine(self.teams.get(row.change.queue, row.change.queue), group.title, group.unit, row)

    def job(self, ulid: str, queue: str, group: str, cards: int) -> JobLine:
        found = self.groups[group]
        return JobLine(
            public_id=ulid,
            name=self.jobs.get(ulid, ulid),
            team=self.teams.get(queue, queue),
            group=found.title,
            unit=found.unit,
            sharing=group_sharing(found).value,
            cards=cards,
        )


def _job_names(shown: Iterable[tuple[Holding, str]], expected: Iterable[QueuedJob]) -> dict[str, str]:
    """By id; one query."""
    ids = {each.waiting.job_ulid for each in expected}
    for holding, by in shown:
        ids |= {holding.job_ulid, by} - {""}
    return dict(Job.objects.filter(public_id__in=ids).values_list("public_id", "display_name"))


def _verdicts(preview: PlanPreview) -> list[tuple[str, int, int]]:
    before = Counter(each.before for each in preview.queued)
    after = Counter(each.after for each in preview.queued)
    return [
        (str(text), before[verdict], after[verdict])
        for verdict, text in VERDICTS.items()
        if before[verdict] or after[verdict]
    ]
