"""Nodes of a group as squares: one per card, in use by whom, reserved, free, or out of service."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from clusters.contract import NodeHealth, NodeTrouble, SharingMode
from clusters.selectors import GroupView, NodeView

BAR_TOP = 16
BAR_HEIGHT = 56
"""Pixels of the picture of free cards: room for the number above the highest bar, and that bar."""
COLUMNS_OF_SLICES = 40
"""Slices are drawn in a column per card where it is known how many there are; else in so many columns at most."""


@dataclass(frozen=True, slots=True)
class Square:
    """One card: used, reserved, ending (pods still leaving), outside (of no team), free, sick or off."""

    kind: str
    letter: str = ""


@dataclass(frozen=True, slots=True)
class NodeDrawing:
    """A node with its squares, or columns of slices, and the same in words."""

    node: NodeView
    squares: tuple[Square, ...]
    columns: tuple[tuple[Square, ...], ...]
    note: str
    note_icon: str
    alarm: bool
    label: str


@dataclass(frozen=True, slots=True)
class Bar:
    """Nodes with this many free cards. ``x``, ``width`` and ``middle`` in percent, ``y`` and ``height`` in pixels."""

    free: int
    nodes: int
    x: str
    width: str
    middle: str
    y: int
    height: int
    kind: str  # full (no card free), part, whole


@dataclass(frozen=True, slots=True)
class GroupDrawing:
    """A group with its nodes; ``bars`` is empty for shared pools, where whole nodes do not matter."""

    view: GroupView
    nodes: tuple[NodeDrawing, ...]
    bars: tuple[Bar, ...]
    is_sliced: bool
    scattered: str  # how the free cards lie in pieces, as a sentence; '' where they do not


def team_letters(names: Iterable[str]) -> dict[str, str]:
    """A letter for each team name, the first of its own that no earlier name has taken."""
    letters: dict[str, str] = {}
    for name in sorted(set(names)):
        own = [char.upper() for char in name if char.isalnum()]
        letters[name] = next((char for char in own if char not in letters.values()), own[0] if own else "?")
    return letters


def draw_groups(
    views: Sequence[GroupView], team_of: Mapping[str, str], letters: Mapping[str, str]
) -> list[GroupDrawing]:
    """Drawings of the groups; ``team_of`` maps a job's ULID to the name of its team."""
    return [_group(view, team_of, letters) for view in views]


def _group(view: GroupView, team_of: Mapping[str, str], letters: Mapping[str, str]) -> GroupDrawing:
    is_sliced = view.group.sharing != SharingMode.EXCLUSIVE.value
    return GroupDrawing(
        view=view,
        nodes=tuple(_node(node, team_of, letters, is_sliced) for node in view.nodes),
        bars=() if is_sliced else _bars(view),
        is_sliced=is_sliced,
        scattered="" if is_sliced else scattered(view),
    )


def scattered(view: GroupView) -> str:
    """What people should know about free cards that lie in pieces on nodes that are partly in use."""
    whole, largest = view.group.cards_per_node, view.largest_free_block
    pieces = sum(free * nodes for free, nodes in view.by_free.items() if 0 < free < whole)
    if not pieces:
        return ""
    if largest < whole and view.free >= whole:
        return _(
            "%(free)d cards are free, and yet no job of %(whole)d on one node could start: the largest piece has"
            " %(largest)d."
        ) % {"free": view.free, "whole": whole, "largest": largest}
    return ngettext(
        "%(cards)d of %(free)d free cards lies on a node that is partly in use.",
        "%(cards)d of %(free)d free cards lie in pieces, on nodes that are partly in use.",
        pieces,
    ) % {"cards": pieces, "free": view.free}


def _node(node: NodeView, team_of: Mapping[str, str], letters: Mapping[str, str], is_sliced: bool) -> NodeDrawing:
    squares = tuple(_squares(node, team_of, letters))
    note, icon, alarm = _note(node)
    per_column = -(-len(squares) // (node.physical or COLUMNS_OF_SLICES)) or 1
    columns = tuple(squares[start : start + per_column] for start in range(0, len(squares), per_column))
    return NodeDrawing(
        node=node,
        squares=() if is_sliced else squares,
        columns=columns if is_sliced else (),
        note=note,
        note_icon=icon,
        alarm=alarm,
        label=_(
            "%(node)s: %(used)d used, %(reserved)d reserved, %(ending)d ending, %(outside)d outside, "
            "%(free)d free, %(out)d out of service"
        )
        % {
            "node": node.name,
            "used": node.used,
            "reserved": node.reserved,
            "ending": node.ending,
            "outside": node.outside,
            "free": node.free,
            "out": node.out,
        },
    )


def _squares(node: NodeView, team_of: Mapping[str, str], letters: Mapping[str, str]) -> Iterable[Square]:
    held: dict[str, list[Square]] = {"used": [], "reserved": [], "ending": []}
    for holder in node.holders:
        kind = "ending" if holder["ending"] else "used" if holder["running"] else "reserved"
        letter = letters.get(team_of.get(str(holder["job_ulid"]), ""), "")
        held[kind].extend([Square(kind, letter)] * int(str(holder["cards"])))
    for kind, squares in held.items():
        yield from sorted(squares, key=lambda square: square.letter)[: getattr(node, kind)]
    yield from [Square("outside")] * node.outside
    yield from [Square("free")] * node.free
    sick = min(node.sick, node.out)
    yield from [Square("sick")] * sick
    yield from [Square("off")] * (node.out - sick)


def _note(node: NodeView) -> tuple[str, str, bool]:
    """(words, icon, alarm) of a node's corner: what is wrong, else how much is free."""
    if node.health == NodeHealth.DOWN.value:
        return _("not ready"), "wifi-off", True
    if node.health == NodeHealth.CORDONED.value:
        tainted = NodeTrouble.TAINTED in node.troubles and NodeTrouble.CORDONED not in node.troubles
        return _("tainted") if tainted else _("cordoned"), "tool", True
    if node.sick:
        return ngettext("%(count)d sick", "%(count)d sick", node.sick) % {"count": node.sick}, "alert-triangle", True
    if node.free == 0:
        return _("full"), "", False
    return ngettext("%(count)d free", "%(count)d free", node.free) % {"count": node.free}, "", False


def _bars(view: GroupView) -> tuple[Bar, ...]:
    """Nodes by free cards, from none to a whole node."""
    whole = view.group.cards_per_node
    counts = [0] * (whole + 1)
    for free, nodes in view.by_free.items():
        counts[min(free, whole)] += nodes
    highest = max(counts) or 1
    slot = 100 / len(counts)
    bars = []
    for free, count in enumerate(counts):
        height = round(BAR_HEIGHT * count / highest)
        bars.append(
            Bar(
                free=free,
                nodes=count,
                x=f"{slot * (free + 0.12):.2f}",
                width=f"{slot * 0.76:.2f}",
                middle=f"{slot * (free + 0.5):.2f}",
                y=BAR_TOP + BAR_HEIGHT - height,
                height=height,
                kind="full" if free == 0 else "whole" if free == whole else "part",
            )
        )
    return tuple(bars)
