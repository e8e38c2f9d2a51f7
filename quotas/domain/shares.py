"""Percent → cards (decisions 21 and 55): largest remainder, integers only. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from common.split import largest_remainder

__all__ = ["WHOLE", "Apportioned", "SharesExceedWhole", "apportion", "beside", "capped_split", "largest_remainder"]

WHOLE = 10_000
"""Basis points of a whole node group."""


def percent_text(basis_points: int) -> str:
    """Basis points as people write percent: 4000 is `40`, 1250 is `12.5`."""
    whole, rest = divmod(basis_points, 100)
    return f"{whole}.{rest:02}".rstrip("0") if rest else str(whole)


class SharesExceedWhole(ValueError):
    """The shares of a group come to more than 100 %."""


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


def beside(cards: int, shared: Apportioned, aside: Mapping[str, int]) -> Apportioned:
    """What of ``shared`` is there while others still have the cards of ``aside``.

    ``aside`` is by queue: a queue gets its own cards less those set aside for it, so that nobody has them twice; '' is
    for nobody. What is then still too much comes out of the common pool first, then out of every queue alike. Quotas,
    pool and what is set aside add up to ``cards``; where more than all is set aside, nothing is left.
    """
    if not any(aside.values()):
        return shared
    left = max(0, cards - sum(aside.values()))
    nominal = {name: max(0, own - aside.get(name, 0)) for name, own in shared.nominal.items()}
    given = sum(nominal.values())
    return Apportioned(nominal, left - given) if given <= left else Apportioned(largest_remainder(left, nominal), 0)


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
