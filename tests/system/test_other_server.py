"""The override SLUICE_PG_BIN: the console on the PostgreSQL that this machine happens to have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.system.console import running

PLACES = sorted(
    (path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")), key=lambda path: int(path.parent.name)
)
JOB = {"framework": "command", "image": "busybox:1", "cards": 1, "priority": "normal", "command": "sleep 1; exit 0"}


@pytest.mark.skipif(not PLACES, reason="there is no other PostgreSQL in /usr/lib/postgresql")
def test_the_console_runs_on_another_postgresql(state: Path) -> None:
    programs = PLACES[-1]
    with running(state, SLUICE_PG_BIN=str(programs)) as console:
        console.wait_for("READY")
        database = console.child("postgres")
        assert database is not None
        assert database.exe() == str(programs / "postgres")
        assert (state / f"pg{programs.parent.name}").is_dir()
        assert console.manage("token_create", "admin").returncode == 0
        backup = console.manage("backup", str(state / "sluice.backup"))
        assert backup.returncode == 0, backup.stderr
