"""Notices about node groups: nodes wait for an admin's word, or two groups claim them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.utils.translation import ngettext

from clusters.contract import ClusterInventory
from clusters.models import Cluster
from clusters.notices import Source, notices_settle
from common.phrases import listed

CONTESTED = "contested"
"""Subject of the notice about nodes that two groups claim."""
NODES_NAMED = 5


def groups_told(cluster: Cluster, inventory: ClusterInventory, proposed: Mapping[str, str]) -> None:
    """Open and close the notices of a look. ``proposed``: slug -> title. Needs the transaction of the look."""
    nodes = Counter(node.node_group for node in inventory.nodes if node.node_group in proposed)
    signs: dict[str, dict[str, Any]] = {
        f"group {slug}": {"title": title, "nodes": nodes[slug]} for slug, title in proposed.items()
    }
    contested = [node.name for node in inventory.nodes if node.node_group is None and node.installed]
    if contested:
        signs[CONTESTED] = {"nodes": contested[:NODES_NAMED], "count": len(contested)}
    notices_settle(cluster, Source.GROUPS, signs, inventory.read_at)


def group_notice_text(subject: str, facts: Mapping[str, Any]) -> str:
    """The notice as a sentence for admins."""
    if subject == CONTESTED:
        return ngettext(
            "%(count)d node carries the labels of two node groups, so it is in none: %(nodes)s.",
            "%(count)d nodes carry the labels of two node groups, so they are in none: %(nodes)s.",
            facts["count"],
        ) % {"count": facts["count"], "nodes": listed(facts["nodes"])}
    return ngettext(
        "%(count)d node is proposed as the group %(group)s. It gets no jobs and no shares until you confirm it.",
        "%(count)d nodes are proposed as the group %(group)s. They get no jobs and no shares until you confirm it.",
        facts["nodes"],
    ) % {"count": facts["nodes"], "group": facts["title"]}
