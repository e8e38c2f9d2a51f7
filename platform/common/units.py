"""Exact quantities typed by people: cards, CPU, memory (case C-07). No floats anywhere.

Each parser returns an integer or raises :class:`BadQuantity` with a code that the form turns into a sentence.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

CARDS_MAX = 100_000


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
    elif isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", value):
        number = int(value)
    elif isinstance(value, (float, str)):
        raise BadQuantity("not_whole")
    else:
        raise BadQuantity("not_a_number")
    if number < 0:
        raise BadQuantity("negative")
    if number > CARDS_MAX:
        raise BadQuantity("too_large")
    return number


def parse_cpu_millis(value: object) -> int:
    """CPU cores (`4`, `0.5`, `250m`) in thousandths of a core, 1 m to 1,024 cores."""
    text = str(value).strip() if isinstance(value, (int, str)) and not isinstance(value, bool) else ""
    match = re.fullmatch(r"(-?[0-9]+(?:\.[0-9]{1,3})?)(m?)", text)
    if match is None:
        raise BadQuantity("byte_unit" if re.fullmatch(r"[0-9.]+[KMGTP]i?B?", text) else "not_a_number")
    number = Decimal(match[1])
    millis = number if match[2] else number * 1000
    if millis != millis.to_integral_value():
        raise BadQuantity("not_whole")
    if millis <= 0:
        raise BadQuantity("negative" if millis < 0 else "too_small")
    if millis > 1_024_000:
        raise BadQuantity("too_large")
    return int(millis)


_MEMORY_UNITS = {"Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "M": 10**6, "G": 10**9, "T": 10**12}


def parse_memory_bytes(value: object) -> int:
    """Memory with a unit (`512Mi`, `1.5Gi`, `64G`) in bytes, 1 MiB to 64 TiB. A bare number has no unit: refused."""
    text = str(value).strip() if isinstance(value, (int, str)) and not isinstance(value, bool) else ""
    match = re.fullmatch(r"(-?[0-9]+(?:\.[0-9]+)?)([A-Za-z]*)", text)
    if match is None:
        raise BadQuantity("not_a_number")
    if not match[2]:
        raise BadQuantity("unit_missing")
    if match[2] not in _MEMORY_UNITS:
        raise BadQuantity("unit_unknown")
    try:
        exact = Decimal(match[1]) * _MEMORY_UNITS[match[2]]
    except InvalidOperation as error:
        raise BadQuantity("not_a_number") from error
    if exact < 0:
        raise BadQuantity("negative")
    if exact < 2**20:
        raise BadQuantity("too_small")
    if exact > 64 * 2**40:
        raise BadQuantity("too_large")
    return int(exact)
