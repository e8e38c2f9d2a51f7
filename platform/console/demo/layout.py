"""The demo's stage: nodes, teams, people, shares. The people exist in the demo only."""

from __future__ import annotations

from dataclasses import dataclass

from clusters.simulation.commands import NodeDef
from clusters.simulation.world import Group

SEED = 20_261
TEAMS = {"vision": "Vision", "language": "Language", "robotics": "Robotics"}
SHARES = {"vision": 4_000, "language": 4_000, "robotics": 2_000}
"""Basis points of every node group (decision 53)."""


@dataclass(frozen=True, slots=True)
class Person:
    username: str
    name: str
    team: str | None  # None: the platform admin
    role: str = "engineer"


PEOPLE = (
    Person("admin", "Daniel Okafor", None),
    Person("lead-vision", "林静", "vision", "lead"),
    Person("lead-language", "Sofia Almeida", "language", "lead"),
    Person("eng-vision-1", "李浩", "vision"),
    Person("eng-vision-2", "Anna Novak", "vision"),
    Person("eng-language-1", "刘洋", "language"),
    Person("eng-robotics-1", "Emma Larsen", "robotics"),
)

GROUPS = (
    Group("h100", "H100 NVLink", "nvidia", "H100", "NVLink"),
    Group("a100", "A100 PCIe", "nvidia", "A100", "PCIe"),
    Group("ascend-910b", "Ascend 910B", "ascend", "Ascend 910B", "HCCS"),
    Group("a100-slices", "A100 slices", "nvidia", "A100 1g.10gb", "", sharing="mig", unit="slice"),
)
_COUNTS = {"h100": (4, 8), "a100": (4, 8), "ascend-910b": (2, 8), "a100-slices": (2, 56)}
"""Nodes and units per node; a slice node has eight cards cut into seven."""


def nodes() -> tuple[NodeDef, ...]:
    """All nodes of the sandbox, also of one that starts without the demo."""
    return tuple(
        NodeDef(f"{group}-{number:02}", group, units, cpu_millis=192_000, memory_bytes=2 << 40)
        for group, (count, units) in _COUNTS.items()
        for number in range(1, count + 1)
    )
