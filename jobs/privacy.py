"""What a reader may know of a reason's facts (decision 36). The one function behind page, API and receipts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from accounts.actors import Actor
from accounts.policy import Action, visible
from clusters.domain.reasons import ReasonCode
from jobs.models import Job

_REFERENCES = ("by",)
"""Facts that hold the ULID of another job."""


_RAW_OF_THE_JOB = frozenset({ReasonCode.REJECTED.value, ReasonCode.UNKNOWN_SIGNAL.value})
"""The cluster's own words about this very job; of other codes only admins read them (they may name others)."""


def facts_for(viewer: Actor, code: str, facts: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The facts without what the viewer may not see; a job they may see gets its name beside its id."""
    shown = {key: value for key, value in facts.items() if key not in _REFERENCES and key != "raw"}
    if "raw" in facts and (viewer.is_admin or code in _RAW_OF_THE_JOB):
        shown["raw"] = facts["raw"]
    for key in _REFERENCES:
        ulid = facts.get(key)
        if isinstance(ulid, str) and ulid in names:
            shown[key] = ulid
            shown[f"{key}_name"] = names[ulid]
    return shown


def visible_names(viewer: Actor, many: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Names of the jobs these facts refer to, of those the viewer may see; one query, none without references."""
    ulids = {facts[key] for facts in many for key in _REFERENCES if isinstance(facts.get(key), str)}
    if not ulids:
        return {}
    rows = visible(viewer, Job.objects.filter(public_id__in=ulids), Action.JOB_VIEW)
    return dict(rows.values_list("public_id", "display_name"))
