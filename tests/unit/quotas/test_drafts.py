"""What was typed and not saved: only what differs is kept, over many sheets, and laid over whatever holds by then."""

from __future__ import annotations

import json

from quotas.domain.plan import GroupPart, Plan, QueuePart
from quotas.plans.drafts import changes, drafted, laid_over

GROUPS = ("h100", "a100")


def plan(a: int, b: int, rank_of_a: int = 0) -> Plan:
    """Basis points of both teams in both groups."""
    parts = {name: {group: GroupPart(points) for group in GROUPS} for name, points in (("a", a), ("b", b))}
    return Plan({"a": QueuePart(rank_of_a, groups=parts["a"]), "b": QueuePart(groups=parts["b"])})


def sheet(whole: Plan, group: str, **points: int) -> Plan:
    """What a person sends from the sheet of one group."""
    queues = {}
    for name, queue in whole.queues.items():
        part = GroupPart(points[name]) if name in points else queue.part(group)
        queues[name] = QueuePart(queue.rank, queue.strict, queue.reclaims, {group: part})
    return Plan(queues)


def test_the_changes_of_several_sheets_come_together_and_nothing_else_is_named() -> None:
    now = plan(4_000, 3_000)
    draft = drafted({}, sheet(now, "h100", a=1_000), now)
    draft = drafted(draft, sheet(now, "a100", b=2_000), now)
    assert draft == {"a/h100/basis_points": 1_000, "b/a100/basis_points": 2_000}
    changed = changes(json.loads(json.dumps(draft)), now, GROUPS)
    assert {name: dict(queue.groups) for name, queue in changed.queues.items()} == {
        "a": {"h100": GroupPart(1_000)},
        "b": {"a100": GroupPart(2_000)},
    }
    whole = laid_over(now, changed)
    assert (whole.points("h100"), whole.points("a100")) == ({"a": 1_000, "b": 3_000}, {"a": 4_000, "b": 2_000})


def test_what_is_typed_back_to_what_holds_is_no_change_any_more() -> None:
    now = plan(4_000, 3_000)
    draft = drafted({}, sheet(now, "h100", a=1_000), now)
    assert drafted(draft, sheet(now, "h100"), now) == {}


def test_what_the_second_of_two_left_alone_becomes_what_the_first_made_of_it() -> None:
    seen = plan(4_000, 3_000)
    draft = drafted({}, sheet(seen, "h100", b=5_000), seen)
    newest = plan(2_000, 3_000, rank_of_a=1)
    whole = laid_over(newest, changes(draft, newest, GROUPS))
    assert whole.points("h100") == {"a": 2_000, "b": 5_000}
    assert whole.queue("a") == newest.queue("a")


def test_teams_and_groups_that_are_gone_are_left_out() -> None:
    now = plan(4_000, 3_000)
    draft = {"a/gone/basis_points": 1, "gone/h100/basis_points": 1, "a//rank": 2, "a/h100/lend_basis_points": None}
    changed = changes(draft, now, GROUPS)
    assert set(changed.queues) == {"a"}
    assert (changed.queue("a").rank, set(changed.queue("a").groups)) == (2, {"h100"})
