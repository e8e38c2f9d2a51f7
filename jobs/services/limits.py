"""Limits of local queues, for those who are about to submit or to scale (decision 20)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.actors import Actor
from clusters.models import NodeGroup
from jobs.domain.words import Kind, Priority, priority_value
from jobs.services.fields import Checks
from quotas.domain.limits import By
from quotas.limits import limits_outlook
from quotas.models import LocalQueue

LIMITED_UNIT = "card"
"""Slices are another unit, and nothing limits them."""


def beyond_limits(checks: Checks, field: str, local: LocalQueue, group: NodeGroup | None, cards: int) -> None:
    """A problem for a job that is above a limit of its local queue by itself, and so would wait for ever."""
    if group is None or group.unit != LIMITED_UNIT:
        return
    if local.most_cards is not None and cards > local.most_cards:
        sentence = _("Jobs of the queue %(queue)s may hold at most %(limit)d cards at once. Ask for fewer.")
        checks.add(field, "above_limit", sentence % {"queue": local.name, "limit": local.most_cards})
    elif local.most_cards_each is not None and cards > local.most_cards_each:
        sentence = _("In the queue %(queue)s one person may hold at most %(limit)d cards at once. Ask for fewer.")
        checks.add(field, "above_personal_limit", sentence % {"queue": local.name, "limit": local.most_cards_each})


def keeps_back(actor: Actor, local: LocalQueue, group: NodeGroup, cards: int, data: Mapping[str, Any]) -> By | None:
    """Whose limit would keep such a job back now; one query, none in a queue without limits."""
    if group.unit != LIMITED_UNIT:
        return None
    kind = Kind.INFERENCE if data.get("kind") == Kind.INFERENCE.value else Kind.TRAINING
    words = {word.value: word for word in Priority}
    priority = words.get(str(data.get("priority")), Priority.NORMAL)
    found = limits_outlook(
        local,
        owner_id=actor.user.pk,
        cards=cards,
        priority=priority_value(priority, kind),
        now=timezone.now(),
    )
    return None if found is None else found.by
