"""The one error of this package; its text is a sentence for the person who typed the command."""

from __future__ import annotations


class EmbeddedError(Exception):
    """Starting or running the embedded console failed for a reason that a person can act on."""
