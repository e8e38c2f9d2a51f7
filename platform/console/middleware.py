"""What holds for every answer: its headers, no cache keeps it, and an error of a service becomes one clear page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from csp.constants import SELF
from csp.middleware import CSPMiddleware, PolicyParts
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _

from common.errors import DomainError
from common.pages import BadCursor

_UNUSED_FEATURES = (
    "accelerometer",
    "autoplay",
    "camera",
    "display-capture",
    "encrypted-media",
    "geolocation",
    "gyroscope",
    "magnetometer",
    "microphone",
    "midi",
    "payment",
    "publickey-credentials-get",
    "screen-wake-lock",
    "usb",
    "xr-spatial-tracking",
)
_POLICY = "Content-Security-Policy"


class HeadersMiddleware:
    """The headers of every answer, also of those that no inner middleware sees: static files, redirects, refused hosts.

    The outermost one. What others have set stays, but for the isolation from other origins, which has no exception.
    """

    ISOLATION = {
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": ", ".join(f"{feature}=()" for feature in _UNUSED_FEATURES),
    }
    NO_PAGE = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        for name, value in self.ISOLATION.items():
            response.headers[name] = value
        response.headers.setdefault(_POLICY, self.NO_PAGE)
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        response.headers.setdefault("X-Frame-Options", settings.X_FRAME_OPTIONS)
        response.headers.setdefault("Referrer-Policy", settings.SECURE_REFERRER_POLICY)
        return response


class ContentPolicyMiddleware(CSPMiddleware):
    """Only scripts that our templates named, by this answer's nonce, run.

    The operators' pages come with Django, whose templates name no nonce: there the scripts of this site run.
    """

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts = super().get_policy_parts(request, response, report_only)
        if request.resolver_match is not None and request.resolver_match.app_name == "admin":
            parts.replace = {**(parts.replace or {}), "script-src": [SELF]}
        return parts


def script_nonce(request: HttpRequest) -> dict[str, Any]:
    """Context processor: `csp_nonce`, for the script tags of our templates and of django-htmx. Made when first read."""
    return {"csp_nonce": getattr(request, "csp_nonce", "")}


class NeverCachedMiddleware:
    """Every answer is for one person at one moment: no cache keeps it, nor the browser of somebody who signed out.

    Static files are answered before this and have rules of their own.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if not response.has_header("Cache-Control"):
            add_never_cache_headers(response)
        return response


class PageErrorMiddleware:
    """Turns DomainError and BadCursor of a page into an error page; the API has its own handler."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if isinstance(error, BadCursor):
            return _page(request, 400, _("This page address is not valid. Start at the first page."))
        if isinstance(error, DomainError):
            return _page(request, error.status, str(error.message))
        return None


def _page(request: HttpRequest, status: int, message: str) -> HttpResponse:
    template = f"{status}.html" if status in {403, 404} else "400.html"
    return render(request, template, {"message": message, "code": status}, status=status)
