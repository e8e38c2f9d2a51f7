"""Language and time zone of the signed-in person, for the length of one request."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.db import InternalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _

from accounts.actors import Actor, actor_of
from accounts.models import User
from accounts.selectors import has_second_factor, must_have_second_factor
from common.errors import NotAllowed, error_body


class PersonLocaleMiddleware:
    """Person's choice, else the language cookie, else what the browser asks for. The API only asks the header."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        chosen = "" if request.path.startswith("/api/") else getattr(request.user, "language", "")
        language = chosen or translation.get_language_from_request(request)
        zone = _zone(getattr(request.user, "time_zone", ""))
        with translation.override(language), timezone.override(zone):
            request.LANGUAGE_CODE = language
            response = self.get_response(request)
            if hasattr(response, "render") and not getattr(response, "is_rendered", True):
                response.render()
        response.headers.setdefault("Content-Language", language)
        patch_vary_headers(response, ["Accept-Language"])
        return response


def _zone(chosen: str) -> zoneinfo.ZoneInfo:
    """The person's time zone, else the site's: a name that this machine no longer knows must not break every page."""
    if chosen:
        try:
            return zoneinfo.ZoneInfo(chosen)
        except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
            pass
    return zoneinfo.ZoneInfo(settings.SITE_TIME_ZONE)


class ActorMiddleware:
    """`request.actor`: the signed-in person with their roles, loaded when first asked for; None when signed out."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.actor = SimpleLazyObject(lambda: _actor(request))  # type: ignore[attr-defined]
        return self.get_response(request)


def _actor(request: HttpRequest) -> Actor | None:
    user = request.user
    return actor_of(user) if isinstance(user, User) and user.is_authenticated else None


SEEN_EVERY = timedelta(minutes=5)


class SessionSeenMiddleware:
    """When a session was last used, to within some minutes. A page that renews itself says nothing about its reader."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated and request.headers.get("HX-Request") != "true":
            now = timezone.now()
            mine = UserSession.objects.filter(session_key=request.session.session_key)
            with suppress(InternalError):  # a database that takes no writes for now is read all the same
                mine.filter(last_seen_at__lt=now - SEEN_EVERY).update(last_seen_at=now)
        return self.get_response(request)


class SecondFactorMiddleware:
    """A platform admin who must have a second factor and has none yet gets to the page where to set it up, no further.

    Tokens are not sessions: scripts go on.
    """

    OPEN = frozenset(
        {
            "account_logout",
            "account_reauthenticate",
            "accounts:language",
            "healthz",
            "mfa_activate_totp",
            "oidc_callback",
            "oidc_login",
            "readyz",
        }
    )

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        user = request.user
        if not isinstance(user, User) or not must_have_second_factor(user) or has_second_factor(user):
            return None
        match = request.resolver_match
        if match is not None and match.view_name in self.OPEN:
            return None
        sentence = _("Platform admins need a second factor here. Set yours up first.")
        if request.path.startswith("/api/"):
            if request.headers.get("Authorization", "").startswith("Token "):
                return None
            return JsonResponse(error_body(NotAllowed("second_factor_needed", sentence)), status=403)
        target = reverse("mfa_activate_totp")
        if request.headers.get("HX-Request") == "true":
            return HttpResponse(status=403, headers={"HX-Redirect": target})
        messages.warning(request, sentence)
        return redirect(target)
