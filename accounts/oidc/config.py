"""What the environment says about the sign-in provider. Pure: the settings read it before any app is there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar
from urllib.parse import urlsplit

T = TypeVar("T")
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
NAME = "OpenID Connect"
USERNAME_CLAIM = "preferred_username"
NEW_PEOPLE = ("granted", "all", "none")
ROLES = ("engineer", "lead")
HOURS_MAX = 336  # as long as a session with a password lasts


class Read(Protocol):
    """One setting by its name, or its default."""

    def __call__(self, name: str, default: str) -> str: ...


@dataclass(frozen=True, slots=True)
class TeamRole:
    """A role in the team of this slug."""

    team: str
    role: str


@dataclass(frozen=True, slots=True)
class OidcConfig:
    """The one provider people may sign in with.

    ``claim`` is the path of the claim that holds groups, "" = teams are given by hand. ``teams`` maps a value of it to
    a role in a team; None = values are names of teams themselves, with `:lead` behind for leads. ``new_people`` says
    who gets an account at the first sign-in: those to whom the claim grants something, all, or none.
    """

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    name: str = NAME
    claim: str = ""
    teams: Mapping[str, TeamRole] | None = None
    admin_value: str = ""
    username_claim: str = USERNAME_CLAIM
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    new_people: str = "granted"
    session_hours: int = 12
    proxy: str = ""
    ca_file: str = ""

    @property
    def key(self) -> str:
        """What links of people to this provider are stored under: those of another issuer never count here."""
        return f"oidc-{hashlib.sha256(self.issuer.encode()).hexdigest()[:16]}"

    @property
    def gives_teams(self) -> bool:
        """Teams and roles of whoever signs in this way come from the claim, and from nowhere else."""
        return bool(self.claim)

    @property
    def gives_admin(self) -> bool:
        return bool(self.claim and self.admin_value)


def oidc_config(read: Read) -> OidcConfig | None:
    """The provider as configured, None without an issuer. Raises ValueError, which names the setting and says why."""
    issuer = read("SLUICE_OIDC_ISSUER", "").strip()
    if not issuer:
        return None
    client_id = read("SLUICE_OIDC_CLIENT_ID", "").strip()
    secret = read("SLUICE_OIDC_CLIENT_SECRET", "").strip()
    if not client_id or not secret:
        raise ValueError("SLUICE_OIDC_ISSUER needs SLUICE_OIDC_CLIENT_ID and SLUICE_OIDC_CLIENT_SECRET beside it")
    claim = read("SLUICE_OIDC_CLAIM", "").strip()
    admin_value = read("SLUICE_OIDC_ADMIN_VALUE", "").strip()
    teams = _checked("SLUICE_OIDC_TEAMS", read("SLUICE_OIDC_TEAMS", ""), team_roles)
    if not claim and (admin_value or teams is not None):
        raise ValueError("SLUICE_OIDC_TEAMS and SLUICE_OIDC_ADMIN_VALUE need SLUICE_OIDC_CLAIM beside them")
    scopes = ("openid", *read("SLUICE_OIDC_SCOPES", "profile email").split())
    return OidcConfig(
        issuer=_checked("SLUICE_OIDC_ISSUER", issuer.rstrip("/"), safe_address),
        client_id=client_id,
        client_secret=secret,
        name=read("SLUICE_OIDC_NAME", "").strip()[:40] or NAME,
        claim=claim,
        teams=teams,
        admin_value=admin_value,
        username_claim=read("SLUICE_OIDC_USERNAME_CLAIM", "").strip() or USERNAME_CLAIM,
        scopes=tuple(dict.fromkeys(scopes)),
        new_people=_checked("SLUICE_OIDC_NEW_PEOPLE", read("SLUICE_OIDC_NEW_PEOPLE", "granted").strip(), _new_people),
        session_hours=_checked("SLUICE_OIDC_SESSION_HOURS", read("SLUICE_OIDC_SESSION_HOURS", "12"), _hours),
        proxy=read("SLUICE_OIDC_PROXY", "").strip(),
        ca_file=read("SLUICE_OIDC_CA_FILE", "").strip(),
    )


def team_roles(text: str) -> dict[str, TeamRole] | None:
    """`{"value of the claim": "team" or "team:role"}` in JSON; None for nothing at all. Raises ValueError."""
    if not text.strip():
        return None
    data = json.loads(text)
    if not isinstance(data, dict):
        raise ValueError('write a JSON object such as {"ml-vision": "vision", "ml-vision-leads": "vision:lead"}')
    return {str(value): team_role(target) for value, target in data.items()}


def team_role(target: object) -> TeamRole:
    """`team` or `team:role`. Raises ValueError."""
    team, _colon, role = str(target).strip().partition(":")
    if not team or (role or "engineer") not in ROLES:
        raise ValueError(f"{target!r} is neither a team nor a team with :engineer or :lead behind")
    return TeamRole(team, role or "engineer")


def safe_address(address: str) -> str:
    """An address of the provider, which must be encrypted unless it is this machine. Raises ValueError."""
    parts = urlsplit(address)
    if parts.scheme == "https" and parts.hostname:
        return address
    if parts.scheme == "http" and parts.hostname in LOOPBACK:
        return address
    raise ValueError("the provider's addresses must begin with https://")


def _new_people(text: str) -> str:
    if text not in NEW_PEOPLE:
        raise ValueError(f"write {', '.join(NEW_PEOPLE[:-1])} or {NEW_PEOPLE[-1]}")
    return text


def _hours(text: str) -> int:
    hours = int(text)
    if not 1 <= hours <= HOURS_MAX:
        raise ValueError(f"write whole hours from 1 to {HOURS_MAX}")
    return hours


def _checked(name: str, text: str, check: Callable[[str], T]) -> T:
    try:
        return check(text)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
