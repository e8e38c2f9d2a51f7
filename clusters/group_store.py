"""Groups as the newest look has them: confirmed ones are kept in step, new ones are proposed. Needs the sync lock."""

from __future__ import annotations

from typing import Any

from clusters.connected import CONNECTED_KIND
from clusters.contract import ClusterInventory, NodeGroupFacts
from clusters.group_models import GroupProposal
from clusters.group_notices import groups_told
from clusters.models import Cluster, NodeGroup

_MEASURED = (
    "vendor",
    "card_model",
    "sharing",
    "unit",
    "cards_per_node",
    "cpu_millis_per_node",
    "memory_bytes_per_node",
)
"""What a look says of a group that an admin has confirmed; the rest is theirs."""


def groups_settle(cluster: Cluster, inventory: ClusterInventory) -> dict[str, int]:
    """Store groups and proposals; returns the ids of the groups by slug. Three queries where nothing changed.

    The sandbox is ours from the first node to the last, so what it shows needs nobody's word.
    """
    groups = {group.slug: group for group in NodeGroup.objects.filter(cluster=cluster)}
    proposals = {proposal.slug: proposal for proposal in GroupProposal.objects.filter(cluster=cluster)}
    is_proposed = cluster.kind == CONNECTED_KIND
    told: dict[str, str] = {}
    for position, facts in enumerate(inventory.groups):
        if facts.name in groups:
            _update(groups[facts.name], {key: value for key, value in _values(facts).items() if key in _MEASURED})
        elif is_proposed:
            known = proposals.pop(facts.name, None)
            _propose(cluster, known, facts, inventory)
            if known is None or not known.is_aside:
                told[facts.name] = facts.title
        else:
            groups[facts.name] = NodeGroup.objects.create(
                cluster=cluster, slug=facts.name, position=position, **_values(facts)
            )
    over = [proposal.pk for proposal in proposals.values() if not proposal.is_aside]
    if over:
        GroupProposal.objects.filter(pk__in=over).delete()
    if is_proposed:
        groups_told(cluster, inventory, told)
    return {slug: group.pk for slug, group in groups.items()}


def _propose(cluster: Cluster, known: GroupProposal | None, facts: NodeGroupFacts, inventory: ClusterInventory) -> None:
    if known is None:
        GroupProposal.objects.get_or_create(
            cluster=cluster, slug=facts.name, defaults={"first_seen_at": inventory.read_at, **_values(facts)}
        )
    elif known.is_aside:
        _update(known, {key: value for key, value in _values(facts).items() if key in _MEASURED})
    else:
        _update(known, _values(facts))


def _update(row: NodeGroup | GroupProposal, values: dict[str, Any]) -> None:
    """Only what differs, and nothing that a person may be changing at this moment."""
    changed = {key: value for key, value in values.items() if getattr(row, key) != value}
    if changed:
        type(row)._default_manager.filter(pk=row.pk).update(**changed)


def _values(facts: NodeGroupFacts) -> dict[str, Any]:
    return {
        "title": facts.title,
        "vendor": facts.vendor,
        "card_model": facts.card_model,
        "interconnect": facts.interconnect,
        "sharing": facts.sharing.value,
        "unit": facts.unit,
        "cards_per_node": facts.cards_per_node,
        "cpu_millis_per_node": facts.cpu_millis_per_node,
        "memory_bytes_per_node": facts.memory_bytes_per_node,
        "resource": facts.resource,
        "selector": dict(facts.selector),
    }
