"""`Authorization: Token …` for the API (decision 58)."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Any

from django.db import InternalError
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from knox.auth import TokenAuthentication as KnoxTokenAuthentication
from rest_framework.exceptions import AuthenticationFailed

from accounts.models import ApiToken, User

_TOUCH_EVERY = timedelta(minutes=5)


class TokenAuthentication(KnoxTokenAuthentication):
    """Knox's hashed tokens; a past end or a disabled person is refused, and the last use is noted."""

    def authenticate_credentials(self, token: bytes) -> tuple[User, ApiToken]:
        try:
            user, found = super().authenticate_credentials(token)
        except UnicodeDecodeError as error:
            raise AuthenticationFailed(_("The token is not valid.")) from error
        now = timezone.now()
        if found.last_used_at is None or now - found.last_used_at > _TOUCH_EVERY:
            with suppress(InternalError):  # a database that takes no writes for now is read all the same
                ApiToken.objects.filter(pk=found.pk).update(last_used_at=now)
        return user, found

    def _cleanup_token(self, auth_token: ApiToken) -> bool:
        """Expired tokens are refused but kept, so that a person still sees them in the list."""
        return auth_token.expiry is not None and auth_token.expiry < timezone.now()


class TokenScheme(OpenApiAuthenticationExtension):
    """How the OpenAPI document describes it."""

    target_class = "accounts.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "`Token …`, made on the page Tokens or by `manage.py token_create`.",
        }
