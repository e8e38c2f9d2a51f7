"""The operating-system user of the embedded servers: oneself, or an unprivileged one when started as root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from console.embedded.errors import EmbeddedError

SYSTEM_USER = "sluice-db"
FALLBACK_USER = "nobody"


def installs_allowed() -> bool:
    """False when SLUICE_NO_INSTALL=1 forbids installing packages and adding system users."""
    return os.environ.get("SLUICE_NO_INSTALL", "0") in ("", "0")


@dataclass(frozen=True)
class ServiceUser:
    """Who runs PostgreSQL and Valkey. `drops` is true when we are root and they run as somebody else."""

    name: str
    uid: int
    gid: int
    drops: bool

    def popen_options(self) -> dict[str, Any]:
        """The arguments of `subprocess.Popen` that switch to this user."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if self.drops else {}

    def own(self, path: Path) -> None:
        """Make a file or folder this user's."""
        if self.drops:
            os.chown(path, self.uid, self.gid)

    def can_execute(self, program: Path) -> bool:
        """Whether this user can run `program`, which lies perhaps below a folder that only root may enter."""
        try:
            done = subprocess.run([program, "--version"], capture_output=True, cwd="/", **self.popen_options())
        except OSError:
            return False
        return done.returncode == 0


def choose_service_user(existing_data: Path | None, say: Callable[[str], None]) -> ServiceUser:
    """The user for the servers: oneself; as root the owner of data that exists, else a system user.

    Adding the system user is announced first. Errors: no user that PostgreSQL would accept.
    """
    if os.geteuid() != 0:
        return _by_uid(os.geteuid(), drops=False)
    if existing_data is not None and existing_data.exists() and existing_data.stat().st_uid != 0:
        return _by_uid(existing_data.stat().st_uid, drops=True)
    for name in (SYSTEM_USER, FALLBACK_USER):
        if name == SYSTEM_USER:
            _add_system_user(say)
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return ServiceUser(entry.pw_name, entry.pw_uid, entry.pw_gid, drops=True)
    raise EmbeddedError(
        f"PostgreSQL refuses to run as root, and this machine has neither the user {SYSTEM_USER} nor {FALLBACK_USER}: "
        f"start Sluice as an ordinary user, or add a system user named {SYSTEM_USER}."
    )


def _by_uid(uid: int, *, drops: bool) -> ServiceUser:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        raise EmbeddedError(
            f"PostgreSQL needs a user with a name, and user id {uid} has none on this machine."
        ) from None
    return ServiceUser(entry.pw_name, uid, entry.pw_gid, drops)


def _add_system_user(say: Callable[[str], None]) -> None:
    """Add the system user where it is missing and allowed; what cannot be added is left to the fallback."""
    try:
        pwd.getpwnam(SYSTEM_USER)
        return
    except KeyError:
        useradd = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if not installs_allowed() or useradd is None:
        why = "there is no useradd here" if installs_allowed() else "SLUICE_NO_INSTALL=1"
        say(f"Running as root: PostgreSQL and Valkey run as the existing user {FALLBACK_USER} ({why}).")
        return
    say(f"Running as root: adding the system user {SYSTEM_USER} (no login, no home) for PostgreSQL and Valkey.")
    command = [useradd, "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"]
    command += ["--shell", "/usr/sbin/nologin", SYSTEM_USER]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        say(f"Adding {SYSTEM_USER} failed ({done.stderr.strip()}); using {FALLBACK_USER} instead.")
