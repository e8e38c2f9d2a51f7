"""Who acts: a person with their roles, perhaps through a token. Loaded once per request, in one query."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from accounts.models import ApiToken, Role, User
from common.parts import read_parts

ROLES = """
SELECT jsonb_object_agg(m.team_id, m.role)
  FROM accounts_membership m
  JOIN accounts_team t ON t.id = m.team_id
 WHERE m.user_id = {user} AND t.archived_at IS NULL
"""
_ROLES_OF = ROLES.format(user="%s")


@dataclass(frozen=True, slots=True)
class Actor:
    """A signed-in person. ``roles`` maps team id → role for teams that are not archived.

    ``because`` is the reason an operator gave for breaking the glass; every audit row of the act carries it.
    """

    user: User
    roles: Mapping[int, str] = field(default_factory=dict)
    token_name: str = ""
    because: str = ""

    @property
    def is_admin(self) -> bool:
        return self.user.is_platform_admin

    @property
    def team_ids(self) -> frozenset[int]:
        return frozenset(self.roles)

    @property
    def led_team_ids(self) -> frozenset[int]:
        return frozenset(team for team, role in self.roles.items() if role == Role.LEAD)


def actor_of(user: User, token: ApiToken | None = None) -> Actor:
    """The actor behind a signed-in user."""
    roles = token.roles_read if token else None
    if roles is None:
        ((answer,),) = read_parts(_ROLES_OF, [user.pk])
        roles = roles_of_answer(answer)
    return Actor(user=user, roles=roles, token_name=token.name if token else "")


def roles_of_answer(answer: str | None) -> dict[int, str]:
    """What ``ROLES`` says, None without a role."""
    return {int(team): role for team, role in json.loads(answer or "{}").items()}
