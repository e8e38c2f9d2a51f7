"""Splitting whole things exactly. Pure, integers only."""

from __future__ import annotations

from collections.abc import Mapping


def largest_remainder(total: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Split ``total`` by ``weights``; the sum is exact. Ties: remainder, then weight, then name."""
    whole = sum(weights.values())
    if whole == 0:
        return dict.fromkeys(weights, 0)
    parted = {weight: divmod(total * weight, whole) for weight in set(weights.values())}  # many weights are alike
    parts = {name: parted[weight][0] for name, weight in weights.items()}
    left = total - sum(parts.values())
    if left:
        claims = sorted(parted, key=lambda weight: (-parted[weight][1], -weight))
        place = {weight: number for number, weight in enumerate(claims)}
        for name in sorted(sorted(weights), key=lambda name: place[weights[name]])[:left]:
            parts[name] += 1
    return parts
