"""The table of settings in docs/settings.md: which the code reads, with their defaults, and what each is for.

Names and defaults come from the code itself, so that a setting which is read and not described fails a test.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from django.utils.translation import gettext as _

ROOT = Path(__file__).resolve().parents[2]
CODE = ("accounts", "clusters", "jobs", "quotas", "platform")
READERS = {"read", "read_bool", "read_int", "read_parsed"}
NAMED_OTHERWISE = {"PORT", "DATABASE_URL", "REDIS_URL"}
OF_THE_TESTS = "SLUICE_TEST_"
ON_OFF = {"True": "1", "False": "0"}


@dataclass(frozen=True, slots=True)
class Described:
    """What a setting is for; ``missing`` says what holds without it where no default does."""

    purpose: Callable[[], str]
    missing: Callable[[], str] | None = None


def settings_read() -> dict[str, str | None]:
    """Every environment variable that the product reads, with its default as the code has it."""
    found: dict[str, str | None] = {}
    for folder in CODE:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for name, default in _read_in(ast.parse(path.read_text(encoding="utf-8"))):
                if found.get(name) is None:
                    found[name] = default
    return found


def _read_in(tree: ast.AST) -> Iterator[tuple[str, str | None]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
            continue
        name = node.args[0].value
        if not isinstance(name, str) or not (name.startswith("SLUICE_") or name in NAMED_OTHERWISE):
            continue
        if _reads(node.func) and not name.startswith(OF_THE_TESTS):
            yield name, _default(node)


def _reads(function: ast.expr) -> bool:
    """`read("X")` and its kin, or `environ.get("X")` of any environment."""
    if isinstance(function, ast.Name):
        return function.id in READERS
    return isinstance(function, ast.Attribute) and function.attr == "get" and "environ" in ast.unparse(function.value)


def _default(call: ast.Call) -> str | None:
    if len(call.args) < 2 or not isinstance(call.args[1], ast.Constant):
        return None
    text = str(call.args[1].value)
    return ON_OFF.get(text, text) or None


def rows(section: Mapping[str, Described]) -> list[list[str]]:
    """One row for each setting: name, default, purpose."""
    read = settings_read()
    return [
        [f"`{name}`", _shown(read.get(name), described), described.purpose()] for name, described in section.items()
    ]


def _shown(default: str | None, described: Described) -> str:
    if described.missing is not None:
        return described.missing()
    return f"`{default}`" if default else "–"


def described() -> set[str]:
    """Names of all settings that have words."""
    return {name for _title, section in SECTIONS for name in section}


def _drawn() -> str:
    return _("`make run` draws it")


_STORES = {
    "DATABASE_URL": Described(
        lambda: _("The PostgreSQL database: `postgresql://user:password@host:port/name?sslmode=verify-full`."),
        lambda: _("`make run` starts its own"),
    ),
    "REDIS_URL": Described(
        lambda: _("The broker and cache, Redis or Valkey: `redis://:password@host:port/0`."),
        lambda: _("`make run` starts its own"),
    ),
    "SLUICE_SECRET_KEY": Described(lambda: _("Signs sessions and forms. A new one signs everybody out."), _drawn),
    "SLUICE_FERNET_KEYS": Described(
        lambda: _(
            "Keys of sealed values, newest first, separated by commas. Losing them loses stored credentials of"
            " clusters and secrets of teams."
        ),
        _drawn,
    ),
}
_ADDRESS = {
    "SLUICE_ALLOWED_HOSTS": Described(
        lambda: _("Host names that the console answers to. `make run` adds its own names to what is given.")
    ),
    "SLUICE_TRUSTED_ORIGINS": Described(
        lambda: _("Origins of its forms behind the proxy: `https://sluice.example.org`.")
    ),
    "SLUICE_BASE_URL": Described(
        lambda: _("The address that people type, said at the start."), lambda: _("this machine and the port")
    ),
    "SLUICE_BIND": Described(lambda: _("The address on which `make run` listens."), lambda: "`127.0.0.1`"),
    "PORT": Described(
        lambda: _("The port of `make run`; with containers, the port on loopback that the proxy forwards to."),
        lambda: "`8000`",
    ),
    "SLUICE_TIME_ZONE": Described(lambda: _("Shown to people who have not chosen a time zone of their own.")),
}
_USE = {
    "SLUICE_DEMO": Described(
        lambda: _("1 fills a sandbox cluster with demo teams and jobs; 0 starts empty with one admin."),
        lambda: _("`0`, for `make run` `1`"),
    ),
    "SLUICE_CLUSTER_ADDRESSES": Described(
        lambda: _("Where API servers of clusters may be: networks, addresses, names, separated by commas.")
    ),
    "SLUICE_STORAGE_ROOT": Described(
        lambda: _("A folder below which the shared volumes of teams are mounted, for uploading code."),
        lambda: _("no uploads"),
    ),
    "SLUICE_LEASE_SECONDS": Described(
        lambda: _("For how long a worker may keep a job to itself; what a worker that died had is taken up after it.")
    ),
    "SLUICE_SWEEP_BATCH": Described(lambda: _("How many jobs one look at what is due takes at most.")),
    "SLUICE_WATER_MINUTES_DAYS": Described(
        lambda: _("For how many days the water level of each minute is kept at least. Whole months go at once.")
    ),
    "SLUICE_WATER_HOURS_MONTHS": Described(
        lambda: _("For how many months the water level of each hour is kept. That of each day is kept for ever.")
    ),
}
_SIGN_IN = {
    "SLUICE_ADMIN_NEEDS_SECOND_FACTOR": Described(lambda: _("1: admins sign in with a second factor only.")),
    "SLUICE_OIDC_ISSUER": Described(
        lambda: _("The issuer of a sign-in provider (OpenID Connect), which begins with https://."),
        lambda: _("sign-in with a password only"),
    ),
    "SLUICE_OIDC_CLIENT_ID": Described(lambda: _("The console's id with the provider.")),
    "SLUICE_OIDC_CLIENT_SECRET": Described(lambda: _("The console's secret with the provider.")),
    "SLUICE_OIDC_NAME": Described(
        lambda: _("What the provider is called on the sign-in page."), lambda: "`OpenID Connect`"
    ),
    "SLUICE_OIDC_SCOPES": Described(lambda: _("Scopes that are asked for beside `openid`.")),
    "SLUICE_OIDC_USERNAME_CLAIM": Described(
        lambda: _("The claim that holds the user name."), lambda: "`preferred_username`"
    ),
    "SLUICE_OIDC_CLAIM": Described(
        lambda: _("The claim that holds groups. With it teams and roles follow from the provider at every sign-in."),
        lambda: _("teams are given by hand"),
    ),
    "SLUICE_OIDC_TEAMS": Described(
        lambda: _('Which value gives which role: `{"ml-vision": "vision", "ml-vision-leads": "vision:lead"}`.'),
        lambda: _("values are names of teams"),
    ),
    "SLUICE_OIDC_ADMIN_VALUE": Described(lambda: _("The value of the claim that makes a platform admin.")),
    "SLUICE_OIDC_NEW_PEOPLE": Described(
        lambda: _("Who gets an account at the first sign-in: `granted` by the claim, `all`, or `none`.")
    ),
    "SLUICE_OIDC_SESSION_HOURS": Described(lambda: _("After how many hours the provider is asked again.")),
    "SLUICE_OIDC_PROXY": Described(lambda: _("A proxy on the way to the provider.")),
    "SLUICE_OIDC_CA_FILE": Described(lambda: _("A file with the authority that signed the provider's certificate.")),
}
_MACHINE = {
    "SLUICE_STATE_DIR": Described(
        lambda: _("The folder of all state of `make run`; the commands of `manage.py` find the console by it."),
        lambda: _("`/var/lib/sluice` for root, else `~/.local/state/sluice`"),
    ),
    "SLUICE_PG_BIN": Described(
        lambda: _("A folder with PostgreSQL's programs to use in place of those that come with the console."),
        lambda: _("the console's own"),
    ),
    "SLUICE_NO_INSTALL": Described(lambda: _("1: started by root, `make run` adds no system user.")),
}

SECTIONS: tuple[tuple[Callable[[], str], Mapping[str, Described]], ...] = (
    (lambda: _("Stores and keys"), _STORES),
    (lambda: _("Address"), _ADDRESS),
    (lambda: _("Use"), _USE),
    (lambda: _("Sign-in"), _SIGN_IN),
    (lambda: _("Only for `make run`"), _MACHINE),
)
