"""What holds for every answer: no cache keeps it, and an error of a service becomes one clear page."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _

from common.errors import DomainError
from common.pages import BadCursor


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
