"""Where this process finds its database, broker and keys: the environment, else the running instance.

`make run` writes `instance.json` into its state folder, so that `manage.py` in another terminal finds the
database without a word. Production sets the environment (or NAME_FILE, a path that holds the value).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from accounts.oidc.config import OidcConfig, oidc_config

T = TypeVar("T")
HOW_TO_START = (
    "No running console was found: start one with `make run`, or set DATABASE_URL, REDIS_URL and SLUICE_SECRET_KEY."
)


def state_dir() -> Path:
    """The folder of this installation's state (decision 59)."""
    if given := os.environ.get("SLUICE_STATE_DIR"):
        return Path(given).absolute()
    if os.geteuid() == 0:
        return Path("/var/lib/sluice")
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "sluice"


def _instance() -> dict[str, Any]:
    try:
        data: dict[str, Any] = json.loads((state_dir() / "instance.json").read_text())
    except (OSError, ValueError):
        return {}
    return data


_INSTANCE_KEYS = {
    "DATABASE_URL": "database_url",
    "REDIS_URL": "redis_url",
    "SLUICE_SECRET_KEY": "secret_key",
    "SLUICE_FERNET_KEYS": "fernet_keys",
    "SLUICE_BASE_URL": "base_url",
    "SLUICE_DEMO": "demo",
}


def read(name: str, default: str | None = None) -> str:
    """One setting by name. Raises ImproperlyConfigured, with what to do, when it is missing or unreadable."""
    if name in os.environ:
        return os.environ[name]
    if file := os.environ.get(f"{name}_FILE"):
        try:
            return Path(file).read_text().strip()
        except OSError as error:
            raise ImproperlyConfigured(f"{name}_FILE cannot be read: {error}") from error
    if name in _INSTANCE_KEYS and (value := _instance().get(_INSTANCE_KEYS[name])) is not None:
        return str(value)
    if default is not None:
        return default
    raise ImproperlyConfigured(HOW_TO_START if not _instance() else f"{name} is not set.")


def read_bool(name: str, default: bool) -> bool:
    value = read(name, "1" if default else "0").strip().lower()
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off", ""}:
        return False
    raise ImproperlyConfigured(f"{name} must be 1 or 0, not {value!r}.")


def read_int(name: str, default: int) -> int:
    value = read(name, str(default))
    try:
        return int(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {value!r}.") from error


def read_parsed(name: str, default: str, parse: Callable[[str], T]) -> T:
    """One setting through ``parse``, whose ValueError says what is wrong with it."""
    try:
        return parse(read(name, default))
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}.") from error


def read_oidc() -> OidcConfig | None:
    """The sign-in provider, None when none is named. Raises ImproperlyConfigured."""
    try:
        return oidc_config(read)
    except ValueError as error:
        raise ImproperlyConfigured(f"{error}.") from error


def database_config(url: str) -> dict[str, Any]:
    """Django's DATABASES entry of a `postgresql://user:password@host:port/name?host=/socket` address."""
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise ImproperlyConfigured("DATABASE_URL must begin with postgresql://; other databases are not supported.")
    query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    options = {key: value for key, value in query.items() if key not in {"host", "port"}}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": query.get("host") or parts.hostname or "",
        "PORT": query.get("port") or str(parts.port or ""),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {"connect_timeout": 5, **options},
    }


def celery_broker_url(redis_url: str) -> str:
    """Celery's spelling of a redis address: a unix socket is `redis+socket://:pw@/path?virtual_host=N` there."""
    parts = urlsplit(redis_url)
    if parts.scheme != "unix":
        return redis_url
    database = parse_qs(parts.query).get("db", ["0"])[-1]
    credentials = parts.netloc if parts.netloc.endswith("@") or not parts.netloc else f"{parts.netloc}"
    return f"redis+socket://{credentials}{parts.path}?virtual_host={database}"
