"""The admin's console: node groups of a cluster, proposed, confirmed and put aside."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from accounts.actors import Actor
from accounts.policy import Action
from accounts.web import actor_of_page
from clusters.connected import cluster_get
from clusters.group_forms import GroupForm
from clusters.group_preview import Preview
from clusters.group_selectors import CONFIRMED, GroupRow, group_detail, groups_view
from clusters.groups import (
    group_confirm,
    group_edit,
    groups_confirm_all,
    proposal_bring_back,
    proposal_put_aside,
)
from clusters.models import Cluster
from common.errors import DomainError
from jobs.pages.admin import for_admins
from quotas.group_services import group_put_aside


@for_admins(Action.CLUSTER_MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def groups(request: HttpRequest, cluster: str) -> HttpResponse:
    """What is proposed, confirmed and put aside; a POST confirms everything that is proposed."""
    actor = actor_of_page(request)
    found = cluster_get(viewer=actor, slug=cluster)
    if request.method == "POST":
        count = groups_confirm_all(actor=actor, cluster=found)
        sentence = ngettext("%(count)d group is confirmed.", "%(count)d groups are confirmed.", count)
        messages.success(request, sentence % {"count": count})
        if left := len(groups_view(viewer=actor, cluster=found).proposed):
            sentence = ngettext(
                "%(count)d group needs a word first: open it and confirm it there.",
                "%(count)d groups need a word first: open and confirm each of them.",
                left,
            )
            messages.warning(request, sentence % {"count": left})
        return redirect("admin_console:groups", cluster=found.slug)
    return render(request, "jobs/groups.html", {"cluster": found, "view": groups_view(viewer=actor, cluster=found)})


@for_admins(Action.CLUSTER_MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def group(request: HttpRequest, cluster: str, group: str) -> HttpResponse:
    """One group with its form. A POST says what to do by `act`: preview, save, aside or back."""
    actor = actor_of_page(request)
    found = cluster_get(viewer=actor, slug=cluster)
    detail = group_detail(viewer=actor, cluster=found, slug=group)
    has_labels = groups_have_labels(found)
    form = GroupForm(row=detail.group, has_labels=has_labels)
    preview: Preview | None = None
    status = 200
    if request.method == "POST":
        form, status = GroupForm(request.POST, row=detail.group, has_labels=has_labels), 422
        act = request.POST.get("act", "preview")
        if form.is_valid():
            try:
                if act in ("aside", "back"):
                    _set_aside(actor, found, detail.group, form.expected_version, back=act == "back")
                    return _told(request, found, act, detail.group)
                preview = _save(actor, found, detail.group, form, dry_run=act != "save")
            except DomainError as error:
                form.add_problems(error, {"selector": "labels"})
            else:
                if act == "save":
                    return _told(request, found, act, detail.group)
                status = 200
    context = {"cluster": found, "detail": detail, "group": detail.group, "form": form, "preview": preview}
    return render(request, "jobs/group.html", context, status=status)


def groups_have_labels(cluster: Cluster) -> bool:
    """Whether membership is an admin's to decide: not in the sandbox."""
    return cluster.kind != "sandbox"


def _save(actor: Actor, cluster: Cluster, row: GroupRow, form: GroupForm, *, dry_run: bool) -> Preview:
    act = group_edit if row.state == CONFIRMED else group_confirm
    return act(
        actor=actor,
        cluster=cluster,
        slug=row.row.slug,
        data=form.said(),
        expected_version=form.expected_version,
        dry_run=dry_run,
    ).preview


def _set_aside(actor: Actor, cluster: Cluster, row: GroupRow, expected_version: int, *, back: bool) -> None:
    if back:
        proposal_bring_back(actor=actor, cluster=cluster, slug=row.row.slug)
    elif row.state == CONFIRMED:
        group_put_aside(actor=actor, cluster=cluster, slug=row.row.slug, expected_version=expected_version)
    else:
        proposal_put_aside(actor=actor, cluster=cluster, slug=row.row.slug, expected_version=expected_version)


def _told(request: HttpRequest, cluster: Cluster, act: str, row: GroupRow) -> HttpResponse:
    names = {"group": row.row.title}
    if act == "back":
        text = _("The nodes of %(group)s are proposed again.") % names
    elif act == "aside":
        text = _("%(group)s is put aside: its nodes do not count any more.") % names
    elif row.state == CONFIRMED:
        text = _("%(group)s is saved.") % names
    else:
        text = _("%(group)s is confirmed. Give teams shares of it, and jobs can run there.") % names
    messages.success(request, text)
    return redirect("admin_console:groups", cluster=cluster.slug)
