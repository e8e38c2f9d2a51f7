"""Memory and cores of virtual cards: what a node has of them and what its pods ask for. Pure.

Pods say so much for each of their cards; plugins register devices with what they have. Neither ever counts as cards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from clusters.backends.kueue_volcano.quantities import whole
from clusters.backends.kueue_volcano.wire import Pod
from clusters.backends.kueue_volcano.wire_nodes import Node
from clusters.contract import CardPart
from clusters.domain.accelerators import Accelerator, Portion, portions_of
from clusters.domain.physical import Device, divided


def card_parts(node: Node, row: Accelerator, resource: str, pods: Iterable[tuple[Pod, bool]]) -> tuple[CardPart, ...]:
    """``pods``: those that hold virtual cards of this resource there, and whether each of them runs."""
    portions = portions_of(row, resource)
    if not portions:
        return ()
    kinds = {portion.resource: portion.kind for portion in portions}
    asked, used, unsaid = Counter[str](), Counter[str](), Counter[str]()
    for pod, runs in pods:
        named = [(name, amount) for name, amount in pod.spec.asks if name in kinds]
        for name, amount in named:
            asked[name] += amount
            used[name] += amount if runs else 0
        for kind in {*kinds.values()} - {kinds[name] for name, _ in named}:
            unsaid[kind] += pod.spec.asked(resource)
    devices = divided(row, resource, whole(node.status.capacity.get(resource)), node.metadata.annotations)
    found = (
        CardPart(
            portion.resource,
            portion.unit,
            _capacity(node, portion, devices),
            asked[portion.resource],
            used[portion.resource],
            unsaid[portion.kind],
        )
        for portion in portions
    )
    return tuple(part for part in found if part.capacity is not None or part.asked)


def _capacity(node: Node, portion: Portion, devices: tuple[Device, ...]) -> int | None:
    """As the node reports it, else as its devices are registered."""
    if portion.resource in node.status.allocatable:
        return whole(node.status.allocatable[portion.resource])
    if not devices or not portion.of_device:
        return None
    return sum(device.memory if portion.kind == "memory" else device.cores for device in devices) or None
