"""Migrations newer than the previous version only add what its processes can ignore (expand, then contract)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.models.fields import NOT_PROVIDED

PREVIOUS = Path(__file__).resolve().parents[1] / "system/previous_version.toml"
GOES = (
    migrations.RemoveField,
    migrations.DeleteModel,
    migrations.RenameField,
    migrations.RenameModel,
    migrations.AlterModelTable,
)
FORBIDDEN_WORDS = ("DROP TABLE", "DROP COLUMN", "RENAME", "SET NOT NULL")


def new_migrations() -> Iterator[tuple[str, migrations.Migration]]:
    """Those after the previous version's, by their names."""
    newest: dict[str, str] = tomllib.loads(PREVIOUS.read_text())["migrations"]
    loader = MigrationLoader(None, ignore_no_migrations=True)
    known = {key for app, name in newest.items() for key in loader.graph.forwards_plan((app, name))}
    for app, name in sorted(loader.disk_migrations):
        if app in newest and (app, name) not in known:
            yield f"{app}.{name}", loader.disk_migrations[app, name]


def problems(migration: migrations.Migration) -> list[str]:
    """What of it would break a process of the previous version."""
    made = {each.name_lower for each in migration.operations if isinstance(each, migrations.CreateModel)}
    return [text for each in _on_the_database(migration.operations) if (text := _problem(each, made))]


def _on_the_database(operations: list[Operation]) -> Iterator[Operation]:
    for each in operations:
        if isinstance(each, migrations.SeparateDatabaseAndState):
            yield from _on_the_database(list(each.database_operations))
        else:
            yield each


def _problem(operation: Operation, made: set[str]) -> str:
    """``made``: models that this migration makes; nobody has written to them before."""
    if getattr(operation, "model_name_lower", "") in made:
        return ""
    if isinstance(operation, GOES):
        return f"{operation.describe()}: older processes still use it"
    if isinstance(operation, migrations.AddField) and not _may_be_left_out(operation.field):
        return f"{operation.describe()}: older processes write rows without it, so give it a db_default or null"
    if isinstance(operation, migrations.AlterField) and not operation.field.null and not _has_default(operation.field):
        return f"{operation.describe()}: older processes may leave it out; a db_default or null makes that harmless"
    if isinstance(operation, migrations.RunSQL):
        sql = str(operation.sql).upper()
        return next((f"{word} in SQL" for word in FORBIDDEN_WORDS if word in sql), "")
    return ""


def _has_default(field: models.Field[Any, Any]) -> bool:
    return field.db_default is not NOT_PROVIDED


def _may_be_left_out(field: models.Field[Any, Any]) -> bool:
    return field.null or field.many_to_many or _has_default(field)


def test_processes_of_the_previous_version_go_on_with_every_newer_migration() -> None:
    found = {name: problems(migration) for name, migration in new_migrations()}
    assert {name: texts for name, texts in found.items() if texts} == {}


@pytest.mark.parametrize(
    ("operation", "allowed"),
    [
        (migrations.RemoveField("job", "image"), False),
        (migrations.RenameField("job", "image", "picture"), False),
        (migrations.DeleteModel("job"), False),
        (migrations.RenameModel("job", "work"), False),
        (migrations.AddField("job", "note", models.TextField(default="")), False),
        (migrations.AddField("job", "note", models.TextField(db_default="")), True),
        (migrations.AddField("job", "note", models.TextField(null=True)), True),
        (migrations.AddField("new", "note", models.TextField()), True),
        (migrations.AlterField("job", "note", models.TextField()), False),
        (migrations.AlterField("job", "note", models.TextField(db_default="")), True),
        (migrations.RunSQL("ALTER TABLE jobs_job DROP COLUMN image"), False),
        (migrations.RunSQL("CREATE SEQUENCE somewhere"), True),
        (migrations.SeparateDatabaseAndState([migrations.RemoveField("job", "image")]), False),
        (migrations.SeparateDatabaseAndState([], [migrations.RemoveField("job", "image")]), True),
        (migrations.AddIndex("job", models.Index(fields=["image"], name="jobs_by_image")), True),
    ],
)
def test_what_older_processes_cannot_bear_is_found(operation: Operation, allowed: bool) -> None:
    migration = migrations.Migration("0009_test", "jobs")
    migration.operations = [migrations.CreateModel("new", []), operation]
    assert (problems(migration) == []) is allowed
