"""Backup and restore with PostgreSQL's own programs: everything comes back, or nothing has changed."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from cryptography.fernet import Fernet

from console.embedded.children import ROOT
from tests.system.console import MAKE_RUN, environment, running, seconds_until

KEY, OTHER_KEY = Fernet.generate_key().decode(), Fernet.generate_key().decode()
CHANGED_BY_THE_LOOK = "clusters_"
SOURCE = "backup_source"


@dataclass(frozen=True)
class Database:
    """One database on the server of the tests, and `manage.py` for it."""

    name: str
    state: Path

    @property
    def url(self) -> str:
        return urlunsplit(urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{self.name}"))

    def manage(self, *arguments: str, keys: str = KEY, demo: str = "0") -> subprocess.CompletedProcess[str]:
        env = environment(
            self.state, 1, DATABASE_URL=self.url, REDIS_URL="redis://127.0.0.1:1/0",
            SLUICE_SECRET_KEY="tests-only-" + "0123456789" * 5, SLUICE_FERNET_KEYS=keys, SLUICE_DEMO=demo,
        )  # fmt: skip
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(sql)  # type: ignore[call-overload]
            return list(cursor.fetchall()) if cursor.description else []

    def content(self) -> dict[str, tuple[int, str]]:
        """How many rows each table has, and a fingerprint of them."""
        tables = self.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
        rows = "SELECT '{0}', count(*), md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), '')) FROM public.{0} t"
        found = self.query(" UNION ALL ".join(rows.format(name) for (name,) in tables)) if tables else []
        return {name: (count, digest) for name, count, digest in found}


def on_server(*statements: str) -> None:
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)  # type: ignore[call-overload]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """An installation with the demo, one session and one sealed value."""
    database = Database(SOURCE, tmp_path_factory.mktemp("state"))
    on_server(f"DROP DATABASE IF EXISTS {SOURCE}", f"CREATE DATABASE {SOURCE}")
    for command in (("migrate", "--noinput"), ("instance_setup",)):
        done = database.manage(*command, demo="1")
        assert done.returncode == 0, done.stderr
    database.query("INSERT INTO django_session VALUES ('a-session', 'data', now() + interval '1 day')")
    sealed = Fernet(KEY).encrypt(b"a credential").decode()
    database.query(f"UPDATE clusters_cluster SET credentials = '{sealed}'")
    yield database
    on_server(f"DROP DATABASE {SOURCE}")


@pytest.fixture(scope="module")
def backup(source: Database, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("backup") / "sluice.backup"
    done = source.manage("backup", str(path))
    assert done.returncode == 0, done.stderr
    assert str(path) in done.stdout
    assert "holds no keys" in done.stdout
    return path


@pytest.fixture
def make_target(tmp_path: Path) -> Iterator[Callable[..., Database]]:
    """Makes databases to restore into, empty or like the source."""
    made: list[str] = []

    def make(*, like_source: bool = False) -> Database:
        name = f"backup_target_{len(made)}"
        template = f"TEMPLATE {SOURCE}" if like_source else ""
        on_server(f"DROP DATABASE IF EXISTS {name}", f"CREATE DATABASE {name} {template}")
        made.append(name)
        return Database(name, tmp_path)

    yield make
    on_server(*(f"DROP DATABASE {name}" for name in made))


def changed(backup: Path, target: Path, *, dump: bytes | None = None, **manifest: Any) -> Path:
    """A backup with other content and checksums that are right for it."""
    with tarfile.open(backup) as tar:
        members = {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]
    content = json.loads(members["manifest.json"])["manifest"] | manifest
    members["database.dump"] = members["database.dump"] if dump is None else dump
    content["checksums"]["database.dump"] = hashlib.sha256(members["database.dump"]).hexdigest()
    checksum = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    members["manifest.json"] = json.dumps({"manifest": content, "sha256": checksum}).encode()
    with tarfile.open(target, "w") as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return target


def dump_of(backup: Path) -> bytes:
    with tarfile.open(backup) as tar:
        file = tar.extractfile("database.dump")
        assert file is not None
        return file.read()


def refused(target: Database, why: str, *arguments: str, keys: str = KEY) -> None:
    """The restore is refused for this reason, in a sentence, and nothing has changed."""
    before = target.content()
    done = target.manage("restore", *arguments, keys=keys)
    assert done.returncode == 1, done.stdout
    assert why in done.stderr
    assert "Traceback" not in done.stderr
    assert target.content() == before


def test_everything_comes_back_but_sessions(
    source: Database, backup: Path, make_target: Callable[..., Database]
) -> None:
    target = make_target()
    done = target.manage("restore", str(backup))
    assert done.returncode == 0, done.stderr
    assert "Cluster sandbox: looked at." in done.stdout
    there, here = source.content(), target.content()
    assert there.keys() == here.keys()
    assert here.pop("django_session")[0] == 0
    assert there.pop("django_session")[0] == 1
    assert {name for name in there if there[name] != here[name] and not name.startswith(CHANGED_BY_THE_LOOK)} == set()
    assert there["jobs_job"][0] > 20
    for name in ("clusters_cluster", "clusters_nodegroup", "clusters_node", "clusters_sandboxworld"):
        assert there[name][0] == here[name][0] > 0
    (last,) = source.query("SELECT last_value FROM clusters_observed_version")[0]
    assert target.query("SELECT nextval('clusters_observed_version')")[0][0] > last


def test_only_the_owner_may_read_a_backup_and_none_is_written_over(source: Database, backup: Path) -> None:
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    before = backup.read_bytes()
    done = source.manage("backup", str(backup))
    assert done.returncode == 1
    assert "exists already" in done.stderr
    assert backup.read_bytes() == before
    assert [path.name for path in backup.parent.iterdir()] == [backup.name]


def test_keys_are_in_a_backup_only_when_asked_for(source: Database, backup: Path) -> None:
    assert KEY.encode() not in backup.read_bytes()
    with_keys = backup.with_name("with-keys.backup")
    try:
        assert source.manage("backup", str(with_keys), "--with-keys").returncode == 0
        assert KEY.encode() in with_keys.read_bytes()
    finally:
        with_keys.unlink()


def test_without_its_keys_a_backup_is_refused_unless_that_is_said(
    backup: Path, make_target: Callable[..., Database]
) -> None:
    target = make_target()
    refused(target, "open with keys that are not in SLUICE_FERNET_KEYS", str(backup), keys=OTHER_KEY)
    assert target.manage("restore", str(backup), keys=f"{OTHER_KEY},{KEY}").returncode == 0
    assert target.manage("restore", str(backup), "--without-keys", "--replace", keys=OTHER_KEY).returncode == 0


def test_what_is_in_the_database_is_replaced_only_when_that_is_said(
    source: Database, backup: Path, make_target: Callable[..., Database]
) -> None:
    target = make_target(like_source=True)
    target.query("CREATE TABLE of_a_later_version (id int); UPDATE accounts_user SET language = 'zh-hans'")
    refused(target, "--replace", str(backup))
    assert target.manage("restore", str(backup), "--replace").returncode == 0
    assert target.query("SELECT to_regclass('of_a_later_version')") == [(None,)]
    assert target.content()["accounts_user"] == source.content()["accounts_user"]


def test_a_newer_schema_is_replaced_only_when_that_is_said(backup: Path, make_target: Callable[..., Database]) -> None:
    target = make_target(like_source=True)
    target.query("INSERT INTO django_migrations (app, name, applied) VALUES ('jobs', '9999_later', now())")
    refused(target, "--replace-newer", str(backup), "--replace")
    assert target.manage("restore", str(backup), "--replace", "--replace-newer").returncode == 0
    assert target.query("SELECT count(*) FROM django_migrations WHERE name = '9999_later'") == [(0,)]


def test_a_backup_of_a_newer_version_is_refused(
    backup: Path, make_target: Callable[..., Database], tmp_path: Path
) -> None:
    newer = changed(backup, tmp_path / "newer", version="9.9.9", migrations={"jobs": ["9999_later"]})
    refused(make_target(), "made by version 9.9.9", str(newer))


def test_a_damaged_file_is_refused(backup: Path, make_target: Callable[..., Database], tmp_path: Path) -> None:
    whole = backup.read_bytes()
    middle = len(whole) // 2
    target = make_target(like_source=True)
    for name, data in {
        "flipped": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
        "short": whole[:middle],
        "other": b"thesis",
    }.items():
        (tmp_path / name).write_bytes(data)
        refused(target, "is no backup of Sluice, or it is damaged", str(tmp_path / name), "--replace")


def test_a_restore_that_breaks_halfway_leaves_everything_as_it_was(
    backup: Path, make_target: Callable[..., Database], tmp_path: Path
) -> None:
    target = make_target(like_source=True)
    dump = dump_of(backup)
    for broken in (
        changed(backup, tmp_path / "short", dump=dump[: len(dump) * 3 // 4]),
        changed(backup, tmp_path / "mixed-up", migrations={"jobs": ["0001_initial"]}),
    ):
        refused(target, "the database is as it was", str(broken), "--replace", "--replace-newer")


def test_others_who_are_connected_are_not_pulled_away_from_under(
    backup: Path, make_target: Callable[..., Database]
) -> None:
    target = make_target()
    with psycopg.connect(target.url):
        refused(target, "other clients are connected", str(backup))


def test_make_restores_what_make_has_backed_up_and_the_console_starts_with_it(used_state: Path) -> None:
    """On the servers of the state folder, whether the console runs or not."""
    new_state = used_state / "elsewhere"
    file = used_state / "console.backup"

    def make(state: Path, target: str, *words: str) -> subprocess.CompletedProcess[str]:
        argv = ["make", "--no-print-directory", target, f"FILE={file}", *words]
        return subprocess.run(argv, cwd=ROOT, env=environment(state, 1), capture_output=True, text=True, timeout=120)

    with running(used_state, argv=MAKE_RUN) as console:
        console.wait_for("READY")
        token = console.manage("token_create", "eng-vision-1").stdout.strip()
        done = make(used_state, "backup", "WITH_KEYS=1")
        assert done.returncode == 0, done.stderr
        assert "connected" in make(used_state, "restore", "REPLACE=1").stderr
        assert console.is_ready()
    assert "TAKE_KEYS" not in make(used_state, "restore", "REPLACE=1").stderr
    assert "--take-keys" in make(new_state, "restore").stderr
    done = make(new_state, "restore", "TAKE_KEYS=1")
    assert done.returncode == 0, done.stderr
    with running(new_state, argv=MAKE_RUN) as console:
        console.wait_for("READY")
        assert console.request("GET", "/api/v1/jobs", token=token)[0] == 200
    seconds_until(lambda: not (new_state / "instance.json").exists(), 5)
    shutil.rmtree(new_state)
