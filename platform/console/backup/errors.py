"""The one error of this package; its text is a sentence for the person who typed the command."""

from __future__ import annotations


class BackupError(Exception):
    """A backup or a restore is not possible, for a reason that a person can act on. Nothing was changed."""
