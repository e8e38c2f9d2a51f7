"""Percent → cards (decisions 21 and 55): largest remainder, integers only. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

WHOLE = 10_000
"""Basis points of a whole node group."""


def percent_text(basis_points: int) -> str:
    """Basis points as people write percent: 4000 is `40`, 1250 is `12.5`."""
    whole, rest = divmod(basis_points, 100)
    return f"{whole}.{rest:02}".rstrip("0") if rest else str(whole)


class SharesExceedWhole(ValueError):
    """The shares of a group come to more than 100 %."""


def largest_remainder(total: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Split ``total`` cards by ``weights``; the sum is exact. Ties: remainder, then weight, then name."""
    whole = sum(weights.values())
    if whole == 0:
        return dict.fromkeys(weights, 0)
    parts = {name: total * weight // whole for name, weight in weights.items()}
    left = total - sum(parts.values())
    by_claim = sorted(weights, key=lambda name: (-(total * weights[name] % whole), -weights[name], name))
    for name in by_claim[:left]:
        parts[name] += 1
    return parts


@dataclass(frozen=True, slots=True)
class Apportioned:
    """Cards per queue, and what stays in the common pool. They add up to the group's cards."""

    nominal: dict[str, int]
    pool: int


_POOL = "\uffff"  # sorts after every name: of equal claims, a team's comes first


def apportion(cards: int, basis_points: Mapping[str, int]) -> Apportioned:
    """Nominal cards of each queue of a group with ``cards``. Raises SharesExceedWhole above 100 %."""
    given = sum(basis_points.values())
    if given > WHOLE:
        raise SharesExceedWhole(str(given))
    parts = largest_remainder(cards, {**basis_points, _POOL: WHOLE - given})
    pool = parts.pop(_POOL)
    return Apportioned(parts, pool)


def capped_split(total: int, weights: Mapping[str, int], caps: Mapping[str, int]) -> dict[str, int]:
    """Split at most ``total`` by ``weights``, nobody above their cap; what a cap cuts off goes to the others."""
    result = dict.fromkeys(weights, 0)
    left = min(total, sum(caps[name] for name in weights))
    open_names = {name for name in weights if caps[name] > 0}
    while left > 0 and open_names:
        claims = {name: weights[name] for name in open_names}
        if sum(claims.values()) == 0:
            claims = dict.fromkeys(open_names, 1)
        parts = largest_remainder(left, claims)
        given = 0
        for name, part in parts.items():
            taken = min(part, caps[name] - result[name])
            result[name] += taken
            given += taken
            if result[name] == caps[name]:
                open_names.discard(name)
        left -= given
    return result
