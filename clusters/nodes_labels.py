"""What people read about nodes."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from clusters.contract import NodeTrouble

TROUBLES: dict[NodeTrouble, str | Promise] = {
    NodeTrouble.NOT_READY: _("It says that it is not ready."),
    NodeTrouble.UNHEARD: _("Nothing is heard from it."),
    NodeTrouble.CORDONED: _("It is cordoned: it takes no new work."),
    NodeTrouble.TAINTED: _("A taint keeps new work out: %(detail)s."),
    NodeTrouble.MEMORY_PRESSURE: _("It is short of memory."),
    NodeTrouble.DISK_PRESSURE: _("It is short of disk space."),
    NodeTrouble.PID_PRESSURE: _("It is short of process numbers."),
    NodeTrouble.SICK_CARDS: _("Cards that are installed and not on offer: %(detail)s."),
    NodeTrouble.UNREADABLE: _("It reports an amount that is no number, and none is counted: %(detail)s."),
    NodeTrouble.NO_CARDS: _("Its label names cards, and it reports none: look at its driver."),
}


def trouble_text(condition: Mapping[str, str | None]) -> str:
    """One stored condition as a sentence."""
    code = str(condition["trouble"])
    try:
        text = TROUBLES[NodeTrouble(code)]
    except ValueError:  # stored by a newer version
        return code
    return str(text) % {"detail": condition.get("detail") or ""}
