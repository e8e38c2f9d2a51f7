"""Language and time zone of the signed-in person, for the length of one request."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers
from django.utils.functional import SimpleLazyObject

from accounts.actors import Actor, actor_of
from accounts.models import User


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
