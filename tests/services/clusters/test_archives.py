"""Uploaded code: received into the team's storage whole or not at all, and gone when no job wants it."""

from __future__ import annotations

import io
import os
import tarfile
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from accounts.models import AuditEvent
from clusters import archives
from clusters.archives import archive_store
from clusters.models import CodeArchive
from common.errors import NotAllowed
from jobs.housekeeping import clear_unused_archives
from jobs.services.submit import job_submit
from tests.cast import Cast
from tests.services.clusters.supplied import give_storage, zip_of
from tests.services.support import problems_of, refused
from tests.stage import BODY


@pytest.fixture
def storage(cast: Cast, settings: Any, tmp_path: Path) -> Path:
    return give_storage(cast, settings, tmp_path)


def upload(cast: Cast, by: str = "eng-vision-1", data: Any = None) -> CodeArchive:
    return archive_store(
        actor=cast.actor(by),
        cluster=cast.cluster,
        team=cast.teams["vision"],
        name="train.zip",
        upload=data or zip_of(train="print(1)"),
    )


def test_an_upload_is_unpacked_where_jobs_will_read_it(cast: Cast, storage: Path) -> None:
    archive = upload(cast)
    assert (archive.name, archive.files, archive.size_bytes) == ("train.zip", 1, 8)
    assert (storage / "archives" / archive.public_id / "train.py").read_text() == "print(1)"
    assert [path.name for path in (storage / "archives").iterdir()] == [archive.public_id]
    assert AuditEvent.objects.get(action="archive.upload").detail["files"] == 1


def test_a_stranger_to_the_team_uploads_nothing(cast: Cast, storage: Path) -> None:
    refused(lambda: upload(cast, by="eng-language-1"), NotAllowed)
    assert not (storage / "archives").exists()


def test_what_is_refused_leaves_nothing_behind(cast: Cast, storage: Path) -> None:
    link = tarfile.TarInfo("link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"

    def attempt() -> None:
        target = io.BytesIO()
        with tarfile.open(fileobj=target, mode="w") as archive:
            archive.addfile(link)
        target.seek(0)
        upload(cast, data=target)

    found = problems_of(attempt)
    assert found["archive"].code == "link"
    assert list((storage / "archives").iterdir()) == []


def test_more_than_the_limit_is_cut_off_while_it_arrives(
    cast: Cast, storage: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "BYTES_MAX", 1_000_000)

    class Endless:
        given = 0

        def read(self, size: int, /) -> bytes:
            self.given += size
            return bytes(size)

    stream = Endless()
    error = refused(lambda: upload(cast, data=stream))
    assert (error.code, error.status) == ("too_large", 413)
    assert stream.given < 2_000_000
    assert list((storage / "archives").iterdir()) == []


def test_a_connection_that_breaks_leaves_nothing_behind(cast: Cast, storage: Path) -> None:
    class Broken:
        def read(self, size: int, /) -> bytes:
            raise OSError("connection lost")

    error = refused(lambda: upload(cast, data=Broken()))
    assert (error.code, error.status) == ("storage_failed", 503)
    assert list((storage / "archives").iterdir()) == []


def test_without_storage_there_is_one_sentence(cast: Cast) -> None:
    error = refused(lambda: upload(cast))
    assert (error.code, error.status) == ("no_storage", 409)
    assert "no storage" in str(error.message)


def test_a_link_that_a_job_put_in_the_folders_place_is_not_followed(cast: Cast, storage: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (storage / "archives").symlink_to(elsewhere)
    assert refused(lambda: upload(cast)).code == "storage_failed"
    assert list(elsewhere.iterdir()) == []


def test_a_person_uploads_at_most_so_many_a_day(cast: Cast, storage: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "UPLOADS_A_DAY", 1)
    upload(cast)
    error = refused(lambda: upload(cast))
    assert (error.code, error.status) == ("too_many_uploads", 429)
    upload(cast, by="eng-vision-2")


class TestClearingUp:
    def test_what_no_job_names_goes_after_a_day_and_what_one_names_stays(self, cast: Cast, storage: Path) -> None:
        named, unnamed = upload(cast), upload(cast)
        body = {**BODY, "code": {"kind": "archive", "archive": named.public_id}}
        job_submit(actor=cast.actor("eng-vision-1"), data=body)
        assert clear_unused_archives() == 0
        with time_machine.travel(timezone.now() + timedelta(hours=26)):
            assert clear_unused_archives() == 1
        assert list(CodeArchive.objects.all()) == [named]
        assert (storage / "archives" / named.public_id).is_dir()
        assert not (storage / "archives" / unnamed.public_id).exists()

    def test_what_a_dead_process_left_goes_as_well(self, cast: Cast, storage: Path) -> None:
        folder = storage / "archives"
        folder.mkdir()
        for name in (".upload-old", ".unpack-old", ".upload-new"):
            (folder / name).mkdir() if "unpack" in name else (folder / name).write_text("x")
        old = time.time() - 26 * 3600
        for name in (".upload-old", ".unpack-old"):
            os.utime(folder / name, (old, old))
        clear_unused_archives()
        assert [path.name for path in folder.iterdir()] == [".upload-new"]
