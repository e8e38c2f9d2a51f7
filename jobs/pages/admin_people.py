"""The admin's console: teams and people. Also the first page of an installation that has none."""

from __future__ import annotations

import secrets
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.forms import MemberForm, PersonForm, TeamForm
from accounts.models import User
from accounts.policy import Action
from accounts.selectors import membership_get, person_named, team_named, teams_with_members
from accounts.services import membership_remove, membership_set, person_add
from accounts.web import actor_of_page
from clusters.models import Cluster
from common.errors import DomainError, NotFound
from jobs.pages.admin import for_admins
from jobs.pages.admin_quotas import apply_quotas
from quotas.selectors import quota_groups
from quotas.services import shares_equal, team_open


@for_admins(Action.PEOPLE_MANAGE)
@require_safe
def setup(request: HttpRequest) -> HttpResponse:
    """Teams with their members, and the forms to add more."""
    return _page(request)


def _page(
    request: HttpRequest,
    *,
    team_form: TeamForm | None = None,
    person_form: PersonForm | None = None,
    member_form: MemberForm | None = None,
    made: dict[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    teams = teams_with_members(viewer=actor_of_page(request))
    context = {
        "teams": teams,
        "team_form": team_form or TeamForm(prefix="team"),
        "person_form": person_form or PersonForm(teams=teams, prefix="person"),
        "member_form": member_form or MemberForm(teams=teams, prefix="member"),
        "made": made,
        "has_shares": any(row.nominal for group in quota_groups() for row in group.rows),
    }
    return render(request, "jobs/people.html", context, status=status)


@for_admins(Action.PEOPLE_MANAGE)
@require_POST
def team_add(request: HttpRequest) -> HttpResponse:
    """Add a team with its queues."""
    form = TeamForm(request.POST, prefix="team")
    if form.is_valid():
        try:
            team = team_open(actor=actor_of_page(request), name=form.cleaned_data["name"])
        except DomainError as error:
            form.add_problems(error)
        else:
            apply_quotas(request, list(Cluster.objects.order_by("pk")))
            messages.success(request, _("Team %(name)s is added.") % {"name": team.name})
            return redirect("admin_console:setup")
    return _page(request, team_form=form, status=422)


@never_cache
@for_admins(Action.PEOPLE_MANAGE)
@require_POST
def people_add(request: HttpRequest) -> HttpResponse:
    """Add a person to a team. The password is made here and is in this answer only."""
    form = PersonForm(request.POST, teams=teams_with_members(viewer=actor_of_page(request)), prefix="person")
    if form.is_valid():
        password = secrets.token_urlsafe(12)
        typed = form.cleaned_data
        try:
            user: User = person_add(
                actor=actor_of_page(request),
                username=typed["username"],
                full_name=typed["full_name"],
                password=password,
                team_slug=typed["team"],
                role=typed["role"],
            )
        except DomainError as error:
            form.add_problems(error)
        else:
            return _page(request, made={"user": user, "password": password})
    return _page(request, person_form=form, status=422)


@for_admins(Action.PEOPLE_MANAGE)
@require_POST
def member_set(request: HttpRequest) -> HttpResponse:
    """Put a person who has an account into a team, or change their role there."""
    actor = actor_of_page(request)
    form = MemberForm(request.POST, teams=teams_with_members(viewer=actor), prefix="member")
    if form.is_valid():
        typed = form.cleaned_data
        try:
            user = person_named(viewer=actor, username=typed["username"])
            team = team_named(viewer=actor, slug=typed["team"])
            membership_set(actor=actor, user=user, team=team, role=typed["role"])
        except NotFound as error:
            form.add_error("username", str(error.message))
        except DomainError as error:
            form.add_problems(error)
        else:
            sentence = _("%(person)s is in team %(team)s now.")
            messages.success(request, sentence % {"person": user.display_name, "team": team.name})
            return redirect("admin_console:setup")
    return _page(request, member_form=form, status=422)


@for_admins(Action.PEOPLE_MANAGE)
@require_POST
def member_remove(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a person out of a team; their jobs stay."""
    actor = actor_of_page(request)
    found = membership_get(viewer=actor, pk=pk)
    membership_remove(actor=actor, user=found.user, team=found.team)
    sentence = _("%(person)s is no longer in team %(team)s.")
    messages.success(request, sentence % {"person": found.user.display_name, "team": found.team.name})
    return redirect("admin_console:setup")


@for_admins(Action.SHARES_MANAGE)
@require_POST
def equal_shares(request: HttpRequest) -> HttpResponse:
    """Give every team the same share of every node group."""
    shares_equal(actor=actor_of_page(request))
    apply_quotas(request, list(Cluster.objects.order_by("pk")))
    messages.success(request, _("All teams have equal shares now."))
    return redirect("admin_console:quotas")
