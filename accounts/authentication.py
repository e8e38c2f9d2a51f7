"""`Authorization: Token …` for the API (decision 58)."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from secrets import compare_digest
from typing import Any

from django.db import InternalError
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from knox.auth import TokenAuthentication as KnoxTokenAuthentication
from knox.crypto import hash_token
from knox.settings import CONSTANTS
from rest_framework.exceptions import AuthenticationFailed

from accounts.actors import ROLES, roles_of_answer
from accounts.models import ApiToken, User
from common.parts import Part, read_parts

_TOUCH_EVERY = timedelta(minutes=5)
_TOKEN, _USER = Part(ApiToken, "t"), Part(User, "u")
_BY_KEY = f"""
SELECT {_TOKEN.columns}, {_USER.columns}, ({ROLES.format(user="u.id")})
  FROM accounts_apitoken t
  JOIN accounts_user u ON u.id = t.user_id
 WHERE t.token_key = %s
"""


class TokenAuthentication(KnoxTokenAuthentication):
    """Knox's hashed tokens; a past end or a disabled person is refused, and the last use is noted.

    Expired tokens are kept, so that a person still sees them in the list.
    """

    def authenticate_credentials(self, token: bytes) -> tuple[User, ApiToken]:
        try:
            found = _token_of(token.decode())
        except UnicodeDecodeError as error:
            raise AuthenticationFailed(_("The token is not valid.")) from error
        now = timezone.now()
        if found is None or (found.expiry is not None and found.expiry < now):
            raise AuthenticationFailed(_("The token is not valid."))
        self.validate_user(found)
        if found.last_used_at is None or now - found.last_used_at > _TOUCH_EVERY:
            with suppress(InternalError):  # a database that takes no writes for now is read all the same
                ApiToken.objects.filter(pk=found.pk).update(last_used_at=now)
        return found.user, found


def _token_of(text: str) -> ApiToken | None:
    """The token with its person and their roles; one query.

    Only hashes are kept: the beginning of the text finds candidates.
    """
    digest = hash_token(text)
    for token, user, roles in read_parts(_BY_KEY, [text[: CONSTANTS.TOKEN_KEY_LENGTH]], _TOKEN, _USER):
        if compare_digest(digest, token.digest):
            found: ApiToken = token
            found.user, found.roles_read = user, roles_of_answer(roles)
            return found
    return None


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
