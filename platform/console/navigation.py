"""Which consoles a person has, which one a page belongs to, and what its side bar offers.

The console follows from the address: pages of one console never show another's navigation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _

from accounts.actors import Actor
from accounts.models import Team
from clusters.notices import unseen_notices
from clusters.selectors import Freshness, freshness
from common.phrases import listed

ENGINEER, LEAD, ADMIN = "engineer", "lead", "admin"


@dataclass(frozen=True, slots=True)
class ConsoleLink:
    """One console in the switcher."""

    key: str
    label: str
    sub: str
    url: str
    active: bool


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of the side bar."""

    label: str
    url: str
    icon: str
    active: bool
    count: int | None = None
    alert: int | None = None


@dataclass(frozen=True, slots=True)
class Navigation:
    """What the shell shows."""

    console: str
    team: str | None
    consoles: list[ConsoleLink]
    items: list[Item]
    clusters: list[Freshness]


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Context processor: `nav`, built only when a template asks for it; None for strangers."""
    return {"nav": SimpleLazyObject(lambda: _navigation(request))}


def _navigation(request: HttpRequest) -> Navigation | None:
    actor: Actor | None = getattr(request, "actor", None)
    if not actor or not request.user.is_authenticated:
        return None
    teams = list(Team.objects.filter(pk__in=actor.team_ids).order_by("name"))
    led = [team for team in teams if team.pk in actor.led_team_ids]
    console, team = _here(request, actor, led)
    return Navigation(
        console=console,
        team=team.name if team else (listed(t.name for t in teams) or None if console == ENGINEER else None),
        consoles=_consoles(actor, teams, led, console, team),
        items=_items(request, console, team),
        clusters=freshness(),
    )


def _here(request: HttpRequest, actor: Actor, led: list[Team]) -> tuple[str, Team | None]:
    match = request.resolver_match
    name = match.view_name if match else ""
    if name.startswith("team:"):
        slug = match.kwargs.get("team") if match else None
        return LEAD, next((team for team in led if team.slug == slug), None)
    if name.startswith("admin_console:"):
        return ADMIN, None
    if not actor.roles and actor.is_admin:
        return ADMIN, None
    return ENGINEER, None


def _consoles(actor: Actor, teams: list[Team], led: list[Team], console: str, team: Team | None) -> list[ConsoleLink]:
    links = []
    if teams:
        names = listed(t.name for t in teams)
        links.append(ConsoleLink(ENGINEER, _("Engineer"), names, reverse("jobs:list"), console == ENGINEER))
    for each in led:
        here = console == LEAD and team is not None and each.pk == team.pk
        links.append(ConsoleLink(LEAD, _("Team lead"), each.name, reverse("team:overview", args=[each.slug]), here))
    if actor.is_admin:
        nodes = reverse("admin_console:nodes")
        links.append(ConsoleLink(ADMIN, _("Platform admin"), _("all clusters"), nodes, console == ADMIN))
    return links


def _items(request: HttpRequest, console: str, team: Team | None) -> list[Item]:
    here = request.path

    def item(label: str, url: str, icon: str, *, exact: bool = True, alert: int | None = None) -> Item:
        return Item(label, url, icon, here == url if exact else here.startswith(url), alert=alert)

    if console == LEAD and team is not None:
        return [
            item(_("Team"), reverse("team:overview", args=[team.slug]), "gauge"),
            item(_("Jobs"), reverse("team:jobs", args=[team.slug]), "list-details"),
            item(_("Queues"), reverse("team:queues", args=[team.slug]), "inbox"),
            item(_("Secrets and data"), reverse("team:supplies", args=[team.slug]), "key"),
        ]
    if console == ADMIN:
        return [
            item(_("Water level"), reverse("admin_console:water"), "ripple"),
            item(_("Nodes"), reverse("admin_console:nodes"), "server-2"),
            item(_("Idle and waste"), reverse("admin_console:idle"), "clock"),
            item(_("Queues and quotas"), reverse("admin_console:quotas"), "percentage"),
            item(_("Local queues"), reverse("admin_console:queues"), "inbox"),
            item(_("All jobs"), reverse("admin_console:jobs"), "list-details"),
            item(
                _("Clusters"),
                reverse("admin_console:clusters"),
                "stack-2",
                exact=False,
                alert=unseen_notices() or None,
            ),
            item(_("Teams and people"), reverse("admin_console:setup"), "users"),
            item(_("Audit"), reverse("admin_console:audit"), "clipboard-text"),
            item(_("Tokens"), reverse("accounts:tokens"), "key"),
            item(_("Sign-in"), reverse("accounts:security"), "lock"),
        ]
    submit = reverse("jobs:submit")
    jobs = reverse("jobs:list")
    return [
        Item(_("My jobs"), jobs, "list-details", here.startswith(jobs) and not here.startswith(submit)),
        item(_("Submit a job"), submit, "plus", exact=False),
        item(_("Tokens"), reverse("accounts:tokens"), "key"),
        item(_("Sign-in"), reverse("accounts:security"), "lock"),
    ]
