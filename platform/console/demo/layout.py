"""The demo's stage: nodes, teams, people, shares. The people exist in the demo only."""

from __future__ import annotations

from dataclasses import dataclass

from clusters.simulation.commands import NodeDef
from clusters.simulation.world import Group

SEED = 20_261
HISTORY_DAYS = 14
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

H100 = "h100"
A100 = "a100"
ASCEND = "ascend-910b"
SLICES = "a100-slices"
GROUPS = (
    Group(H100, "H100 NVLink", "nvidia", "H100", "NVLink", position=0),
    Group(A100, "A100 PCIe", "nvidia", "A100", "PCIe", position=1),
    Group(ASCEND, "Ascend 910B", "ascend", "Ascend 910B", "HCCS", position=2),
    Group(
        SLICES, "A100 slices", "nvidia", "A100 1g.10gb", "", sharing="mig", unit="slice", shares_per_card=7, position=3
    ),
)
_COUNTS = {H100: (4, 8), A100: (4, 8), ASCEND: (2, 8), SLICES: (2, 56)}
"""Nodes and units per node; a slice node has eight cards cut into seven."""


def nodes() -> tuple[NodeDef, ...]:
    """All nodes of the sandbox, also of one that starts without the demo."""
    return tuple(
        NodeDef(f"{group}-{number:02}", group, units, cpu_millis=192_000, memory_bytes=2 << 40)
        for group, (count, units) in _COUNTS.items()
        for number in range(1, count + 1)
    )
