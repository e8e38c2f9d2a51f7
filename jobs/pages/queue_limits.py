"""What limits of a local queue would do, told to its lead before they are set."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.actors import Actor
from jobs.card_sharing import card_sharing
from jobs.labels import CARD_SHARING
from jobs.models import Job
from jobs.selectors import jobs_by_ulid
from quotas.limits import LimitsEffect

NAMED = 5
"""Jobs that are named; the others are counted."""
SEEN = "seen"


def limits_seen(request: HttpRequest, effect: LimitsEffect | None) -> bool:
    """Whether the lead was told of all that would wait and be above the limits, or there is nothing to tell."""
    return effect is None or not (effect.waiting or effect.over) or request.POST.get(SEEN) == limits_key(effect)


def limits_key(effect: LimitsEffect) -> str:
    """Another text when other jobs are concerned."""
    return f"{len(effect.waiting)} {len(effect.over)}"


def limits_sentences(viewer: Actor, effect: LimitsEffect) -> list[tuple[str, str]]:
    """Which jobs would wait and which are above the limits, each with its sign; at most one query."""
    jobs = jobs_by_ulid(viewer=viewer, ulids=[*effect.waiting[:NAMED], *effect.over[:NAMED]])
    names = {ulid: _marked(job) for ulid, job in jobs.items()}
    found = []
    if effect.waiting:
        sentence = ngettext(
            "%(count)d job waits until there is room: %(jobs)s.",
            "%(count)d jobs wait until there is room: %(jobs)s.",
            len(effect.waiting),
        )
        found.append(("clock", sentence % _counted(effect.waiting, names)))
    if effect.over:
        sentence = ngettext(
            "%(count)d job was let in already, is beyond the limit and goes on: %(jobs)s.",
            "%(count)d jobs were let in already, are beyond the limit and go on: %(jobs)s.",
            len(effect.over),
        )
        found.append(("player-play", sentence % _counted(effect.over, names)))
    return found


def _marked(job: Job) -> str:
    """A job by its name, and how it has its cards."""
    sharing = card_sharing(job)
    return f"{job.display_name} ({CARD_SHARING[sharing]})" if sharing is not None else job.display_name


def _counted(jobs: Sequence[str], names: dict[str, str]) -> dict[str, object]:
    listed = ", ".join(names.get(job, job) for job in jobs[:NAMED])
    more = len(jobs) - NAMED
    if more > 0:
        listed = _("%(jobs)s and %(more)d more") % {"jobs": listed, "more": more}
    return {"count": len(jobs), "jobs": listed}
