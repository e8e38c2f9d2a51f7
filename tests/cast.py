"""The one cast of every tier: three teams, seven people, one sandbox cluster with their queues.

Vision: eng_vision_1, eng_vision_2, lead_vision · Language: eng_language_1, lead_language · Robotics:
eng_robotics_1 · admin is in no team.
"""

from __future__ import annotations

from dataclasses import dataclass

from accounts.actors import Actor, actor_of
from accounts.models import Membership, Role, Team, User
from clusters.backends.sandbox import driver
from clusters.models import Cluster, NodeGroup
from clusters.simulation.commands import NodeDef, SetNodes
from clusters.simulation.engine import Engine
from clusters.simulation.world import Group, World
from clusters.sync import cluster_sync
from quotas.models import LocalQueue, TeamQueue
from quotas.services import quotas_apply, shares_set, team_queue_create

GROUPS = (
    ("h100", "H100 NVLink", "nvidia", "H100", "NVLink", 4),
    ("a100", "A100 PCIe", "nvidia", "A100", "PCIe", 4),
    ("ascend-910b", "Ascend 910B", "ascend", "Ascend 910B", "HCCS", 2),
)
PEOPLE = {
    "admin": (None, None),
    "lead-vision": ("vision", Role.LEAD),
    "eng-vision-1": ("vision", Role.ENGINEER),
    "eng-vision-2": ("vision", Role.ENGINEER),
    "lead-language": ("language", Role.LEAD),
    "eng-language-1": ("language", Role.ENGINEER),
    "eng-robotics-1": ("robotics", Role.ENGINEER),
}
SHARES = {"vision": 4_000, "language": 4_000, "robotics": 2_000}
PASSWORD = "correct horse battery"


@dataclass(frozen=True)
class Cast:
    """Everybody and everything on stage."""

    cluster: Cluster
    teams: dict[str, Team]
    users: dict[str, User]
    groups: dict[str, NodeGroup]
    queues: dict[str, TeamQueue]

    def actor(self, username: str) -> Actor:
        return actor_of(User.objects.get(username=username))

    def local_queue(self, team: str) -> LocalQueue:
        return self.queues[team].local_queues.get(is_default=True)


def build_cast() -> Cast:
    """Put the cast on stage in an empty database."""
    teams = {slug: Team.objects.create(slug=slug, name=slug.title(), space=f"slu-{slug}-000000") for slug in SHARES}
    users = {}
    for username, (team, role) in PEOPLE.items():
        is_admin = team is None
        user = User.objects.create_user(username, password=PASSWORD, is_platform_admin=is_admin, is_staff=is_admin)
        users[username] = user
        if team is not None:
            Membership.objects.create(user=user, team=teams[team], role=role)
    cluster = build_cluster()
    groups = {group.slug: group for group in cluster.groups.all()}
    queues = {slug: team_queue_create(actor=None, team=team, cluster=cluster) for slug, team in teams.items()}
    for group in groups.values():
        shares_set(actor=None, group=group, basis_points={queues[s].pk: points for s, points in SHARES.items()})
    quotas_apply(cluster)
    driver.touch(cluster)
    return Cast(cluster, teams, users, groups, queues)


def build_cluster(slug: str = "sandbox", *, is_default: bool = True) -> Cluster:
    """A sandbox cluster of ten nodes of eight cards, looked at once."""
    cluster = Cluster.objects.create(slug=slug, name=slug.title(), kind="sandbox", is_default=is_default)
    nodes = tuple(
        NodeDef(f"{name}-{number:02}", name, 8)
        for name, _title, _vendor, _model, _link, count in GROUPS
        for number in range(1, count + 1)
    )
    groups = tuple(Group(name, title, vendor, model, link) for name, title, vendor, model, link, _count in GROUPS)
    engine = Engine(World(now_ms=driver.now_ms(), seed=7))
    engine.apply(SetNodes(engine.now_ms, nodes, groups))
    driver.create_world(cluster, engine.world)
    assert cluster_sync(cluster)
    cluster.refresh_from_db()
    return cluster
