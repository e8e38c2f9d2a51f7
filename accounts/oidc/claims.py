"""From the claims of somebody who signs in to roles in teams. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from accounts.oidc.config import OidcConfig, TeamRole, team_role

VALUES_MAX = 2_000
"""People are in many groups; what comes after so many is left out."""
LEAD = "lead"


@dataclass(frozen=True, slots=True)
class Grants:
    """What the provider gives a person: team slug → role, and whether they are a platform admin."""

    roles: Mapping[str, str] = field(default_factory=dict)
    is_admin: bool = False

    def __bool__(self) -> bool:
        return bool(self.roles) or self.is_admin


def values_at(claims: Mapping[str, Any], path: str) -> list[str]:
    """Every text at ``path``, steps parted by dots; a name may hold dots itself, as addresses do.

    A text, a number, a list of them, or the names of an object; lists on the way are gone through. Anything else,
    and a claim that is not there, is no value.
    """
    values: dict[str, None] = {}
    for value in _leaves(claims, path.split(".")):
        values[value] = None
        if len(values) == VALUES_MAX:
            break
    return list(values)


def _leaves(node: Any, steps: Sequence[str]) -> Iterator[str]:
    if isinstance(node, list):
        for item in node:
            yield from _leaves(item, steps)
    elif not steps:
        yield from _texts(node)
    elif isinstance(node, dict):
        for length in range(len(steps), 0, -1):
            name = ".".join(steps[:length])
            if name in node:
                yield from _leaves(node[name], steps[length:])
                return


def _texts(leaf: Any) -> Iterator[str]:
    if isinstance(leaf, str) and leaf:
        yield leaf
    elif isinstance(leaf, int) and not isinstance(leaf, bool):
        yield str(leaf)
    elif isinstance(leaf, dict):
        yield from (name for name in leaf if name)


def grants_of(claims: Mapping[str, Any], config: OidcConfig) -> Grants:
    """What the claims grant under this configuration. Of two roles in one team the higher one holds."""
    if not config.gives_teams:
        return Grants()
    values = values_at(claims, config.claim)
    roles: dict[str, str] = {}
    for granted in _granted(values, config):
        if roles.get(granted.team) != LEAD:
            roles[granted.team] = granted.role
    return Grants(roles, config.gives_admin and config.admin_value in values)


def _granted(values: Iterable[str], config: OidcConfig) -> Iterator[TeamRole]:
    for value in values:
        if config.teams is not None:
            if value in config.teams:
                yield config.teams[value]
        elif value != config.admin_value:
            try:
                yield team_role(value)
            except ValueError:
                continue  # a group of something else that happens to hold a colon
