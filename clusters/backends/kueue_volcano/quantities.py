"""Kubernetes quantities as exact numbers (case C-23). Pure."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from math import ceil

_SCALES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    **{letter: Fraction(10 ** (3 * power)) for power, letter in enumerate("MGTPE", start=2)},
    **{f"{letter}i": Fraction(2 ** (10 * power)) for power, letter in enumerate("KMGTPE", start=1)},
}
_QUANTITY = re.compile(r"([+-]?)([0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE]([+-]?[0-9]{1,2})|([a-zA-Z]{0,2}))")

Quantity = str | int | float
"""As JSON has it: the API server writes strings, but a custom resource may keep the number somebody wrote."""


@lru_cache(maxsize=4096)
def exact(text: Quantity) -> Fraction | None:
    """The number a quantity stands for, or None if it is none."""
    match = _QUANTITY.fullmatch(str(text))
    if match is None:
        return None
    sign, digits, exponent, suffix = match.groups()
    scale = Fraction(10) ** int(exponent) if exponent else _SCALES.get(suffix or "")
    if scale is None:
        return None
    number = Fraction(f"0{digits}" if digits.startswith(".") else digits.removesuffix(".")) * scale
    return -number if sign == "-" else number


def whole(text: Quantity | None) -> int:
    """Cards or bytes: a fraction rounds up as the gate does, what is no quantity or negative counts as none."""
    number = exact(text) if text is not None else None
    return max(0, ceil(number)) if number is not None else 0


def millis(text: Quantity | None) -> int:
    """Thousandths, of a CPU; as :func:`whole` otherwise."""
    number = exact(text) if text is not None else None
    return max(0, ceil(number * 1000)) if number is not None else 0


def number(text: str) -> int | None:
    """A small whole number in a label or annotation; None for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 8 else None
