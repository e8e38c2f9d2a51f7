"""Reads about nodes: what the console itself knows of them beside what their cluster says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.contract import NodeTrouble
from clusters.models import Cluster
from clusters.nodes_labels import trouble_text
from clusters.nodes_models import NodeCordon, NodeSuspicion
from clusters.selectors import NodeView

Key = tuple[int, str]
"""Cluster and name of a node."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that is not well, as a sentence."""

    code: str
    text: str
    since: datetime | None


@dataclass(frozen=True, slots=True)
class NodeCare:
    """One node for the people who look after it."""

    troubles: tuple[Trouble, ...]
    cordon: NodeCordon | None  # through the console
    suspicion: NodeSuspicion | None

    @property
    def is_cordoned(self) -> bool:
        return any(trouble.code == NodeTrouble.CORDONED for trouble in self.troubles)

    @property
    def can_open(self) -> bool:
        return self.is_cordoned or self.cordon is not None

    @property
    def cordoned_elsewhere(self) -> bool:
        """Somebody closed it, and not through the console."""
        return self.is_cordoned and self.cordon is None


@dataclass(frozen=True, slots=True)
class NodeMarks:
    """What is open about all nodes: who closed which, and which are suspected."""

    cordons: Mapping[Key, NodeCordon]
    suspicions: Mapping[Key, NodeSuspicion]

    def care_of(self, cluster: Cluster, node: NodeView) -> NodeCare:
        key = (cluster.pk, node.name)
        return NodeCare(troubles_of(node), self.cordons.get(key), self.suspicions.get(key))


def node_marks(*, viewer: Actor) -> NodeMarks:
    """Two queries, whatever the number of nodes. Raises NotAllowed."""
    require(viewer, Action.NODE_VIEW)
    cordons = NodeCordon.objects.filter(lifted_at=None).select_related("cordoned_by")
    suspicions = NodeSuspicion.objects.filter(cleared_at=None)
    return NodeMarks(
        {(row.cluster_id, row.node): row for row in cordons}, {(row.cluster_id, row.node): row for row in suspicions}
    )


def troubles_of(node: NodeView) -> tuple[Trouble, ...]:
    """What its cluster says, in the reader's language."""
    return tuple(
        Trouble(str(condition["trouble"]), trouble_text(condition), _moment(condition.get("since")))
        for condition in node.conditions
    )


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
