"""Archives of friends are unpacked; those of strangers reach nothing outside their folder."""

from __future__ import annotations

import io
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from clusters import unpacking
from clusters.unpacking import ArchiveProblem, Unpacked, unpack

FILES = {"train.py": b"print(1)\n", "lib/model.py": b"x = 1\n", "data/名.txt": "名".encode()}


def zipped(files: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> io.BytesIO:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target


def tarred(files: dict[str, bytes], mode: str = "w:gz", form: int = tarfile.PAX_FORMAT) -> io.BytesIO:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode=mode, format=form) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return target


def tar_of(entry: tarfile.TarInfo) -> io.BytesIO:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        archive.addfile(entry)
    return target


def refused(archive: io.BytesIO, folder: Path) -> str:
    around = set(folder.parent.iterdir())
    with pytest.raises(ArchiveProblem) as caught:
        unpack(archive, folder)
    assert set(folder.parent.iterdir()) == around
    return caught.value.code


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    target = tmp_path / "code"
    target.mkdir()
    return target


@pytest.mark.parametrize(
    "make",
    [
        zipped,
        lambda files: zipped(files, zipfile.ZIP_STORED),
        tarred,
        lambda files: tarred(files, "w"),
        lambda files: tarred(files, "w:bz2", tarfile.GNU_FORMAT),
    ],
)
def test_every_usual_form_is_unpacked(make: Callable[[dict[str, bytes]], io.BytesIO], folder: Path) -> None:
    assert unpack(make(FILES), folder) == Unpacked(3, sum(map(len, FILES.values())))
    assert {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()} == FILES


def test_a_program_stays_executable_and_nothing_else_of_the_mode_stays(folder: Path) -> None:
    entry = zipfile.ZipInfo("run.sh")
    entry.external_attr = (stat.S_IFREG | 0o6777) << 16
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(entry, b"#!/bin/sh\n")
        archive.writestr("plain", b"")
    unpack(target, folder)
    assert stat.S_IMODE((folder / "run.sh").stat().st_mode) & ~0o022 == 0o755 & ~0o022
    assert not (folder / "run.sh").stat().st_mode & (stat.S_ISUID | stat.S_ISGID)
    assert not (folder / "plain").stat().st_mode & 0o111


@pytest.mark.parametrize(
    "name",
    ["../out", "a/../../out", "/etc/passwd", "a\\..\\out", "C:\\x", "a\nb", "a/" * 60 + "x", "x" * 300, "a\x7fb"],
)
@pytest.mark.parametrize("make", [zipped, tarred])
def test_a_name_that_could_lead_elsewhere_is_refused(
    name: str, make: Callable[[dict[str, bytes]], io.BytesIO], folder: Path
) -> None:
    assert refused(make({name: b"x"}), folder) == "unsafe_name"


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_links_are_refused(kind: bytes, folder: Path) -> None:
    entry = tarfile.TarInfo("link")
    entry.type, entry.linkname = kind, "/etc/passwd"
    assert refused(tar_of(entry), folder) == "link"


def test_links_in_a_zip_file_are_refused(folder: Path) -> None:
    entry = zipfile.ZipInfo("link")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(entry, b"/etc/passwd")
    assert refused(target, folder) == "link"


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_what_is_no_plain_file_is_refused(kind: bytes, folder: Path) -> None:
    entry = tarfile.TarInfo("device")
    entry.type = kind
    assert refused(tar_of(entry), folder) == "special_file"


def test_one_name_for_two_files_is_refused(folder: Path) -> None:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for _ in range(2):
            archive.addfile(tarfile.TarInfo("same"))
    assert refused(target, folder) == "twice"


def test_a_file_cannot_stand_where_a_folder_is_needed(folder: Path) -> None:
    assert refused(tarred({"a": b"x", "a/b": b"y"}), folder) == "twice"


class TestBombs:
    @pytest.fixture(autouse=True)
    def small_limits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(unpacking, "BYTES_MAX", 1_000_000)
        monkeypatch.setattr(unpacking, "FILES_MAX", 50)

    @pytest.mark.parametrize("make", [zipped, tarred])
    def test_what_grows_too_large_is_stopped(
        self, make: Callable[[dict[str, bytes]], io.BytesIO], folder: Path
    ) -> None:
        archive = make({"zeros": bytes(5_000_000)})
        assert archive.seek(0, io.SEEK_END) < 100_000
        assert refused(archive, folder) == "too_large"
        assert sum(p.stat().st_size for p in folder.rglob("*")) <= 1_000_000

    def test_a_zip_file_that_lies_about_its_sizes_is_stopped_or_damaged(self, folder: Path) -> None:
        data = bytearray(zipped({"zeros": bytes(5_000_000)}).getvalue())
        for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
            at = data.find(signature) + offset
            data[at : at + 4] = struct.pack("<L", 10)
        assert refused(io.BytesIO(bytes(data)), folder) in ("too_large", "damaged")

    @pytest.mark.parametrize("make", [zipped, tarred])
    def test_too_many_files_are_stopped(self, make: Callable[[dict[str, bytes]], io.BytesIO], folder: Path) -> None:
        assert refused(make({f"f{number}": b"" for number in range(51)}), folder) == "too_many_files"

    def test_a_huge_table_of_contents_is_not_read(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        data = zipped({f"f{number}": b"" for number in range(9)})
        monkeypatch.setattr(unpacking, "DIRECTORY_MAX", 100)
        monkeypatch.setattr(zipfile, "ZipFile", None)  # nobody may open it
        assert refused(data, folder) == "too_many_files"

    def test_what_is_only_passed_over_counts_as_well(self, folder: Path) -> None:
        entry = tarfile.TarInfo("folder")
        entry.type, entry.size = tarfile.DIRTYPE, 5_000_000
        target = io.BytesIO(entry.tobuf(tarfile.USTAR_FORMAT) + bytes(entry.size) + bytes(1024))
        assert refused(target, folder) == "too_large"

    def test_a_chain_of_headers_does_not_exhaust_the_stack(self, folder: Path) -> None:
        header = tarfile.TarInfo("long")
        header.type, header.size = tarfile.GNUTYPE_LONGNAME, 1
        target = io.BytesIO((header.tobuf(tarfile.GNU_FORMAT) + b"x" + bytes(511)) * 5_000)
        assert refused(target, folder) == "damaged"

    def test_a_header_as_large_as_memory_is_not_read(self, folder: Path) -> None:
        entry = tarfile.TarInfo("long")
        entry.type, entry.size = tarfile.XHDTYPE, 2 * unpacking.EXTENSION_MAX
        target = io.BytesIO(entry.tobuf(tarfile.USTAR_FORMAT) + bytes(entry.size) + bytes(1024))
        assert refused(target, folder) == "too_large"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "not_an_archive"),
        (b"hello", "not_an_archive"),
        (bytes(10_240), "not_an_archive"),
        (b"PK\x03\x04" + bytes(60), "damaged"),
        (zipped(FILES).getvalue()[:-30], "damaged"),
        (tarred(FILES).getvalue()[:60], "damaged"),
    ],
    ids=["empty", "text", "zeros", "zip header alone", "cut zip", "cut tar"],
)
def test_what_is_no_archive_is_refused(data: bytes, code: str, folder: Path) -> None:
    assert refused(io.BytesIO(data), folder) in (code, "not_an_archive")


@pytest.mark.parametrize(
    "data", [zipped(FILES, zipfile.ZIP_LZMA).getvalue(), tarred(FILES, "w:xz").getvalue()], ids=["zip", "tar"]
)
def test_compressions_that_choose_their_memory_are_refused(data: bytes, folder: Path) -> None:
    assert refused(io.BytesIO(data), folder) in ("damaged", "not_an_archive")


def test_an_encrypted_zip_file_is_refused(folder: Path) -> None:
    data = bytearray(zipped({"a": b"x"}).getvalue())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.find(signature) + offset] |= 1
    assert refused(io.BytesIO(bytes(data)), folder) == "encrypted"
