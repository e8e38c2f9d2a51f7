"""The product's version, as pyproject.toml names it. No Django: the supervisor says it too."""

from __future__ import annotations

import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def product_version() -> str:
    """For example `1.4.0`."""
    with PROJECT.open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])
