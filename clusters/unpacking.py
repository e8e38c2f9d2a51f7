"""Unpacking an archive that a stranger may have made: into an empty folder, and nothing of it anywhere else.

Only plain files and folders come out. Sizes are counted while writing and not believed; whatever could point outside
(absolute names, `..`, links, devices) refuses the whole archive. What was written before a refusal is left to the
caller, who owns the folder.
"""

from __future__ import annotations

import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

FILES_MAX = 20_000
BYTES_MAX = 2**30  # unpacked
DEPTH_MAX = 40
COMPONENT_MAX = 255  # bytes, as file systems have it
DIRECTORY_MAX = 8 * 2**20
"""Of a zip file's table of contents, which is read as a whole."""
EXTENSION_MAX = 2**20
"""Of a tar file's header for long names, which is read as a whole."""

_CHUNK = 256 * 1024
_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, struct.error, ValueError, RecursionError)


class ArchiveProblem(Exception):
    """Why an archive is refused.

    ``code``: not_an_archive, damaged, encrypted, unsafe_name, link, special_file, twice, too_many_files, too_large.
    ``name``: the entry it is about, if any.
    """

    def __init__(self, code: str, name: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.name = name


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What came out."""

    files: int
    size_bytes: int


def unpack(archive: IO[bytes], target: Path) -> Unpacked:
    """Unpack a zip or tar file (plain, gzip or bzip2) into ``target``, an empty folder.

    Other compressions are left out because their files say how much memory they take. Raises ArchiveProblem, or
    OSError when the folder cannot take it.
    """
    archive.seek(0)
    writer = _Writer(target)
    try:
        if _is_zip(archive):
            _unpack_zip(archive, writer)
        else:
            _unpack_tar(archive, writer)
    except _DAMAGED as error:
        raise ArchiveProblem("damaged") from error
    if not writer.files:
        raise ArchiveProblem("not_an_archive")
    return Unpacked(writer.files, writer.size)


class _Writer:
    """Writes entries below a folder and keeps count."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self.entries = 0
        self.files = 0
        self.size = 0

    def folder(self, name: str) -> None:
        if (path := self._place(name)) != self._target:
            self._make(path, name)

    def file(self, name: str, content: IO[bytes], *, executable: bool) -> None:
        path = self._place(name)
        if path == self._target:
            raise ArchiveProblem("unsafe_name", name)
        self._make(path.parent, name)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            descriptor = os.open(path, flags, 0o755 if executable else 0o644)
        except (FileExistsError, IsADirectoryError) as error:
            raise ArchiveProblem("twice", name) from error
        with os.fdopen(descriptor, "wb") as file:
            while chunk := content.read(_CHUNK):
                self.size += len(chunk)
                if self.size > BYTES_MAX:
                    raise ArchiveProblem("too_large", name)
                file.write(chunk)
        self.files += 1

    def _place(self, name: str) -> Path:
        self.entries += 1
        if self.entries > FILES_MAX:
            raise ArchiveProblem("too_many_files")
        parts = [part for part in name.split("/") if part not in ("", ".")]
        is_unsafe = (
            name.startswith("/")
            or "\\" in name
            or not name.isprintable()
            or len(parts) > DEPTH_MAX
            or any(part == ".." or len(part.encode("utf-8", "replace")) > COMPONENT_MAX for part in parts)
        )
        if is_unsafe:
            raise ArchiveProblem("unsafe_name", name)
        return self._target.joinpath(*parts)

    def _make(self, path: Path, name: str) -> None:
        try:
            path.mkdir(mode=0o755, parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise ArchiveProblem("twice", name) from error


# --------------------------------------------------------------------------- zip

_END = struct.Struct("<4s4H2LH")
_COMMENT_MAX = 65_535
_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)


def _is_zip(archive: IO[bytes]) -> bool:
    head = archive.read(4)
    archive.seek(0)
    return head in (b"PK\x03\x04", b"PK\x05\x06")


def _unpack_zip(archive: IO[bytes], writer: _Writer) -> None:
    _check_directory(archive)
    with zipfile.ZipFile(archive) as opened:
        for entry in opened.infolist():
            mode = entry.external_attr >> 16
            if entry.flag_bits & 0x1:
                raise ArchiveProblem("encrypted", entry.filename)
            if stat.S_ISLNK(mode):
                raise ArchiveProblem("link", entry.filename)
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise ArchiveProblem("special_file", entry.filename)
            if entry.is_dir():
                writer.folder(entry.filename)
                continue
            if entry.compress_type not in _ZIP_METHODS:
                raise ArchiveProblem("damaged", entry.filename)
            with _opened(opened, entry) as content:
                writer.file(entry.filename, content, executable=bool(mode & 0o100))


@contextmanager
def _opened(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
    try:
        content = archive.open(entry)
    except (NotImplementedError, RuntimeError) as error:  # a method of compression or encryption it does not know
        raise ArchiveProblem("damaged", entry.filename) from error
    with content:
        yield content


def _check_directory(archive: IO[bytes]) -> None:
    """Refuse a table of contents that is too large before it is read; small files never need the 64-bit form."""
    end = archive.seek(0, os.SEEK_END)
    archive.seek(max(0, end - _END.size - _COMMENT_MAX))
    tail = archive.read()
    archive.seek(0)
    found = tail.rfind(b"PK\x05\x06")
    if found < 0 or len(tail) - found < _END.size:
        raise ArchiveProblem("damaged")
    size = _END.unpack_from(tail, found)[5]
    if b"PK\x06\x07" in tail[:found][-20:] or size > DIRECTORY_MAX:
        raise ArchiveProblem("too_many_files")


# --------------------------------------------------------------------------- tar

_EXTENSIONS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


class _Entry(tarfile.TarInfo):
    """An entry whose extended headers stay small: the library reads them as a whole, whatever their size."""

    def _proc_member(self, archive: tarfile.TarFile) -> Any:
        if self.type in _EXTENSIONS and self.size > EXTENSION_MAX:
            raise ArchiveProblem("too_large")
        return super()._proc_member(archive)  # type: ignore[misc]


def _unpack_tar(archive: IO[bytes], writer: _Writer) -> None:
    mode = _tar_mode(archive)
    try:
        opened = tarfile.open(fileobj=archive, mode=mode, tarinfo=_Entry)  # noqa: SIM115 # closed below
    except tarfile.ReadError as error:
        raise ArchiveProblem("not_an_archive") from error
    passed = 0
    with opened:
        for entry in opened:
            passed += entry.size
            if passed > BYTES_MAX:  # also of what is not written: it would be read all the same
                raise ArchiveProblem("too_large", entry.name)
            if entry.issym() or entry.islnk():
                raise ArchiveProblem("link", entry.name)
            if entry.isdir():
                writer.folder(entry.name)
            elif entry.isreg() and not entry.issparse():
                content = opened.extractfile(entry)
                assert content is not None  # it is a plain file
                writer.file(entry.name, content, executable=bool(entry.mode & 0o100))
            else:
                raise ArchiveProblem("special_file", entry.name)
            opened.members = []  # type: ignore[attr-defined] # the library keeps every entry otherwise


def _tar_mode(archive: IO[bytes]) -> Literal["r|", "r|gz", "r|bz2"]:
    head = archive.read(3)
    archive.seek(0)
    if head.startswith(b"\x1f\x8b"):
        return "r|gz"
    return "r|bz2" if head == b"BZh" else "r|"
