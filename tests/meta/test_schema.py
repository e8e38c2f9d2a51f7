"""A new database begins from schema.sql: the file is what its migrations make, and touches no database in use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections
from django.db.migrations.executor import MigrationExecutor
from pytest_django import DjangoDbBlocker

from console import schema
from console.schema import SCHEMA_FILE, SERVER_LINE, make_tables, migrations_in
from tests.schema import ALIAS, schema_text, scratch_database

MADE_ON = SERVER_LINE.search(SCHEMA_FILE.read_text())


@pytest.fixture
def empty(django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """The address of an empty database, Django's ALIAS, on a server of the file's version."""
    with django_db_blocker.unblock(), scratch_database(os.environ["DATABASE_URL"]) as url:
        assert MADE_ON is not None
        if connections[ALIAS].pg_version // 10_000 != int(MADE_ON[1]):
            pytest.skip(f"this server is not the file's PostgreSQL {MADE_ON[1]}")
        yield url


def file_of(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Let another text be the schema file."""
    (folder / "schema.sql").write_text(text)
    monkeypatch.setattr(schema, "SCHEMA_FILE", folder / "schema.sql")


def test_the_file_is_what_the_migrations_it_names_make(empty: str) -> None:
    text = SCHEMA_FILE.read_text()
    assert schema_text(empty, migrations_in(text)) == text, "write it anew with `make schema`"
    with connections[ALIAS].cursor() as cursor:
        for table in sorted(set(connections[ALIAS].introspection.table_names(cursor)) - {"django_migrations"}):
            cursor.execute(f'SELECT count(*) FROM "{table}"')
            assert cursor.fetchone() == (0,), f"a migration fills {table}, and the file holds tables only"


@pytest.mark.usefixtures("empty")
def test_migrate_begins_an_empty_database_from_the_file_and_runs_what_is_newer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    *older, newest = SCHEMA_FILE.read_text().removesuffix(";\n").split(",\n")
    file_of(tmp_path, monkeypatch, ",\n".join(older) + ";\nDROP TABLE public.usersessions_usersession;\n")
    assert "'usersessions', '0001_initial'" in newest
    call_command("migrate", database=ALIAS, verbosity=0, skip_checks=True)
    executor = MigrationExecutor(connections[ALIAS])
    assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == []
    with connections[ALIAS].cursor() as cursor:
        assert "usersessions_usersession" in connections[ALIAS].introspection.table_names(cursor)


@pytest.mark.usefixtures("empty")
def test_a_file_that_cannot_be_read_to_its_end_leaves_the_database_empty(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file_of(tmp_path, monkeypatch, SCHEMA_FILE.read_text() + "SELECT nothing_of_this_name;\n")
    with pytest.raises(DatabaseError):
        make_tables(ALIAS)
    assert connections[ALIAS].introspection.table_names() == []


@pytest.mark.usefixtures("empty")
def test_another_version_of_postgresql_is_left_to_the_migrations(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file_of(tmp_path, monkeypatch, SERVER_LINE.sub("-- PostgreSQL 1", SCHEMA_FILE.read_text()))
    assert not make_tables(ALIAS)
    assert connections[ALIAS].introspection.table_names() == []


@pytest.mark.django_db
def test_a_database_in_use_is_left_alone() -> None:
    assert not make_tables(DEFAULT_DB_ALIAS)
