"""The admin's console: nodes with a square per card, what is not well with them, and what can be done about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from accounts.policy import Action
from accounts.web import actor_of_page
from clusters.connected import cluster_get
from clusters.contract import NodeHealth
from clusters.group_selectors import open_proposals
from clusters.models import Cluster
from clusters.nodes_cordon import closing_refusal, node_cordon, node_uncordon
from clusters.nodes_forms import ReasonForm
from clusters.nodes_listing import NodeFilter, node_found, node_sheet
from clusters.nodes_selectors import NodeCare, NodeMarks, node_marks
from clusters.nodes_suspicion import suspicion_clear
from clusters.selectors import GroupView, NodeView
from clusters.water_selectors import is_shared
from common.errors import DomainError, NotFound
from common.htmx import render_page, wants_partial
from jobs import selectors
from jobs.charts import draw_groups, team_letters
from jobs.models import Job
from jobs.pages.admin import for_admins


@dataclass(frozen=True, slots=True)
class NodeHolder:
    """One attempt that holds cards of the chosen node; ``job`` is None for one that is no job of ours any more."""

    job: Job | None
    attempt: int
    cards: int
    running: bool
    ending: bool


@dataclass(frozen=True, slots=True)
class FailedJob:
    """A job that failed on the chosen node, and when."""

    job: Job | None
    ulid: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Chosen:
    """The node that is opened at the side."""

    view: GroupView
    node: NodeView
    care: NodeCare
    holders: tuple[NodeHolder, ...]
    failed: tuple[FailedJob, ...]  # evidence of its suspicion
    refusal: str  # why the console cannot close or open it


@for_admins(Action.NODE_VIEW)
@require_safe
def nodes(request: HttpRequest) -> HttpResponse:
    """Node groups with a square per card, a `page` at a time; `node` opens one at the side, `show` narrows to some."""
    viewer = actor_of_page(request)
    marks = node_marks(viewer=viewer)
    show = _filter(request.GET.get("show", ""))
    number = _number(request.GET.get("page", ""))
    sheet = node_sheet(viewer=viewer, show=show, number=number, suspected=marks.suspicions.keys())
    found = node_found(viewer=viewer, name=request.GET.get("node", ""), cluster=request.GET.get("cluster", ""))
    care = marks.care_of(found[0].cluster, found[1]) if found else None
    on_page = [node for view in sheet.groups for node in view.nodes] + ([found[1]] if found else [])
    ulids = {str(holder["job_ulid"]) for node in on_page for holder in node.holders}
    evidence = care.suspicion.evidence if care is not None and care.suspicion is not None else []
    jobs = selectors.jobs_by_ulid(viewer=viewer, ulids=ulids | {each["job_ulid"] for each in evidence})
    team_of = {ulid: jobs[ulid].team.name for ulid in ulids if ulid in jobs}
    letters = team_letters(team_of.values())
    context = {
        "proposals": {} if wants_partial(request) else open_proposals(),
        "groups": [group for group in draw_groups(sheet.groups, team_of, letters) if group.nodes],
        "letters": letters,
        "show": show.value,
        "sheet": sheet,
        "counts": {each.value: count for each, count in sheet.counts.items()},
        "attention": [_listed(marks, *one) for one in sheet.attention],
        "attention_count": sheet.counts[NodeFilter.ATTENTION],
        "out": sum(view.out for view in sheet.groups if not is_shared(view.group)),
        "slices_out": any(view.out for view in sheet.groups if is_shared(view.group)),
        "chosen": None,
    }
    if found is not None and care is not None:
        context["chosen"] = Chosen(
            *found,
            care,
            holders=tuple(_holders(found[1], jobs)),
            failed=tuple(_failed(each, jobs) for each in evidence),
            refusal=closing_refusal(found[0].cluster),
        )
    return render_page(request, "jobs/nodes.html", context, partial="live")


def _filter(typed: str) -> NodeFilter:
    """Everything for a word that means nothing."""
    return NodeFilter(typed) if typed in list(NodeFilter) else NodeFilter.ALL


def _number(typed: str) -> int:
    """The number of a sheet; the first for what is none."""
    return int(typed) if typed.isdecimal() and len(typed) < 7 else 1


@dataclass(frozen=True, slots=True)
class Listed:
    """One node of the list of those that need attention."""

    cluster: Cluster
    node: NodeView
    icon: str
    is_bad: bool
    care: NodeCare


def _listed(marks: NodeMarks, cluster: Cluster, node: NodeView) -> Listed:
    icons = {NodeHealth.DOWN.value: "wifi-off", NodeHealth.CORDONED.value: "tool"}
    care = marks.care_of(cluster, node)
    return Listed(cluster, node, icons.get(node.health, "alert-triangle"), node.health in icons, care)


def _holders(node: NodeView, jobs: dict[str, Job]) -> list[NodeHolder]:
    return [
        NodeHolder(
            job=jobs.get(str(holder["job_ulid"])),
            attempt=int(str(holder["attempt"])),
            cards=int(str(holder["cards"])),
            running=bool(holder["running"]),
            ending=bool(holder["ending"]),
        )
        for holder in node.holders
    ]


def _failed(each: Mapping[str, str], jobs: Mapping[str, Job]) -> FailedJob:
    return FailedJob(jobs.get(each["job_ulid"]), each["job_ulid"], datetime.fromisoformat(each["at"]))


# --------------------------------------------------------------------------- acts


class NodeAct(StrEnum):
    CORDON = "cordon"
    UNCORDON = "uncordon"
    TRUST = "trust"


@dataclass(frozen=True, slots=True)
class Wording:
    """What the question of an act is called."""

    title: str | Promise
    effects: tuple[tuple[str, str | Promise], ...]
    do_label: str | Promise
    done: str | Promise
    carry_out: Callable[..., object]


WORDINGS = {
    NodeAct.CORDON: Wording(
        gettext_lazy("Cordon %(name)s?"),
        (
            ("ban", gettext_lazy("It takes no new work; its free cards do not count as free.")),
            ("player-play", gettext_lazy("What runs there goes on.")),
        ),
        gettext_lazy("Cordon the node"),
        gettext_lazy("%(name)s is cordoned."),
        node_cordon,
    ),
    NodeAct.UNCORDON: Wording(
        gettext_lazy("Uncordon %(name)s?"),
        (("server-2", gettext_lazy("It takes new work again, whoever cordoned it.")),),
        gettext_lazy("Uncordon the node"),
        gettext_lazy("%(name)s takes new work again."),
        node_uncordon,
    ),
    NodeAct.TRUST: Wording(
        gettext_lazy("Trust %(name)s again?"),
        (
            ("rotate-clockwise", gettext_lazy("Retries may be placed there again.")),
            ("clock", gettext_lazy("Failures up to now do not count any more.")),
        ),
        gettext_lazy("Trust the node"),
        gettext_lazy("%(name)s is trusted again."),
        suspicion_clear,
    ),
}


@for_admins(Action.CLUSTER_MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def act(request: HttpRequest, cluster: str, node: str, act: NodeAct) -> HttpResponse:
    """Ask for the reason, then cordon, uncordon or trust a node."""
    actor = actor_of_page(request)
    found = cluster_get(viewer=actor, slug=cluster)
    if node_found(viewer=actor, name=node, cluster=found.slug) is None:
        raise NotFound("not_found", _("There is no node of this name."))
    wording = WORDINGS[act]
    form, note, status = ReasonForm(), "", 200
    if request.method == "POST":
        form = ReasonForm(request.POST)
        reason = form.cleaned_data["reason"] if form.is_valid() else ""
        try:
            wording.carry_out(actor=actor, cluster=found, node=node, reason=reason)
        except DomainError as error:
            status = 422 if error.status == 400 else error.status
            if error.status == 400:
                form.add_problems(error)
            else:
                note = str(error.message)
        else:
            messages.success(request, str(wording.done) % {"name": node})
            return redirect(_address(found, node))
    confirm = {
        "title": str(wording.title) % {"name": node},
        "note": note,
        "is_possible": not note,
        "effects": wording.effects,
        "hidden": [],
        "form": form,
        "action_url": reverse("admin_console:node_act", args=[found.slug, node, act.value]),
        "back_url": _address(found, node),
        "back_label": _("Back") if note else _("Leave it as it is"),
        "do_label": wording.do_label,
        "risky": False,
    }
    heading = "h2" if wants_partial(request) else "h1"
    context = {"confirm": confirm, "heading": heading}
    return render_page(request, "jobs/operate.html", context, partial="question", status=status)


def _address(cluster: Cluster, node: str) -> str:
    return f"{reverse('admin_console:nodes')}?{urlencode({'cluster': cluster.slug, 'node': node})}"
