"""Accelerators that no catalogue knows: which there are on a cluster, and what its admins say they are.

The next look counts them as said: under that vendor and model, as cards or as slices, or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import audit
from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.accelerator_models import AcceleratorName
from clusters.contract import SharingMode
from clusters.domain.accelerators import accelerator, is_known
from clusters.models import Cluster, PreflightRow
from clusters.preflight.words import Feature, Problem
from common.errors import FieldProblem, InvalidInput, NotFound
from common.names import clean_display_name

VENDOR_MAX, MODEL_MAX = 40, 60
_VENDOR = re.compile(r"[a-z0-9]([a-z0-9.-]{0,38}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class AcceleratorView:
    """A resource that no catalogue knows; ``named`` is None until somebody says what it is."""

    resource: str
    named: AcceleratorName | None


def accelerator_views(*, viewer: Actor, cluster: Cluster) -> list[AcceleratorView]:
    """Named ones and those that wait for a name; four queries. Raises NotAllowed."""
    require(viewer, Action.CLUSTER_MANAGE)
    named = {row.resource: row for row in AcceleratorName.objects.filter(cluster=cluster).select_related("named_by")}
    return [AcceleratorView(resource, named.get(resource)) for resource in sorted(_found(cluster) | set(named))]


def _found(cluster: Cluster) -> set[str]:
    """Resources that nobody knows: of node groups, and of nodes at the last look at the cluster's setup."""
    row = PreflightRow.objects.filter(cluster=cluster, feature=Feature.DEVICES, problem=Problem.UNKNOWN_DEVICES).first()
    found = set(str(row.facts.get("resources", "")).split(", ")) if row is not None else set()
    found |= set(cluster.groups.values_list("resource", flat=True))
    found |= set(cluster.proposals.values_list("resource", flat=True))
    return {name for name in found if accelerator(name) is not None and not is_known(name)}


@transaction.atomic
def accelerator_name_set(*, actor: Actor, cluster: Cluster, resource: str, data: Mapping[str, Any]) -> None:
    """Say what a resource is: ``is_card``, and of a card ``vendor``, ``card_model`` and ``sharing``.

    Raises NotAllowed, NotFound for a resource that the cluster does not have or that is known, and InvalidInput.
    """
    require(actor, Action.CLUSTER_MANAGE)
    views = {view.resource for view in accelerator_views(viewer=actor, cluster=cluster)}
    if resource not in views:
        raise _no_such()
    said = _checked(data)
    AcceleratorName.objects.update_or_create(
        cluster=cluster, resource=resource, defaults={**said, "named_at": timezone.now(), "named_by": actor.user}
    )
    audit.record(
        actor, "accelerator.name", target_type="cluster", target_id=cluster.public_id, resource=resource, **said
    )


@transaction.atomic
def accelerator_name_forget(*, actor: Actor, cluster: Cluster, resource: str) -> None:
    """Take a name back: the resource is then called after itself. Raises NotAllowed, NotFound."""
    require(actor, Action.CLUSTER_MANAGE)
    row = next((each for each in AcceleratorName.objects.filter(cluster=cluster) if each.resource == resource), None)
    if row is None:  # found here and not by the database: an address may hold what no column takes
        raise _no_such()
    row.delete()
    audit.record(actor, "accelerator.forget", target_type="cluster", target_id=cluster.public_id, resource=resource)


def _no_such() -> NotFound:
    return NotFound("not_found", _("This cluster has no accelerator of that name that has to be named."))


def _checked(data: Mapping[str, Any]) -> dict[str, Any]:
    """Raises InvalidInput with every problem."""
    if data.get("is_card") is False:
        return {"is_card": False, "vendor": "", "card_model": "", "sharing": SharingMode.EXCLUSIVE.value}
    problems = []
    vendor = str(data.get("vendor") or "").strip().lower()
    model = clean_display_name(str(data.get("card_model") or ""))
    sharing = data.get("sharing") or SharingMode.EXCLUSIVE.value
    if data.get("is_card", True) is not True:
        problems.append(FieldProblem("is_card", "invalid", _("Say true or false.")))
    if not _VENDOR.fullmatch(vendor):
        sentence = _("Give the vendor in small letters, digits, dots and dashes, at most %(count)d of them.")
        problems.append(FieldProblem("vendor", "invalid", sentence % {"count": VENDOR_MAX}))
    if not model or len(model) > MODEL_MAX:
        sentence = _("Give the model as people call it, in at most %(count)d characters.")
        problems.append(FieldProblem("card_model", "invalid", sentence % {"count": MODEL_MAX}))
    if sharing not in [mode.value for mode in SharingMode]:
        problems.append(FieldProblem("sharing", "invalid_choice", _("There is no such way to share cards.")))
    if problems:
        raise InvalidInput(problems)
    return {"is_card": True, "vendor": vendor, "card_model": model, "sharing": sharing}
