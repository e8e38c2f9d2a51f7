"""A node group of shared card slices for the cast, in which its teams have shares."""

from __future__ import annotations

from clusters.backends.sandbox import driver
from clusters.models import NodeGroup
from clusters.simulation.commands import NodeDef, SetNodes
from clusters.simulation.world import Group
from clusters.sync import cluster_sync
from quotas.services import quotas_apply, shares_set, team_queue_create
from tests.cast import SHARES, Cast

NODES = 2
SLICES_PER_NODE = 14
SLICES = NODES * SLICES_PER_NODE


def add_slices(cast: Cast, slug: str = "slices") -> NodeGroup:
    """Two nodes of 14 slices each, of two cards that are cut into seven."""
    nodes = tuple(NodeDef(f"{slug}-{number:02}", slug, SLICES_PER_NODE) for number in range(1, NODES + 1))
    words = Group(
        slug, "A100 slices", "nvidia", "A100 1g.10gb", "", sharing="mig", unit="slice", shares_per_card=7, position=3
    )
    driver.send(cast.cluster, SetNodes(driver.now_ms(), nodes, (words,)))
    assert cluster_sync(cast.cluster)
    group = cast.cluster.groups.get(slug=slug)
    for team in cast.teams.values():
        team_queue_create(actor=None, team=team, cluster=cast.cluster)
    shares_set(actor=None, group=group, basis_points={cast.queues[team].pk: points for team, points in SHARES.items()})
    quotas_apply(cast.cluster)
    driver.touch(cast.cluster)
    return group
