"""Where everybody begins, how fresh the clusters' data is, and the error pages."""

from __future__ import annotations

import sys

from django.db import InterfaceError, InternalError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template import loader
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from psycopg.errors import ReadOnlySqlTransaction
from redis.exceptions import RedisError

from accounts.selectors import has_teams
from accounts.web import actor_of_page, signed_in


@signed_in
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """The console that fits the person; a page of its own for somebody who is in no team yet."""
    actor = actor_of_page(request)
    if actor.roles:
        return redirect("jobs:list")
    if actor.is_admin:
        return redirect("admin_console:nodes" if has_teams() else "admin_console:setup")
    return render(request, "no_team.html")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if _is_api(request):
        return _api_error(400, "bad_request", _("This request cannot be understood."))
    return render(request, "400.html", status=400)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return render(request, "403.html", {"message": str(exception)}, status=403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if _is_api(request):
        return _api_error(404, "not_found", _("There is no such address. The API is described at /api/v1/docs."))
    return render(request, "404.html", status=404)


RETRY_AFTER_SECONDS = 5


def server_error(request: HttpRequest) -> HttpResponse:
    """Without the request's context: what broke may be the database behind it. While that cannot do it, it is a 503."""
    is_away = _is_away(sys.exc_info()[1])
    status = 503 if is_away else 500
    response: HttpResponse
    if _is_api(request):
        response = _api_error(status, "server_error", _("Something broke here. Nothing was half saved; try again."))
    else:
        context = {"status": status, "csp_nonce": getattr(request, "csp_nonce", "")}
        response = HttpResponse(loader.get_template("500.html").render(context), status=status)
    if is_away:
        response.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return response


def _is_away(error: BaseException | None) -> bool:
    """A database or broker that will do it later: it is gone, full, busy, or a standby that takes no writes yet."""
    if isinstance(error, InternalError):
        return isinstance(error.__cause__, ReadOnlySqlTransaction)
    return isinstance(error, OperationalError | InterfaceError | RedisError)


def _is_api(request: HttpRequest) -> bool:
    return request.path.startswith("/api/")


def _api_error(status: int, code: str, detail: str) -> JsonResponse:
    """An error outside every API view, in the API's one shape."""
    kind = "server_error" if status >= 500 else "client_error"
    return JsonResponse({"type": kind, "errors": [{"code": code, "detail": detail, "attr": None}]}, status=status)
