"""Who may start the console and who may not come near it: root, ordinary users, two of them, strangers."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from console.embedded.children import ROOT
from tests.system.console import Console, running

PYTHON = Path(sys.executable).resolve()
ONE, OTHER = "nobody", "daemon"
"""Ordinary users that every machine has."""
READY_SECONDS = 150.0  # two first starts side by side
PRODUCT = (
    "manage.py",
    "pyproject.toml",
    "platform",
    "accounts",
    "clusters",
    "jobs",
    "quotas",
    "templates",
    "static",
    "locale",
)
REFUSED = 13
TRY_SOCKET = """
import socket, sys
with socket.socket(socket.AF_UNIX) as client:
    try:
        client.connect(sys.argv[1])
    except PermissionError:
        sys.exit(13)
"""


def _missing_user() -> str | None:
    if os.geteuid() != 0:
        return "only root can start it as somebody else"
    known = {entry.pw_name for entry in pwd.getpwall()}
    for name in (ONE, OTHER):
        if name not in known:
            return f"there is no user {name} here"
    if run_as(OTHER, "-c", "") != 0:
        return f"{PYTHON} is in a place that only root may enter"
    return None


def run_as(user: str, *arguments: str) -> int:
    """The exit code of Python as this user; 126 when the user may not even start it."""
    entry = pwd.getpwnam(user)
    try:
        return subprocess.run(
            [PYTHON, *arguments], user=entry.pw_uid, group=entry.pw_gid, extra_groups=[], cwd="/", env={}
        ).returncode
    except PermissionError:
        return 126


pytestmark = pytest.mark.skipif(_missing_user() is not None, reason=str(_missing_user()))


class Installation:
    """A copy of the product with its virtual environment, below a folder whose rights a test chooses."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "sluice"
        self.root.mkdir()
        for name in PRODUCT:
            subprocess.run(["cp", "--archive", ROOT / name, self.root / name], check=True)
        links = ["cp", "--archive", "--link", sys.prefix, self.root / ".venv"]  # other names for the same files
        if subprocess.run(links, capture_output=True).returncode != 0:  # on another disk
            shutil.rmtree(self.root / ".venv", ignore_errors=True)
            subprocess.run(["cp", "--archive", sys.prefix, self.root / ".venv"], check=True)

    @property
    def argv(self) -> tuple[str, ...]:
        return (str(self.root / ".venv/bin/python"), "-m", "console.embedded")


@pytest.fixture(scope="module")
def installation() -> Iterator[Installation]:
    folder = Path(tempfile.mkdtemp(prefix="sluice-copy-"))
    try:
        yield Installation(folder)
    finally:
        shutil.rmtree(folder)


def state_of(user: str | None, within: Path) -> Path:
    """A private state folder of this user."""
    folder = within / f"state-of-{user or 'root'}"
    folder.mkdir(mode=0o700)
    if user is not None:
        entry = pwd.getpwnam(user)
        os.chown(folder, entry.pw_uid, entry.pw_gid)
    return folder


def modes(*paths: Path) -> dict[Path, int]:
    """Rights of these folders and of all above them."""
    return {each: stat.S_IMODE(each.stat().st_mode) for path in paths for each in (path, *path.parents)}


def sockets(console: Console) -> list[Path]:
    folder = (console.state / "run").resolve()
    return [folder / ".s.PGSQL.5432", folder / "v.sock"]


def is_shut(console: Console, stranger: str) -> None:
    for socket in sockets(console):
        assert socket.exists()
        assert run_as(stranger, "-c", TRY_SOCKET, str(socket)) == REFUSED, f"{stranger} reaches {socket}"
    with pytest.raises(psycopg.OperationalError, match="no password supplied"):
        psycopg.connect(host=str(sockets(console)[0].parent), user="postgres", dbname="postgres")


def test_root_runs_it_from_a_closed_folder_which_stays_closed(installation: Installation, tmp_path: Path) -> None:
    installation.folder.chmod(0o700)
    state = state_of(None, tmp_path)
    before = modes(installation.root / ".venv/bin", state)
    with running(state, argv=installation.argv, root=installation.root) as console:
        console.wait_for("READY")
        assert modes(installation.root / ".venv/bin", state) == before
        database = console.child("postgres")
        assert database is not None
        assert database.username() != "root"
        is_shut(console, OTHER)
    assert modes(installation.root / ".venv/bin", state) == before


def test_two_ordinary_users_run_it_side_by_side_and_neither_reaches_the_other(installation: Installation) -> None:
    installation.folder.chmod(0o755)
    with tempfile.TemporaryDirectory(prefix="sluice-users-") as name, ExitStack() as stack:
        within = Path(name)
        within.chmod(0o755)
        before = modes(installation.root / ".venv/bin", within)
        consoles = {}
        for user in (ONE, OTHER):
            state, entry = state_of(user, within), pwd.getpwnam(user)
            console = running(state, argv=installation.argv, root=installation.root, user=entry, HOME=str(state))
            consoles[user] = stack.enter_context(console)
        for user, console in consoles.items():
            console.wait_for("READY", READY_SECONDS)
            assert {process.username() for process in console.family()} == {user}
            assert "adding the system user" not in console.output
        is_shut(consoles[ONE], OTHER)
        is_shut(consoles[OTHER], ONE)
        assert modes(installation.root / ".venv/bin", within) == before
