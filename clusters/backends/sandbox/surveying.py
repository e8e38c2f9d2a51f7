"""What the sandbox is set up to do: as the guide says, because its rules are those of a cluster that follows it."""

from __future__ import annotations

from collections import Counter

from clusters.preflight.survey import GateSettings, PodPriority, StarterSettings, Survey
from clusters.simulation.world import World

VERSION = "v1.35.0"
GATE_VERSION = "v0.19.2"
"""Whose rules the engine follows."""


def sandbox_survey(world: World) -> Survey:
    """Nothing is foreign or broken here. Weights between local queues order nothing, and nothing is measured."""
    cards: Counter[str] = Counter()
    for node in world.nodes.values():
        cards[node.group or ""] += node.cards
    return Survey(
        version=VERSION,
        served={
            "kueue.x-k8s.io/v1beta2": frozenset({"workloads", "clusterqueues", "localqueues", "topologies"}),
            "scheduling.volcano.sh/v1beta1": frozenset({"podgroups", "queues"}),
        },
        rights={account: frozenset() for account in ("runtime", "quota", "node")},
        accounts=frozenset({"runtime", "quota", "node"}),
        clock_ahead=0,
        gate_version=GATE_VERSION,
        gate_runs=True,
        gate=GateSettings(
            integrations=frozenset({"batch/job", "deployment", "pod"}),
            excluded_prefixes=("cpu", "memory", "ephemeral-storage"),
        ),
        checks=(),
        foreign_queues=(),
        starter_runs=True,
        starter=StarterSettings(("enqueue", "allocate", "backfill"), frozenset({"priority", "gang", "predicates"})),
        starter_queue_open=True,
        pod_priorities=(PodPriority("slu-training", 100, preempts=False),),
        admission_policy=True,
        space_limits=frozenset(),
        unknown_resources={},
        cards=dict(cards),
        unlabelled_nodes=0,
        exporters={},
    )
