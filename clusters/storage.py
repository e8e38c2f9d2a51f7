"""Where the console itself reaches a team's storage: folders below SLUICE_STORAGE_ROOT, and never anything else."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings


def storage_root() -> Path | None:
    """The folder below which the volumes of teams are mounted; None where the operator gave none."""
    return Path(settings.STORAGE_ROOT) if settings.STORAGE_ROOT else None


def console_path(folder: str) -> Path | None:
    """The folder of a team's volume, if it is there. A link that leads out of the root is not."""
    root = storage_root()
    if root is None or not folder:
        return None
    path = (root / folder).resolve()
    return path if path.is_dir() and path.is_relative_to(root.resolve()) and path != root.resolve() else None
