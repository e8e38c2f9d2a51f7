"""The small stage of the simulated seeds: two teams, four people, one group of three nodes with four cards each."""

from __future__ import annotations

from dataclasses import dataclass

from accounts.actors import Actor, actor_of
from accounts.models import Membership, Role, Team, User
from clusters.models import Cluster, NodeGroup
from clusters.simulation.commands import NodeDef, SetNodes
from clusters.simulation.engine import Engine
from clusters.simulation.world import Group, Latencies, World
from clusters.sync import cluster_sync
from quotas.services import quotas_apply, shares_set, team_queue_create
from tests.faults.seeds.cluster import SimulatedCluster, on_stage

PEOPLE = {
    "ada": ("vision", Role.ENGINEER),
    "lee": ("vision", Role.LEAD),
    "kim": ("language", Role.ENGINEER),
    "mia": ("language", Role.LEAD),
}
LEADS = {"vision": "lee", "language": "mia"}
NODES, CARDS = 3, 4
LATENCIES = Latencies(pull_min=500, pull_max=3_000, stop_min=500, stop_max=3_000, node_lost=8_000)


@dataclass(frozen=True)
class Scene:
    """Rows that every seed starts with, and the cluster as it is at that moment."""

    cluster: Cluster
    actors: dict[str, Actor]
    world: World

    def fresh_world(self, seed: int) -> World:
        """The cluster at the start, with latencies of its own."""
        world = Engine(self.world).snapshot().world
        world.seed = seed
        return world


def build_scene(now_ms: int) -> Scene:
    """Put it on stage in an empty database; the clock of people and cluster stands at ``now_ms``."""
    teams = {slug: Team.objects.create(slug=slug, name=slug.title(), space=f"slu-{slug}") for slug in LEADS}
    users = {}
    for name, (team, role) in PEOPLE.items():
        users[name] = User.objects.create(username=name)
        Membership.objects.create(user=users[name], team=teams[team], role=role)
    cluster = Cluster.objects.create(slug="sandbox", name="Sandbox", kind="sandbox", is_default=True)
    engine = Engine(World(now_ms=now_ms, latencies=LATENCIES))
    nodes = tuple(NodeDef(f"h100-{number}", "h100", CARDS) for number in range(NODES))
    engine.apply(SetNodes(now_ms, nodes, (Group("h100", "H100", "nvidia", "H100", "NVLink"),)))
    simulated = SimulatedCluster(engine.world, lambda: now_ms, lambda call: None)
    with on_stage(simulated):
        assert cluster_sync(cluster)
        queues = [team_queue_create(actor=None, team=team, cluster=cluster) for team in teams.values()]
        shares_set(actor=None, group=NodeGroup.objects.get(), basis_points={queue.pk: 5_000 for queue in queues})
        quotas_apply(cluster)
        assert cluster_sync(cluster)
    return Scene(cluster, {name: actor_of(user) for name, user in users.items()}, simulated.world)
