"""From a claim to roles in teams, and from the environment to the configuration: pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.oidc.claims import VALUES_MAX, Grants, grants_of, values_at
from accounts.oidc.config import OidcConfig, TeamRole, oidc_config, safe_address

BASE = {
    "SLUICE_OIDC_ISSUER": "https://id.example/realms/lab/",
    "SLUICE_OIDC_CLIENT_ID": "sluice",
    "SLUICE_OIDC_CLIENT_SECRET": "not told",
}


def _config(**settings: str) -> OidcConfig | None:
    values = {**BASE, **{f"SLUICE_OIDC_{name}": value for name, value in settings.items()}}
    return oidc_config(lambda name, default: values.get(name, default))


@pytest.mark.parametrize(
    ("claims", "path", "values"),
    [
        ({"groups": "a"}, "groups", ["a"]),
        ({"groups": ["a", "b", "a"]}, "groups", ["a", "b"]),
        ({"groups": [["a"], ["b"]]}, "groups", ["a", "b"]),
        ({"groups": 7}, "groups", ["7"]),
        ({"groups": {"a": {"org": 1}, "b": None}}, "groups", ["a", "b"]),
        ({"realm": {"roles": ["a"]}}, "realm.roles", ["a"]),
        ({"access": [{"roles": ["a"]}, {"roles": "b"}, "c"]}, "access.roles", ["a", "b"]),
        ({"https://id.example/groups": ["a"]}, "https://id.example/groups", ["a"]),
        ({"https://id.example/x": {"y.z": "a"}}, "https://id.example/x.y.z", ["a"]),
        ({"groups": [None, True, 1.5, "", ["a"]]}, "groups", ["a"]),
        ({"groups": None}, "groups", []),
        ({}, "groups", []),
        ({"realm": "a"}, "realm.roles", []),
    ],
    ids=str,
)
def test_values_are_found_whatever_their_shape(claims: dict[str, Any], path: str, values: list[str]) -> None:
    assert values_at(claims, path) == values


def test_endless_groups_have_an_end() -> None:
    assert len(values_at({"groups": [str(number) for number in range(10_000)]}, "groups")) == VALUES_MAX


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(claims=st.dictionaries(st.sampled_from(["groups", "a", "a.b"]), _json, max_size=3), path=st.text(max_size=8))
def test_no_claim_breaks_it(claims: dict[str, Any], path: str) -> None:
    for where in (path, "groups", "a.b", "groups.a"):
        assert all(isinstance(value, str) and value for value in values_at(claims, where))
        config = OidcConfig("https://id.example", "c", "s", claim=where, admin_value="admins")
        grants_of(claims, config)


TEAMS = {"v": TeamRole("vision", "engineer"), "vl": TeamRole("vision", "lead"), "l": TeamRole("language", "engineer")}


@pytest.mark.parametrize(
    ("teams", "groups", "roles", "is_admin"),
    [
        (TEAMS, ["v"], {"vision": "engineer"}, False),
        (TEAMS, ["v", "vl"], {"vision": "lead"}, False),
        (TEAMS, ["vl", "v", "l"], {"vision": "lead", "language": "engineer"}, False),
        (TEAMS, ["vision", "chess"], {}, False),
        (TEAMS, ["admins"], {}, True),
        (None, ["vision", "language:lead", "admins"], {"vision": "engineer", "language": "lead"}, True),
        (None, ["vision:king", ":lead", "urn:x:y", "vision:"], {"vision": "engineer"}, False),
    ],
)
def test_the_claim_becomes_roles(
    teams: Mapping[str, TeamRole] | None, groups: list[str], roles: dict[str, str], is_admin: bool
) -> None:
    config = OidcConfig("https://id.example", "c", "s", claim="groups", teams=teams, admin_value="admins")
    assert grants_of({"groups": groups}, config) == Grants(roles, is_admin)


def test_without_a_claim_nothing_is_granted() -> None:
    assert not grants_of({"groups": ["admins"]}, OidcConfig("https://id.example", "c", "s", admin_value="admins"))


# --------------------------------------------------------------------------- the environment


def test_nothing_named_is_nothing_configured() -> None:
    assert oidc_config(lambda name, default: default) is None


def test_what_is_not_said_has_its_default() -> None:
    assert _config() == OidcConfig("https://id.example/realms/lab", "sluice", "not told")
    assert OidcConfig("https://id.example", "c", "s").name == "OpenID Connect"
    assert OidcConfig("https://id.example", "c", "s").username_claim == "preferred_username"


def test_the_settings_are_read() -> None:
    config = _config(
        NAME="Example ID",
        CLAIM="realm.roles",
        TEAMS='{"cn=vision,ou=ml": "vision", "leads": "vision:lead"}',
        ADMIN_VALUE="admins",
        SCOPES="profile groups",
        SESSION_HOURS="8",
    )
    assert config is not None
    assert config.issuer == "https://id.example/realms/lab" and config.scopes == ("openid", "profile", "groups")
    assert config.teams == {"cn=vision,ou=ml": TeamRole("vision", "engineer"), "leads": TeamRole("vision", "lead")}
    assert (config.name, config.session_hours, config.new_people) == ("Example ID", 8, "granted")
    assert config.gives_teams and config.gives_admin and "not told" not in repr(config)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"ISSUER": "http://id.example"}, "SLUICE_OIDC_ISSUER"),
        ({"ISSUER": "id.example"}, "SLUICE_OIDC_ISSUER"),
        ({"CLIENT_ID": ""}, "SLUICE_OIDC_CLIENT_ID"),
        ({"CLIENT_SECRET": " "}, "SLUICE_OIDC_CLIENT_SECRET"),
        ({"TEAMS": "{"}, "SLUICE_OIDC_TEAMS"),
        ({"CLAIM": "groups", "TEAMS": "[]"}, "SLUICE_OIDC_TEAMS"),
        ({"CLAIM": "groups", "TEAMS": '{"a": "vision:king"}'}, "SLUICE_OIDC_TEAMS"),
        ({"TEAMS": '{"a": "vision"}'}, "SLUICE_OIDC_CLAIM"),
        ({"ADMIN_VALUE": "admins"}, "SLUICE_OIDC_CLAIM"),
        ({"NEW_PEOPLE": "some"}, "SLUICE_OIDC_NEW_PEOPLE"),
        ({"SESSION_HOURS": "0"}, "SLUICE_OIDC_SESSION_HOURS"),
        ({"SESSION_HOURS": "long"}, "SLUICE_OIDC_SESSION_HOURS"),
    ],
    ids=str,
)
def test_a_setting_that_cannot_be_is_named(settings: dict[str, str], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        _config(**settings)


@pytest.mark.parametrize(
    "address", ["https://id.example", "http://127.0.0.1:8080", "http://localhost", "http://[::1]:1"]
)
def test_addresses_are_encrypted_or_of_this_machine(address: str) -> None:
    assert safe_address(address) == address


@pytest.mark.parametrize(
    "address", ["http://id.example", "http://127.0.0.1.evil.example", "ftp://id.example", "https://"]
)
def test_other_addresses_are_refused(address: str) -> None:
    with pytest.raises(ValueError, match="https"):
        safe_address(address)
