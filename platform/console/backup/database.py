"""The console's database through PostgreSQL's own programs: dumped from one snapshot, replaced in one transaction.

Replacing drops every table, view and sequence of the schema `public` that no extension owns, runs what `pg_restore`
writes, and commits only when all of it has come and fits the manifest: a reader sees all of the old or all of the new.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from django.db import connection
from psycopg.conninfo import make_conninfo

from console.backup.errors import BackupError
from console.embedded.binaries import client_program
from console.embedded.errors import EmbeddedError

NO_DATA = ("public.django_session",)
"""A backup signs nobody in."""
PREAMBLE_LINES = 40
KNOWS_TRANSACTION_TIMEOUT = 170000
LOCK_SECONDS = 30

_CALMLY = f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'; SET LOCAL client_min_messages = warning;"

# What belongs to another object goes with it. A column that belongs to its own table, as that of a partition key does,
# makes the table no part of anything.
_OBJECTS = """
SELECT c.relkind AS kind, format('public.%I', c.relname) AS name
  FROM pg_class c
 WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
   AND NOT EXISTS (SELECT FROM pg_depend d
                    WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.objsubid = 0
                      AND d.deptype IN ('e', 'a', 'i'))
"""

_EMPTY_THE_SCHEMA = f"""
DO $sluice$
DECLARE found record;
BEGIN
    FOR found IN {_OBJECTS} LOOP
        EXECUTE format('DROP %s IF EXISTS %s CASCADE', CASE found.kind
            WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END,
            found.name);
    END LOOP;
END $sluice$;
"""

_CHECK = """
DO $sluice$
BEGIN
    IF (SELECT count(*) FROM public.django_migrations) <> {migrations} THEN
        RAISE EXCEPTION 'the dump holds another number of migrations than the manifest';
    END IF;
END $sluice$;
"""


@dataclass(frozen=True)
class Found:
    """What stands in the database now: applied migrations by app, and the server's version as words and a number."""

    migrations: Mapping[str, Sequence[str]]
    server: str
    server_number: int

    @property
    def is_empty(self) -> bool:
        return not self.migrations


def look() -> Found:
    """Of the database that the settings name; inside a transaction what its snapshot sees."""
    migrations: dict[str, list[str]] = {}
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('public.django_migrations') IS NOT NULL")
        if cursor.fetchone()[0]:
            cursor.execute("SELECT app, name FROM public.django_migrations ORDER BY app, name")
            for app, name in cursor.fetchall():
                migrations.setdefault(app, []).append(name)
        cursor.execute("SELECT current_setting('server_version'), current_setting('server_version_num')::int")
        server, number = cursor.fetchone()
    return Found(migrations, server, number)


def holds_something() -> bool:
    """Whether there is any table, view or sequence."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT EXISTS ({_OBJECTS})")
        return bool(cursor.fetchone()[0])


def other_sessions() -> int:
    """How many other clients are connected to the database."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        return int(cursor.fetchone()[0])


def export_snapshot() -> str:
    """Begin a snapshot that `dump` can read. Only in a transaction in which nothing was read before."""
    with connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        cursor.execute("SELECT pg_export_snapshot()")
        return str(cursor.fetchone()[0])


def dump(target: Path, snapshot: str) -> None:
    """Write PostgreSQL's custom format, compressed. Raises BackupError with the program's own words."""
    argv = ["--format=custom", "--no-owner", "--no-privileges", "--no-comments", f"--snapshot={snapshot}"]
    argv += [f"--exclude-table-data={table}" for table in NO_DATA]
    done = subprocess.run(
        [_program("pg_dump"), *argv, f"--file={target}", f"--dbname={_address()}"],
        env=_environment(),
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise BackupError(f"pg_dump failed: {done.stderr.strip()}")


def replace(dumped: Path, *, migrations: int, server_number: int) -> None:
    """Put what was dumped in the place of all there is, whole or not at all. Raises BackupError."""
    connection.close()
    psql = subprocess.Popen(
        [_program("psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--file=-", f"--dbname={_address()}"],
        env=_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert psql.stdin is not None and psql.stderr is not None
    read_error = ""
    try:
        with psql.stdin as script:
            script.write(f"BEGIN;\n{_CALMLY}\n{_EMPTY_THE_SCHEMA}".encode())
            read_error = _write_dump(dumped, script, server_number)
            if not read_error:  # without the last word psql ends, and the server undoes everything
                script.write(f"{_CHECK.format(migrations=migrations)}COMMIT;\n".encode())
    except BrokenPipeError:
        pass  # it has ended by itself and says why
    words = psql.stderr.read().decode(errors="replace").strip()
    psql.stderr.close()
    if psql.wait() != 0 or read_error:
        raise BackupError(f"Nothing was restored, and the database is as it was: {read_error or words}")


def _write_dump(dumped: Path, script: IO[bytes], server_number: int) -> str:
    """Let pg_restore write its script; the words of its failure, '' when all of it has come."""
    reader = subprocess.Popen(
        [_program("pg_restore"), "--no-owner", "--no-privileges", "--file=-", str(dumped)],
        env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert reader.stdout is not None and reader.stderr is not None
    with reader.stdout as source, reader.stderr as words:
        try:
            for _ in range(PREAMBLE_LINES):
                line = source.readline()
                if server_number < KNOWS_TRANSACTION_TIMEOUT and line.startswith(b"SET transaction_timeout"):
                    continue  # an older server than the programs are made for does not know the word
                script.write(line)
            shutil.copyfileobj(source, script)
        finally:
            source.close()
            failure = words.read().decode(errors="replace").strip()
            code = reader.wait()
    return failure or f"pg_restore ended with {code}" if code != 0 else ""


def _program(name: str) -> str:
    try:
        return str(client_program(name))
    except EmbeddedError as error:
        raise BackupError(str(error)) from error


def _address() -> str:
    """Where the database is, for a command line: everything but the password."""
    settings = connection.settings_dict
    parts: dict[str, Any] = {
        "dbname": settings["NAME"],
        "user": settings["USER"],
        "host": settings["HOST"],
        "port": settings["PORT"],
        **settings["OPTIONS"],
    }
    return make_conninfo(**{name: value for name, value in parts.items() if value != "" and name != "password"})


def _environment() -> dict[str, str]:
    """The password goes by the environment, which only the same user can read."""
    inherited = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "PGSSLROOTCERT")}
    return inherited | {"PGPASSWORD": connection.settings_dict["PASSWORD"], "LC_ALL": "C"}
