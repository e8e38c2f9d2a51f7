"""The actor behind an API request."""

from __future__ import annotations

from rest_framework.request import Request

from accounts.actors import Actor, actor_of
from accounts.models import ApiToken


def actor_of_request(request: Request) -> Actor:
    """The signed-in person, through a token or a session; loaded once per request."""
    cached = getattr(request, "_sluice_actor", None)
    if cached is None:
        token = request.auth if isinstance(request.auth, ApiToken) else None
        cached = actor_of(request.user, token)  # type: ignore[arg-type]
        request._sluice_actor = cached  # type: ignore[attr-defined]
    return cached  # type: ignore[no-any-return]
