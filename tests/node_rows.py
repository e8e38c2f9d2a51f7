"""Rows of nodes that a test changed by hand."""

from __future__ import annotations

from dataclasses import asdict

from clusters.domain.node_cards import node_cards
from clusters.models import Node


def count_cards() -> None:
    """Write beside all nodes what their cards do, as a look at their cluster would."""
    for node in Node.objects.all():
        split = node_cards(
            health=node.health, installed=node.installed, sick=node.sick, outside=node.outside, holders=node.holders
        )
        Node.objects.filter(pk=node.pk).update(**asdict(split))
