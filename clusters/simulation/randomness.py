"""Randomness without a generator: every draw is a hash of (seed, object, purpose).

A draw never depends on how many draws came before it, so a world that is split, saved or copied in the
middle of a run goes on exactly as it would have.
"""

from __future__ import annotations

from hashlib import blake2b

_SPAN = 1 << 64


def draw(seed: int, *key: object) -> int:
    """A 64-bit integer that is the same for the same seed and key, on every machine."""
    text = "\x1f".join(map(str, (seed, *key)))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def draw_between(low: int, high: int, seed: int, *key: object) -> int:
    """An integer from ``low`` to ``high``, both included."""
    return low + draw(seed, *key) % (high - low + 1)


def draw_unit(seed: int, *key: object) -> float:
    """A fraction in [0, 1)."""
    return draw(seed, *key) / _SPAN
