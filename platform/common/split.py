"""Splitting whole things exactly. Pure, integers only."""

from __future__ import annotations

from collections.abc import Mapping


def largest_remainder(total: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Split ``total`` by ``weights``; the sum is exact. Ties: remainder, then weight, then name."""
    whole = sum(weights.values())
    if whole == 0:
        return dict.fromkeys(weights, 0)
    parts = {name: total * weight // whole for name, weight in weights.items()}
    left = total - sum(parts.values())
    by_claim = sorted(weights, key=lambda name: (-(total * weights[name] % whole), -weights[name], name))
    for name in by_claim[:left]:
        parts[name] += 1
    return parts
