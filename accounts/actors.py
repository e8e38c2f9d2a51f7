"""Who acts: a person with their roles, perhaps through a token. Loaded once per request, two queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from accounts.models import ApiToken, Membership, Role, User


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
    rows = Membership.objects.filter(user=user, team__archived_at=None).values_list("team_id", "role")
    return Actor(user=user, roles=dict(rows), token_name=token.name if token else "")
