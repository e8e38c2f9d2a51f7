"""Exact quantities typed by people: cards, CPU, memory (case C-07). No floats anywhere.

Each parser returns an integer or raises :class:`BadQuantity` with a code that the form turns into a sentence.
"""

from __future__ import annotations

import re
from fractions import Fraction

CARDS_MAX = 100_000
CPU_MILLIS_MAX = 1_024_000
MEMORY_BYTES_MAX = 64 * 2**40
DIGITS_MAX = 18
"""Longer numbers are above every maximum and are never computed with: a text may have a million digits."""


class BadQuantity(ValueError):
    """``code``: not_a_number, not_whole, negative, too_large, too_small, unit_missing, unit_unknown, byte_unit."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def parse_cards(value: object) -> int:
    """A whole number of cards, 0 to 100,000. `2.0` or `１` (full width) are refused, never rounded."""
    if isinstance(value, bool) or value is None:
        raise BadQuantity("not_a_number")
    if isinstance(value, int):
        number = value
    elif isinstance(value, str) and (match := re.fullmatch(r"\s*(?:\+|(-))?([0-9]+)\s*", value)):
        number = int(_exact(match[1], match[2], None))
    elif isinstance(value, (float, str)):
        raise BadQuantity("not_whole")
    else:
        raise BadQuantity("not_a_number")
    if number < 0:
        raise BadQuantity("negative")
    if number > CARDS_MAX:
        raise BadQuantity("too_large")
    return number


_NUMBER = r"(-)?([0-9]+)(?:\.([0-9]{1,18}))?"


def _exact(minus: str | None, whole: str, decimals: str | None) -> Fraction:
    """The number behind the groups of a match. Raises BadQuantity for one of more than DIGITS_MAX digits."""
    digits = whole.lstrip("0") or "0"
    if len(digits) > DIGITS_MAX:
        raise BadQuantity("negative" if minus else "too_large")
    number = Fraction(int(digits + (decimals or "")), 10 ** len(decimals or ""))
    return -number if minus else number


def _typed(value: object) -> str:
    return str(value).strip() if isinstance(value, (int, str)) and not isinstance(value, bool) else ""


def parse_cpu_millis(value: object) -> int:
    """CPU cores (`4`, `0.5`, `250m`) in thousandths of a core, 1 m to 1,024 cores."""
    text = _typed(value)
    match = re.fullmatch(rf"{_NUMBER}(m?)", text)
    if match is None:
        raise BadQuantity("byte_unit" if re.fullmatch(r"[0-9.]+[KMGTP]i?B?", text) else "not_a_number")
    number = _exact(match[1], match[2], match[3])
    millis = number if match[4] else number * 1000
    if millis.denominator != 1:
        raise BadQuantity("not_whole")
    if millis <= 0:
        raise BadQuantity("negative" if millis < 0 else "too_small")
    if millis > CPU_MILLIS_MAX:
        raise BadQuantity("too_large")
    return int(millis)


_MEMORY_UNITS = {"Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "M": 10**6, "G": 10**9, "T": 10**12}


def parse_memory_bytes(value: object) -> int:
    """Memory with a unit (`512Mi`, `1.5Gi`, `64G`) in whole bytes, 1 MiB to 64 TiB; a bare number is refused."""
    match = re.fullmatch(rf"{_NUMBER}([A-Za-z]*)", _typed(value))
    if match is None:
        raise BadQuantity("not_a_number")
    if not match[4]:
        raise BadQuantity("unit_missing")
    if match[4] not in _MEMORY_UNITS:
        raise BadQuantity("unit_unknown")
    exact = _exact(match[1], match[2], match[3]) * _MEMORY_UNITS[match[4]]
    if exact < 0:
        raise BadQuantity("negative")
    if exact < 2**20:
        raise BadQuantity("too_small")
    if exact > MEMORY_BYTES_MAX:
        raise BadQuantity("too_large")
    return int(exact)
