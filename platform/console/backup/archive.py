"""The one file of a backup: a tar of a manifest, PostgreSQL's own dump and, where asked for, the keys.

The manifest comes first and names the SHA-256 of every other member, and its own. Reading verifies all of them before
anything is used, and takes no name and no path from the file.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from console.backup.errors import BackupError

FORMAT = 1
MANIFEST = "manifest.json"
DUMP = "database.dump"
KEYS = "keys.json"
MANIFEST_MAX_BYTES = 1024 * 1024
PIECE_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Manifest:
    """What a backup is. ``migrations`` are the applied ones by app, in order; ``keys`` are fingerprints."""

    version: str  # of the product
    made_at: str  # ISO 8601, UTC
    server: str  # PostgreSQL's version
    migrations: Mapping[str, Sequence[str]]
    keys: Sequence[str]
    checksums: Mapping[str, str] = field(default_factory=dict)
    format: int = FORMAT


@dataclass(frozen=True)
class Archive:
    """A backup whose checksums are right. ``keys`` is None where it carries none."""

    manifest: Manifest
    dump: Path
    keys: tuple[str, ...] | None


def fingerprint(key: str) -> str:
    """Tells keys apart and says nothing about them: they are random numbers of 256 bits."""
    return hashlib.sha256(b"sluice backup key\0" + key.encode()).hexdigest()[:16]


def write_archive(stream: IO[bytes], manifest: Manifest, dump: Path, keys: Sequence[str] | None) -> None:
    """Write a backup to ``stream``, which need not be able to seek."""
    packed_keys = json.dumps(list(keys)).encode() if keys is not None else None
    checksums = {DUMP: _sha256(dump)}
    if packed_keys is not None:
        checksums[KEYS] = hashlib.sha256(packed_keys).hexdigest()
    content = asdict(manifest) | {"checksums": checksums}
    packed_manifest = json.dumps({"manifest": content, "sha256": _sha256_of_json(content)}, indent=1).encode()
    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        _add(tar, MANIFEST, len(packed_manifest), io.BytesIO(packed_manifest))
        with dump.open("rb") as file:
            _add(tar, DUMP, dump.stat().st_size, file)
        if packed_keys is not None:
            _add(tar, KEYS, len(packed_keys), io.BytesIO(packed_keys))


def _add(tar: tarfile.TarFile, name: str, size: int, content: IO[bytes]) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o600
    tar.addfile(member, content)


@contextmanager
def opened_archive(path: Path, room: Path | None = None) -> Iterator[Archive]:
    """The verified content of a backup, unpacked into a private folder that is gone afterwards. Raises BackupError.

    The folder is made in ``room``, None: where temporary files go.
    """
    with tempfile.TemporaryDirectory(prefix="sluice-restore-", dir=room) as name:
        folder = Path(name)
        try:
            with tarfile.open(path, mode="r:") as tar:
                manifest = _manifest(tar)
                for member in manifest.checksums:
                    _unpack(tar, member, folder, manifest.checksums[member])
        except OSError as error:
            raise BackupError(f"{path} cannot be read: {error}") from error
        except (tarfile.TarError, KeyError, ValueError, TypeError) as error:
            raise BackupError(f"{path} is no backup of Sluice, or it is damaged ({error}).") from error
        keys = folder / KEYS
        yield Archive(manifest, folder / DUMP, tuple(json.loads(keys.read_text())) if keys.exists() else None)


def _manifest(tar: tarfile.TarFile) -> Manifest:
    member = tar.getmember(MANIFEST)
    file = tar.extractfile(member)
    if file is None or member.size > MANIFEST_MAX_BYTES:
        raise ValueError("its manifest is no plain file")
    wrapped: dict[str, Any] = json.loads(file.read())
    content = wrapped["manifest"]
    if wrapped["sha256"] != _sha256_of_json(content):
        raise ValueError("the checksum of its manifest is wrong")
    if content["format"] != FORMAT:
        raise BackupError(f"This backup has format {content['format']}, and this version reads format {FORMAT} only.")
    if not {DUMP} <= content["checksums"].keys() <= {DUMP, KEYS}:
        raise ValueError("its manifest names other members than a backup has")
    return Manifest(**content)


def _unpack(tar: tarfile.TarFile, name: str, folder: Path, checksum: str) -> None:
    """Copy one member into ``folder``; it counts only with the right checksum."""
    source = tar.extractfile(name)
    if source is None:
        raise ValueError(f"{name} is no plain file")
    digest = hashlib.sha256()
    with (folder / name).open("wb") as target:
        while piece := source.read(PIECE_BYTES):
            digest.update(piece)
            target.write(piece)
    if digest.hexdigest() != checksum:
        raise ValueError(f"the checksum of {name} is wrong")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sha256_of_json(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
