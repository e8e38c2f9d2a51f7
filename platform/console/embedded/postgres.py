"""The embedded PostgreSQL: a real server as our child, reached only through a private unix socket with a password.

The console signs in as the owner of one database, not as the superuser.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote

from console.embedded.binaries import postgres_programs
from console.embedded.errors import EmbeddedError
from console.embedded.folders import ServerFolder
from console.embedded.osuser import ServiceUser
from console.embedded.process import ChildProcess
from console.embedded.state import Secrets, StateDir

DATABASE = "sluice"
ROLE = "sluice"
SUPERUSER = "postgres"
PORT = "5432"
INITIALISE_SECONDS = 120.0
LOG_NAME = "postgres"
# A fast shutdown ends sessions and writes a checkpoint; an immediate one leaves the rest to crash recovery.
STOP_LADDER = ((signal.SIGINT, 1.2), (signal.SIGQUIT, 0.5))
SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "port": PORT,
    "shared_buffers": "64MB",
    "max_connections": "80",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
}
THROW_AWAY_SETTINGS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}

_DATABASE_SQL = """\
SELECT 'CREATE ROLE {role} LOGIN' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') \\gexec
ALTER ROLE {role} {rights} PASSWORD '{password}';
SELECT 'CREATE DATABASE {database} OWNER {role}'
 WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = '{database}') \\gexec
REVOKE CONNECT ON DATABASE {database} FROM PUBLIC;
"""


class Postgres:
    """One server on the folder pgMAJOR of a state folder. `throw_away` trades safety of the data for speed (tests)."""

    def __init__(
        self,
        state: StateDir,
        user: ServiceUser,
        secrets: Secrets,
        sockets: Path,
        *,
        say: Callable[[str], None],
        throw_away: bool = False,
    ) -> None:
        self._user = user
        self._secrets = secrets
        self._throw_away = throw_away
        self._state = state
        self._programs = postgres_programs(user, say)
        self.version = self._read_version()
        self.major = int(self.version.split(".")[0])
        self._sockets = ServerFolder(sockets, user)
        self._refuse_other_major()
        self._data: ServerFolder | None = None

    @property
    def url(self) -> str:
        """The address of the console's database, for DATABASE_URL."""
        password = quote(self._secrets.database_password, safe="")
        return f"postgresql://{ROLE}:{password}@/{DATABASE}?host={quote(str(self._sockets.path), safe='')}&port={PORT}"

    def _read_version(self) -> str:
        done = subprocess.run([self._programs / "postgres", "--version"], capture_output=True, text=True, check=True)
        found = re.search(r"\d+(\.\d+)?", done.stdout)
        if found is None:
            raise EmbeddedError(f"{self._programs / 'postgres'} does not tell its version.")
        return found.group()

    def _refuse_other_major(self) -> None:
        """Never start an empty server beside data of another major version."""
        majors = sorted(int(path.name[2:]) for path in data_folders(self._state.path))
        if majors and self.major not in majors:
            old = majors[-1]
            raise EmbeddedError(
                f"{self._state.path} holds data of PostgreSQL {old}, and this Sluice brings PostgreSQL {self.major}. "
                f"Start it once more with the programs of version {old} (SLUICE_PG_BIN), save the data with pg_dump, "
                "start this version in another folder (SLUICE_STATE_DIR) and load it there with pg_restore."
            )

    def prepare(self, inherited: Sequence[int] = ()) -> None:
        """Create the data folder where there is none, and forget the process number of an earlier start.

        Only call it while no server of an earlier start can be alive (see `StateDir.children_lock`).
        """
        path = self._state.path / f"pg{self.major}"
        if not path.exists():
            self._initialise(path, inherited)
        (path / "postmaster.pid").unlink(missing_ok=True)  # its number may be another process's by now
        self._data = ServerFolder(path, self._user)

    def _initialise(self, path: Path, inherited: Sequence[int]) -> None:
        """Make a new data folder under another name and rename it once it is whole."""
        unfinished = path.with_name(f"new-{path.name}")
        shutil.rmtree(unfinished, ignore_errors=True)
        folder = ServerFolder(self._state.private_folder(unfinished.name, self._user), self._user)
        reader, writer = os.pipe()
        try:
            if self._user.drops:
                os.fchown(reader, self._user.uid, self._user.gid)  # /dev/fd opens the pipe anew, as that user
            os.write(writer, self._secrets.superuser_password.encode() + b"\n")
            os.close(writer)
            argv = [*self._initdb_argv(), "-D", folder.name_for_server, f"--pwfile=/dev/fd/{reader}"]
            child = self._start(argv, signal.SIGKILL, (*inherited, reader, *folder.pass_fds))
        finally:
            os.close(reader)
            folder.close()
        child.wait(INITIALISE_SECONDS)
        if child.exit_code != 0:
            child.kill()
            raise EmbeddedError(
                f"PostgreSQL could not create its data folder {path}. The log is {self._state.log_file(LOG_NAME)}; "
                f"the last lines:\n{self._state.log_tail(LOG_NAME)}"
            )
        unfinished.rename(path)

    def _initdb_argv(self) -> list[str]:
        argv = [str(self._programs / "initdb"), "--no-instructions", "--encoding=UTF8", f"--username={SUPERUSER}"]
        argv += ["--auth-local=scram-sha-256", "--auth-host=reject"]
        argv += ["--locale=C.UTF-8" if sys.platform.startswith("linux") else "--locale=C"]
        if self.major >= 17:
            argv += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        if self._throw_away:
            argv += ["--no-sync"]
        return argv

    def spawn(self, inherited: Sequence[int] = ()) -> ChildProcess:
        """Start the server on its prepared folder; it answers some moments later (`accepts_connections`)."""
        assert self._data is not None
        settings = {**SETTINGS, "unix_socket_directories": self._sockets.name_for_server}
        if self._throw_away:
            settings |= THROW_AWAY_SETTINGS
        argv = [str(self._programs / "postgres"), "-D", self._data.name_for_server]
        for name, value in settings.items():
            argv += ["-c", f"{name}={value}"]
        return self._start(argv, signal.SIGQUIT, (*inherited, *self._data.pass_fds, *self._sockets.pass_fds))

    def _start(self, argv: Sequence[str], death_signal: signal.Signals, pass_fds: Sequence[int]) -> ChildProcess:
        log = self._state.open_log(LOG_NAME)
        try:
            return ChildProcess(
                argv,
                env=self._server_env(),
                death_signal=death_signal,
                output=log,
                user=self._user,
                pass_fds=pass_fds,
            )
        finally:
            os.close(log)

    def _server_env(self) -> dict[str, str]:
        """Only what the server needs: nothing of ours leaks to the other user."""
        return {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}

    def accepts_connections(self) -> bool:
        """Whether the server answers the superuser by now."""
        return self._psql("SELECT 1;").returncode == 0

    def ensure_database(self) -> None:
        """Create the console's role and database where they are missing."""
        sql = _DATABASE_SQL.format(
            role=ROLE,
            database=DATABASE,
            password=self._secrets.database_password,  # letters, digits, - and _ only
            rights="CREATEDB" if self._throw_away else "NOCREATEDB",
        )
        done = self._psql(sql)
        if done.returncode != 0:
            raise EmbeddedError(f"PostgreSQL could not create the database {DATABASE}: {done.stderr.strip()}")

    def _psql(self, sql: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self._programs / "psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--file=-"],
            input=sql,
            capture_output=True,
            text=True,
            env={
                **self._server_env(),
                "PGHOST": str(self._sockets.path),
                "PGPORT": PORT,
                "PGUSER": SUPERUSER,
                "PGPASSWORD": self._secrets.superuser_password,
                "PGDATABASE": "postgres",
                "PGCONNECT_TIMEOUT": "5",
            },
        )

    def close(self) -> None:
        """Let go of the folders, once the server has ended."""
        if self._data is not None:
            self._data.close()
        self._sockets.close()


def data_folders(state: Path) -> list[Path]:
    """The data folders of all major versions in a state folder."""
    return [path for path in state.glob("pg[0-9]*") if path.name[2:].isdigit()]
