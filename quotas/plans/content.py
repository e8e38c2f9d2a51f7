"""A division as JSON, the same in the history and in the API. Pure.

{"cards": {group: cards},
 "aside": {group: {queue: cards}},   left out where queues of others have none
 "queues": {queue: {"rank", "strict", "reclaims",
                    "groups": {group: {"basis_points", "borrow_basis_points", "lend_basis_points", "nominal"}}}}}
"""

from __future__ import annotations

from typing import Any

from quotas.domain.plan import Division, GroupPart, Plan, QueuePart, divide

Content = dict[str, Any]


def content_of(division: Division) -> Content:
    """The division with the nominal cards it comes to."""
    shared_out = divide(division)
    return {
        "cards": dict(sorted(division.cards.items())),
        **({"aside": {group: dict(parts) for group, parts in division.aside.items()}} if division.aside else {}),
        "queues": {
            name: {
                "rank": queue.rank,
                "strict": queue.strict,
                "reclaims": queue.reclaims,
                "groups": {
                    group: {
                        "basis_points": queue.part(group).basis_points,
                        "borrow_basis_points": queue.part(group).borrow_basis_points,
                        "lend_basis_points": queue.part(group).lend_basis_points,
                        "nominal": shared_out.part(name, group).nominal,
                    }
                    for group in sorted({*division.cards, *queue.groups})
                },
            }
            for name, queue in sorted(division.plan.queues.items())
        },
    }


def division_from(content: Content) -> Division:
    """What :func:`content_of` wrote."""
    queues = {
        name: QueuePart(
            rank=queue["rank"],
            strict=queue["strict"],
            reclaims=queue["reclaims"],
            groups={
                group: GroupPart(part["basis_points"], part["borrow_basis_points"], part["lend_basis_points"])
                for group, part in queue["groups"].items()
            },
        )
        for name, queue in content["queues"].items()
    }
    return Division(Plan(queues), dict(content["cards"]), content.get("aside", {}))
