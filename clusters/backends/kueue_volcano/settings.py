"""What the console keeps about a connected cluster, as the builders want it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import timedelta

import msgspec

from clusters.accelerator_models import AcceleratorName
from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.shape import ClusterShape, GroupShape
from clusters.contract import Part, SharingMode
from clusters.domain.accelerators import Accelerator
from clusters.group_models import GroupTraits
from clusters.group_nodes import sharing_of_group
from clusters.models import Cluster


class ClusterSettings(msgspec.Struct, omit_defaults=True):
    """`Cluster.settings`. Keys of other writers are left alone."""

    topology: bool = True  # topology-aware admission where the gate offers it (decision 14)
    topology_levels: tuple[str, ...] = (names.HOSTNAME,)
    volcano: bool = True  # False: pods are started by the default scheduler (decision 15)
    git_image: str = ""
    ceiling_seconds: int | None = None  # the longest run that the policy allows anybody


def settings_of(cluster: Cluster) -> ClusterSettings:
    return msgspec.convert(cluster.settings, ClusterSettings)


def shape_of(cluster: Cluster) -> ClusterShape:
    """The cluster's settings, node groups and proposals; two queries."""
    settings = settings_of(cluster)
    lacks = frozenset(cluster.lacks)  # as of the newest look
    proposals = list(cluster.proposals.all())
    return ClusterShape(
        installation=names.installation_of(cluster.public_id),
        groups=_shapes(cluster.groups.all()),
        asides=_shapes(row for row in proposals if row.is_aside),
        proposed=_shapes((row for row in proposals if not row.is_aside), lambda row: SharingMode(row.sharing)),
        topology_aware=settings.topology and not {Part.GATE, Part.TOPOLOGY} & lacks,
        topology_levels=settings.topology_levels,
        has_volcano=settings.volcano and Part.GANG not in lacks,
        git_image=settings.git_image,
        ceiling=timedelta(seconds=settings.ceiling_seconds) if settings.ceiling_seconds else None,
    )


def _shapes(
    rows: Iterable[GroupTraits], sharing: Callable[[GroupTraits], SharingMode | None] = sharing_of_group
) -> dict[str, GroupShape]:
    return {
        row.slug: GroupShape(
            resource=row.resource,
            selector=tuple(sorted(row.selector.items())),
            cards_per_node=row.cards_per_node,
            cpu_millis_per_node=row.cpu_millis_per_node,
            memory_bytes_per_node=row.memory_bytes_per_node,
            rdma_resource=getattr(row, "rdma_resource", ""),
            sharing=sharing(row),
        )
        for row in rows
        if row.resource
    }


def accelerator_names(cluster: Cluster) -> dict[str, Accelerator | None]:
    """What admins say of resources that no catalogue knows; one query."""
    return {
        row.resource: Accelerator(
            pattern=re.escape(row.resource), vendor=row.vendor, sharing=SharingMode(row.sharing), model=row.card_model
        )
        if row.is_card
        else None
        for row in AcceleratorName.objects.filter(cluster=cluster)
    }
