"""Who acts: a person with their roles, perhaps through a token. Loaded once per request, two queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from accounts.models import ApiToken, Role, User
from common.parts import read_parts

_ROLES = """
SELECT m.team_id, m.role
  FROM accounts_membership m
  JOIN accounts_team t ON t.id = m.team_id
 WHERE m.user_id = %s AND t.archived_at IS NULL
"""


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
    return Actor(user=user, roles=dict(read_parts(_ROLES, [user.pk])), token_name=token.name if token else "")
