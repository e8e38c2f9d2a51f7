"""What every page shares: a signed-in actor, or the way to the sign-in page and back."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from accounts.actors import Actor

P = ParamSpec("P")


def actor_of_page(request: HttpRequest) -> Actor:
    """The actor of a page behind :func:`signed_in`."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    return actor


def signed_in(
    view: Callable[Concatenate[HttpRequest, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Send strangers to the sign-in page and back; a fragment gets the whole page sent there."""

    @wraps(view)
    def inner(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.user.is_authenticated:
            return view(request, *args, **kwargs)
        response = redirect_to_login(request.get_full_path())
        if request.headers.get("HX-Request") == "true":
            return HttpResponse(status=401, headers={"HX-Redirect": response.url})
        return response

    inner.signed_in = True  # type: ignore[attr-defined]
    return inner
