"""`python -m tests.schema` writes platform/console/schema.sql anew from the migrations, on a server of its own."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

import psycopg

from console.embedded.binaries import client_program
from console.embedded.pytest_plugin import throw_away_servers

SCRATCH = "sluice_schema"
ALIAS = "schema"
NOISE = re.compile(r"^(--.*|\\.*|SET .*|SELECT pg_catalog\.set_config.*)\n", re.MULTILINE)
BLANKS = re.compile(r"\n{3,}")
HEADER = """\
-- PostgreSQL {major}
-- Written by `make schema` from the migrations named at the end; do not edit it. See console/schema.py.
"""


@contextmanager
def scratch_database(server: str) -> Iterator[str]:
    """An empty database on the server of this address, for Django under ALIAS; yields its address."""
    from django.db import connections

    from console.settings.environment import database_config

    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {SCRATCH} WITH (FORCE)")
        admin.execute(f"CREATE DATABASE {SCRATCH}")
        url = urlunsplit(urlsplit(server)._replace(path=f"/{SCRATCH}"))
        connections.databases[ALIAS] = connections["default"].settings_dict | database_config(url)
        try:
            yield url
        finally:
            connections[ALIAS].close()
            del connections[ALIAS], connections.databases[ALIAS]
            admin.execute(f"DROP DATABASE {SCRATCH} WITH (FORCE)")


def schema_text(url: str, targets: Sequence[tuple[str, str]] = ()) -> str:
    """Run these migrations, by default all, in the empty scratch database; returns the schema file they make."""
    from django.db import connections
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connections[ALIAS])
    executor.migrate(list(targets) or executor.loader.graph.leaf_nodes())
    command = [client_program("pg_dump"), "--schema-only", "--no-owner", "--no-privileges", url]
    dump = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    tables = BLANKS.sub("\n\n", NOISE.sub("", dump)).strip()
    with connections[ALIAS].cursor() as cursor:
        cursor.execute("SELECT app, name FROM django_migrations ORDER BY id")
        applied = ",\n".join(f"    ('{app}', '{name}', now())" for app, name in cursor.fetchall())
    header = HEADER.format(major=connections[ALIAS].pg_version // 10_000)
    return f"{header}\n{tables}\n\nINSERT INTO public.django_migrations (app, name, applied) VALUES\n{applied};\n"


def main() -> None:
    with throw_away_servers() as urls:
        os.environ.update(urls, DJANGO_SETTINGS_MODULE="console.settings.test")
        import django

        django.setup()
        from console.schema import SCHEMA_FILE

        with scratch_database(urls["DATABASE_URL"]) as url:
            SCHEMA_FILE.write_text(schema_text(url))


if __name__ == "__main__":
    main()
