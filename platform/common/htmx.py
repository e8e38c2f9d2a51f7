"""One view for the full page and its fragment (style section 2.7)."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers


def wants_partial(request: HttpRequest) -> bool:
    """True for an htmx request that is neither boosted nor a history restore."""
    htmx = getattr(request, "htmx", None)
    if not htmx:
        return False
    return not htmx.boosted and not htmx.history_restore_request


def render_page(
    request: HttpRequest, template: str, context: dict[str, Any], *, partial: str | None = None, status: int = 200
) -> HttpResponse:
    """Render ``template``, or its ``partial`` when the request asks for a fragment. Caches must tell them apart."""
    name = f"{template}#{partial}" if partial and wants_partial(request) else template
    response = render(request, name, context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response
