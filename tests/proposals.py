"""A node group that waits for an admin's word, with a node that would be in it."""

from __future__ import annotations

from django.utils import timezone

from clusters.group_models import GroupProposal
from clusters.models import Cluster, Node

RESOURCE = "example.com/tpu"


def proposed_group(cluster: Cluster, slug: str, *, nodes: int = 1, aside: bool = False) -> GroupProposal:
    """Its nodes are called `<slug>-1` and so on, and carry the label `pool=<slug>`."""
    now = timezone.now()
    for number in range(1, nodes + 1):
        Node.objects.create(
            cluster=cluster,
            name=f"{slug}-{number}",
            health="ready",
            installed=4,
            seen_at=now,
            labels={"pool": slug, "rack": f"r{number % 2}"},
            offers=[[RESOURCE, "exclusive"]],
        )
    return GroupProposal.objects.create(
        cluster=cluster,
        slug=slug,
        title=slug.title(),
        vendor="example",
        card_model="TPU",
        sharing="exclusive",
        unit="card",
        cards_per_node=4,
        resource=RESOURCE,
        selector={"pool": slug},
        is_aside=aside,
        first_seen_at=now,
    )
