"""The tables of a new database at once, from schema.sql, instead of one migration after the other.

The file holds what the migrations that it names make, and notes them as applied; those that are newer run afterwards
as ever. A database with any table in it, or a server of another major version, is left to the migrations. Django
takes seconds to play all migrations through, and this file a fraction of one.
"""

from __future__ import annotations

import re
from pathlib import Path

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

SCHEMA_FILE = Path(__file__).with_name("schema.sql")
SERVER_LINE = re.compile(r"^-- PostgreSQL (\d+)$", re.MULTILINE)
APPLIED_LINE = re.compile(r"^ *\('(\w+)', '(\w+)', now\(\)\)[,;]$", re.MULTILINE)


def make_tables(database: str) -> bool:
    """Fill the database of this alias from the file; False, with nothing done, where it does not fit."""
    connection = connections[database]
    sql = SCHEMA_FILE.read_text()
    with transaction.atomic(using=database):
        if not _fits(connection, sql):
            return False
        with connection.cursor() as cursor:
            cursor.execute(sql)
    return True


def migrations_in(sql: str) -> list[tuple[str, str]]:
    """(app, name) of the migrations that the text of a schema file notes as applied."""
    return APPLIED_LINE.findall(sql)


def _fits(connection: BaseDatabaseWrapper, sql: str) -> bool:
    made_on = SERVER_LINE.search(sql)
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version_num')::int / 10000, current_schema()")
        major, schema = cursor.fetchone()
        is_empty = not connection.introspection.get_table_list(cursor)
    return is_empty and schema == "public" and made_on is not None and int(made_on[1]) == major
