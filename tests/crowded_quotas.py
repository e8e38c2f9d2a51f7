"""A cluster with many teams, node groups and nodes, straight into the database: for query counts and benchmarks."""

from __future__ import annotations

from django.utils import timezone

from accounts.models import Membership, Role, Team, User
from clusters.models import Cluster, Node, NodeGroup, ObservedWorkload
from quotas.models import Demand, LocalQueue, Share, TeamQueue

GROUPS, NODES, CARDS = 20, 5_000, 8
JOBS_OF_TEAM = 10


def build_crowded(teams: int, *, groups: int = GROUPS, nodes: int = NODES) -> None:
    """So many teams share all node groups equally; some hold more than their share. The first is led by `lead`."""
    cluster = Cluster.objects.create(slug="big", name="Big", kind="sandbox", is_default=True, synced_at=timezone.now())
    group_rows = NodeGroup.objects.bulk_create(
        NodeGroup(
            cluster=cluster, slug=f"group-{n:02}", title=f"Group {n}", vendor="nvidia", card_model=f"M{n}",
            sharing="exclusive", unit="card", cards_per_node=CARDS, position=n,
        )
        for n in range(groups)
    )  # fmt: skip
    Node.objects.bulk_create(
        Node(
            cluster=cluster, group=group_rows[n % groups], name=f"node-{n:05}", health="ready", installed=CARDS,
            free=CARDS - 2, used=2, seen_at=timezone.now(),
            holders=[{"job_ulid": f"{n:026}", "attempt": 1, "cards": 2, "running": True, "ending": False}],
        )
        for n in range(nodes)
    )  # fmt: skip
    team_rows = Team.objects.bulk_create(
        Team(slug=f"team-{n:03}", name=f"Team {n:03}", space=f"slu-team-{n:03}") for n in range(teams)
    )
    queues = TeamQueue.objects.bulk_create(TeamQueue(team=team, cluster=cluster, slug=team.slug) for team in team_rows)
    nominal = nodes // groups * CARDS // teams
    Share.objects.bulk_create(
        Share(queue=queue, group=group, basis_points=10_000 // teams, nominal=nominal)
        for queue in queues
        for group in group_rows
    )
    local_queues = LocalQueue.objects.bulk_create(
        LocalQueue(queue=queue, slug=slug, name=slug, is_default=slug == "default")
        for queue in queues
        for slug in ("default", "night")
    )
    _jobs(cluster, group_rows, local_queues, nominal)
    User.objects.create_user("admin", is_platform_admin=True, is_staff=True)
    lead = User.objects.create_user("lead")
    Membership.objects.create(user=lead, team=team_rows[0], role=Role.LEAD)


def _jobs(cluster: Cluster, groups: list[NodeGroup], local_queues: list[LocalQueue], nominal: int) -> None:
    """Half of them run; every seventh holds more than its team's share, so that there is much to split."""
    demands, observed = [], []
    for number in range(len(local_queues) * JOBS_OF_TEAM // 2):
        ulid = f"{number:026}"
        cards = nominal + 4 if number % 7 == 0 else 2
        local, group = local_queues[number % len(local_queues)], groups[number % len(groups)]
        demands.append(Demand(job_ulid=ulid, local_queue=local, group=group, owner_id=1, cards=cards))
        running = cards if number % 2 == 0 else 0
        observed.append(
            ObservedWorkload(
                cluster=cluster, job_ulid=ulid, attempt_no=1, uid=ulid, revision="1", version=number, facts={},
                cards_running=running, cards_held=running, seen_at=timezone.now(),
            )
        )  # fmt: skip
    Demand.objects.bulk_create(demands)
    ObservedWorkload.objects.bulk_create(observed)
