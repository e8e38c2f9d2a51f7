"""Share bars: what a team holds of a node group, drawn against its own share. Geometry in percent of the picture.

All bars of one page have one scale: 100 % of the share stands at the same place in every row, so that rows compare by
eye. What is borrowed lies right of that mark; what is lent or out of service is cut from the right end of the share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from quotas.domain.shares import percent_text
from quotas.selectors import QuotaRow

ROOM_FOR_BORROWED = 1.4
"""The picture is at least this many shares wide."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One run of cards of one kind: used, reserved, free, sick (out of service), lent or borrowed."""

    kind: str
    x: str
    width: str


@dataclass(frozen=True, slots=True)
class ShareBar:
    """A bar with its row. ``mark`` is 100 % of the share, ``end`` the right end of what is drawn."""

    row: QuotaRow
    segments: tuple[Segment, ...]
    mark: str
    end: str
    label: str

    @property
    def percent_text(self) -> str:
        """The share of the node group as people write percent."""
        return percent_text(self.row.basis_points)

    @property
    def percent(self) -> int | None:
        """Cards held, in percent of the share; None without a share."""
        held = self.row.used + self.row.reserved
        return round(100 * held / self.row.nominal) if self.row.nominal else None


def share_bars(rows: Sequence[QuotaRow]) -> list[ShareBar]:
    """The bars of one page, on one scale."""
    widest = max((row.nominal for row in rows), default=0) or max((_beyond(row) for row in rows), default=0) or 1
    reach = max((_beyond(row) / row.nominal for row in rows if row.nominal), default=0.0)
    without_share = max((_beyond(row) / widest for row in rows if not row.nominal), default=0.0)
    shares_wide = max(ROOM_FOR_BORROWED, 1 + reach, without_share)
    return [_bar(row, shares_wide, widest) for row in rows]


def _beyond(row: QuotaRow) -> int:
    """Cards held above the own share, borrowed or not covered by anybody."""
    return row.borrowed + row.over


def _bar(row: QuotaRow, shares_wide: float, widest: int) -> ShareBar:
    # Without a share of its own a row has no unit; the widest share of the page lends it one.
    per_card = 100 / shares_wide / (row.nominal or widest)
    inside_used = min(row.used, row.nominal)
    inside_reserved = min(row.reserved, row.nominal - inside_used)
    parts = (
        ("used", inside_used),
        ("reserved", inside_reserved),
        ("free", row.nominal - inside_used - inside_reserved - row.down - row.lent),
        ("sick", row.down),
        ("lent", row.lent),
        ("borrowed", _beyond(row)),
    )
    segments, cards = [], 0
    for kind, count in parts:
        if count > 0:
            segments.append(Segment(kind, _percent(cards * per_card), _percent(count * per_card)))
            cards += count
    return ShareBar(
        row=row,
        segments=tuple(segments),
        mark=_percent(row.nominal * per_card),
        end=_percent(cards * per_card),
        label=_(
            "%(group)s: share %(nominal)d; used %(used)d, reserved %(reserved)d, free %(free)d, "
            "borrowed %(borrowed)d, lent %(lent)d, out of service %(down)d"
        )
        % {
            "group": row.group_title,
            "nominal": row.nominal,
            "used": row.used,
            "reserved": row.reserved,
            "free": row.free,
            "borrowed": row.borrowed,
            "lent": row.lent,
            "down": row.down,
        },
    )


def _percent(value: float) -> str:
    """SVG wants a plain point and no more digits than a screen can show."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
