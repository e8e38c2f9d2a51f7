"""A team with storage that the console reaches, and a cluster that keeps secrets."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from clusters.contract import BackendError, Capability, Rejected
from clusters.models import Cluster, TeamStorage
from tests.cast import Cast


class Keeper:
    """A backend that remembers the secrets it was given; ``answer`` is raised by every call."""

    kind: ClassVar[str] = "keeper"
    capabilities: ClassVar[frozenset[Capability]] = frozenset()
    kept: ClassVar[dict[tuple[str, str], dict[str, bytes]]] = {}
    answer: ClassVar[BackendError | None] = None
    calls: ClassVar[int] = 0

    def __init__(self, cluster: Cluster) -> None: ...

    def put_secret(self, space: str, name: str, data: Mapping[str, bytes]) -> None:
        self._answer()
        self.kept[space, name] = dict(data)

    def drop_secret(self, space: str, name: str) -> None:
        self._answer()
        self.kept.pop((space, name), None)

    def _answer(self) -> None:
        type(self).calls += 1
        if self.answer is not None:
            raise self.answer


def on_a_keeping_cluster(monkeypatch: Any) -> type[Keeper]:
    """Let every cluster keep secrets."""
    fresh = type("Fresh", (Keeper,), {"kept": {}, "answer": None, "calls": 0})
    monkeypatch.setattr("clusters.secrets.backend_for", fresh)
    return fresh


def give_storage(cast: Cast, settings: Any, root: Path, team: str = "vision") -> Path:
    """The team's volume, mounted where the console reaches it."""
    (root / team).mkdir()
    settings.STORAGE_ROOT = str(root)
    TeamStorage.objects.create(cluster=cast.cluster, team=cast.teams[team], volume="team-files", console_folder=team)
    return root / team


def zip_of(**files: str) -> io.BytesIO:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in files.items():
            archive.writestr(f"{name}.py", content)
    target.seek(0)
    return target


REFUSED = Rejected("name_taken", "belongs to somebody else")
