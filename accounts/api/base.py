"""The actor behind an API request."""

from __future__ import annotations

from rest_framework.request import Request

from accounts.actors import Actor, actor_of
from accounts.models import ApiToken, User


def actor_of_request(request: Request) -> Actor:
    """The signed-in person, through a token or a session; loaded once per request."""
    cached: Actor | None = getattr(request, "_sluice_actor", None)
    if cached is None:
        token = request.auth if isinstance(request.auth, ApiToken) else None
        assert isinstance(request.user, User)  # every view demands a signed-in person
        cached = actor_of(request.user, token)
        request._sluice_actor = cached  # type: ignore[attr-defined]
    return cached
