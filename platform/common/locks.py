"""PostgreSQL advisory locks with one table of keys. All locks are tried, never waited for without bound."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from django.db import connection, transaction


class LockSpace(IntEnum):
    """First half of the two-integer key; the second half is the row's id."""

    CLUSTER_SYNC = 7101
    SANDBOX = 7102
    LOG_COLLECT = 7103
    DEMO = 7104
    SECRETS = 7105
    SURVEY = 7106
    PARTITIONS = 7107
    CONFLICTS = 7108


@contextmanager
def try_session_lock(space: LockSpace, key: int) -> Iterator[bool]:
    """Hold a session lock for the block; yields False at once if another session has it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [int(space), key])
        taken = bool(cursor.fetchone()[0])
    try:
        yield taken
    finally:
        if taken:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [int(space), key])


def transaction_lock(space: LockSpace, key: int) -> None:
    """Wait for a lock that lasts until the surrounding transaction ends."""
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("transaction_lock needs a transaction")
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [int(space), key])
