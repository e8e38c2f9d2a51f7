"""The editor of a cluster's division: what is typed on one sheet, the draft of all sheets, and what it would do.

The draft lies in the person's session until it is saved or discarded, so that one version can change many node groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import ngettext

from accounts.web import actor_of_page
from clusters.models import Cluster
from common.errors import DomainError, InvalidInput, NotFound
from common.htmx import render_page
from jobs.plan_sheets import Narrowed, plan_sheet
from jobs.plan_view import PreviewView, preview_view, team_names
from quotas.domain.plan import Division, Plan, SharedOut, divide, problems
from quotas.domain.shares import WHOLE, percent_text
from quotas.forms import PartLine, PlanForm
from quotas.plans import errors
from quotas.plans.content import division_from
from quotas.plans.drafts import Draft, changes, drafted, laid_over
from quotas.plans.errors import ChangedMeanwhile
from quotas.plans.history import changed_since, version_get
from quotas.plans.preview import plan_preview
from quotas.plans.services import newest_version, plan_save
from quotas.plans.store import Stored, stored
from quotas.plans.words import changes_in_words, part_in_words, rules_in_words

DRAFTS = "plan_drafts"
"""In the session: cluster -> {version, values, reason}."""
CHANGES_SHOWN = 24


@dataclass(frozen=True, slots=True)
class GroupSheet:
    """One node group on the sheet: its cards, what is given of them in the draft, and its lines with cards today."""

    slug: str
    title: str
    cards: int
    given: str
    pool_percent: str
    lines: list[tuple[PartLine, int]]


@dataclass(frozen=True, slots=True)
class RuleWords:
    """What one team's rules mean, everywhere and in each node group of the sheet."""

    team: str
    rules: list[str]
    parts: list[tuple[str, list[str]]]


class Editor:
    """One request to the editor."""

    def __init__(self, request: HttpRequest, cluster: Cluster) -> None:
        self.request, self.cluster = request, cluster
        self.now: Stored = stored(cluster)
        self.teams = team_names(cluster)
        self.titles = dict(cluster.groups.order_by("position", "slug").values_list("slug", "title"))
        self.narrowed = Narrowed.of(request.GET)
        self.sheet = plan_sheet(self.titles, self.teams, self.narrowed)
        self.preview: PreviewView | None = None
        self.meanwhile: list[str] = []
        self.problems: list[str] = []
        kept = request.session.get(DRAFTS, {}).get(cluster.slug, {})
        self.draft: Draft = kept.get("values", {})
        self.seen = int(kept.get("version", self.now.number))
        self.reason = str(kept.get("reason", ""))
        self.form = self._form(bound=request.method == "POST")

    @property
    def here(self) -> str:
        """The address of this sheet."""
        return reverse("admin_console:plan", args=[self.cluster.slug]) + self.narrowed.address()

    @property
    def changed(self) -> Plan:
        """The queues and groups that the draft changes, as they would be."""
        return changes(self.draft, self.now.division.plan, self.titles)

    def open(self) -> HttpResponse:
        """Show the sheet; a draft with what it would do, and what somebody else saved since it was begun."""
        if self.draft and self.seen != self.now.number:
            self._say_meanwhile()
        if self.draft:
            self.foresee()
        return self.answer(200)

    def keep(self) -> bool:
        """Take what was typed into the draft; False where it cannot be read."""
        if not self.form.is_valid():
            return False
        data = self.form.cleaned_data
        self.draft = drafted(self.draft, self.form.plan(), self._seen_plan(data["expected_version"]))
        self.seen, self.reason = data["expected_version"], data["reason"]
        self._store({"version": self.seen, "values": self.draft, "reason": self.reason} if self.draft else None)
        return True

    def discard(self) -> None:
        """Forget the draft."""
        self._store(None)

    def is_sound(self) -> bool:
        """Whether each value of the sheet may stay while others are typed: only the sum of a group may be too large."""
        found = problems(self.form.plan(), self.now.division.plan, queues=self.now.queue_ids, groups=self.titles)
        wrong = [each for each in found if each.code != "above_whole"]
        if wrong:
            self.form.add_plan_problems(errors.refused(wrong))
        return not wrong

    def save(self) -> bool:
        """True where the draft was saved as one version; else the page says why not."""
        try:
            plan_save(
                actor=actor_of_page(self.request),
                cluster=self.cluster,
                expected_version=self.seen,
                plan=self.changed,
                reason=self.reason,
            )
        except ChangedMeanwhile:
            self._say_meanwhile()
            self.form = self._form(bound=False)
            self.foresee()
            return False
        except DomainError as error:
            self._refuse(error)
            return False
        self.discard()
        return True

    def foresee(self) -> bool:
        """Look at what saving would do; False where it cannot be saved."""
        try:
            preview = plan_preview(viewer=actor_of_page(self.request), cluster=self.cluster, plan=self.changed)
        except InvalidInput as error:
            self._refuse(error)
            return False
        self.preview = preview_view(self.cluster, preview)
        return True

    def answer(self, status: int) -> HttpResponse:
        """The page, or what saving would do and what the rules mean where only that is asked for."""
        shown, number = laid_over(self.now.division.plan, self.changed), self.sheet.number
        context = {
            "cluster": self.cluster,
            "here": self.here,
            "form": self.form,
            "groups": self._groups(shown),
            "rules": self._rules(),
            "version": self.now.number,
            "drafted": len(self.draft),
            "narrowed": self.narrowed,
            "choices": self.titles,
            "sheet": self.sheet,
            "newer": self.narrowed.address(number - 1) if number > 1 else "",
            "older": self.narrowed.address(number + 1) if number < self.sheet.count else "",
            "preview": self.preview,
            "meanwhile": self.meanwhile,
            "problems": self.problems,
        }
        return render_page(self.request, "jobs/plan.html", context, partial="foretold", status=status)

    # inside

    def _form(self, *, bound: bool) -> PlanForm:
        return PlanForm(
            self.request.POST if bound else None,
            sheet=self.sheet.queues,
            teams=self.teams,
            titles=self.titles,
            plan=laid_over(self.now.division.plan, self.changed),
            version=self.now.number,
            reason=self.reason,
        )

    def _seen_plan(self, version: int) -> Plan:
        """What the person had before their eyes while typing."""
        if version == self.now.number:
            return self.now.division.plan
        try:
            return division_from(version_get(self.cluster, version).content).plan
        except NotFound:
            return Plan({})

    def _store(self, kept: dict[str, Any] | None) -> None:
        drafts = {
            slug: each for slug, each in self.request.session.get(DRAFTS, {}).items() if slug != self.cluster.slug
        }
        if kept is not None:
            drafts[self.cluster.slug] = kept
        if drafts != self.request.session.get(DRAFTS, {}):
            self.request.session[DRAFTS] = drafts

    def _say_meanwhile(self) -> None:
        """Somebody else was faster: what was changed here is laid over what they saved, and both can be read."""
        told = ChangedMeanwhile(newest_version(self.cluster), expected=self.seen).message
        said = changes_in_words(changed_since(self.cluster, self.seen), self.teams, self.titles)
        more = len(said) - CHANGES_SHOWN
        rest = [ngettext("And %(count)d more.", "And %(count)d more.", more) % {"count": more}] if more > 0 else []
        self.meanwhile = [str(told), *said[:CHANGES_SHOWN], *rest]

    def _refuse(self, error: DomainError) -> None:
        if self.form.is_bound:
            self.form.add_plan_problems(error)
        else:  # opened with a draft that cannot be saved as it is
            found = error.problems if isinstance(error, InvalidInput) else ()
            self.problems = [str(each.message) for each in found] or [str(error.message)]

    def _shared_out(self, division: Division) -> SharedOut:
        """The cards of the node groups on the sheet: there may be many more."""
        on_sheet = {group: division.cards.get(group, 0) for group in self.sheet.queues}
        return divide(replace(division, cards=on_sheet))

    def _groups(self, shown: Plan) -> list[GroupSheet]:
        today = self._shared_out(self.now.division)
        found = []
        for group in self.sheet.queues:
            given = sum(shown.points(group).values())
            found.append(
                GroupSheet(
                    slug=group,
                    title=self.titles[group],
                    cards=self.now.division.cards.get(group, 0),
                    given=percent_text(given),
                    pool_percent=percent_text(max(0, WHOLE - given)),
                    lines=[(line, today.part(line.queue, group).nominal) for line in self.form.part_lines(group)],
                )
            )
        return found

    def _rules(self) -> list[RuleWords]:
        """Of what is typed. Where that cannot be divided, of what holds now."""
        then = self.preview.preview.after if self.preview else self.now.division
        shared_out = self._shared_out(then)
        return [
            RuleWords(
                team=self.teams[queue],
                rules=rules_in_words(then.plan.queue(queue)),
                parts=[
                    (self.titles[group], part_in_words(then.plan.queue(queue), shared_out.part(queue, group)))
                    for group, queues in self.sheet.queues.items()
                    if queue in queues
                ],
            )
            for queue in self.form.queues
        ]
