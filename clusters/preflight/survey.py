"""What one look at a cluster's own settings found. Pure values; ``None`` means that it could not be read.

A backend fills a :class:`Survey`; the rules of `clusters.preflight.table` judge it. Names of objects are as the cluster
has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PodsReady:
    """How long the gate waits for an admitted job's pods. Times in seconds."""

    timeout: int
    blocks_admission: bool = False
    retries: int | None = None  # None: for ever


@dataclass(frozen=True, slots=True)
class GateSettings:
    """The gate's own configuration (Kueue: `Configuration`), with its defaults filled in."""

    integrations: frozenset[str] = frozenset({"batch/job"})
    excluded_prefixes: tuple[str, ...] = ()  # of resources that quotas leave out
    manages_unlabelled: bool = False  # jobs without a queue are held back too
    pods_ready: PodsReady | None = None
    fair_sharing: bool = False
    usage_based_order: bool = False  # admission fair sharing
    deletes_given_up: bool = False  # held jobs are deleted after a while
    switches: Mapping[str, bool] = field(default_factory=dict)  # feature gates that are set by hand


@dataclass(frozen=True, slots=True)
class StarterSettings:
    """The gang scheduler's configuration (Volcano)."""

    actions: tuple[str, ...]
    plugins: frozenset[str]


@dataclass(frozen=True, slots=True)
class Check:
    """An admission check of the gate. ``controller`` answers it; an inactive one never does."""

    name: str
    controller: str
    is_active: bool


@dataclass(frozen=True, slots=True)
class ForeignQueue:
    """A queue of the gate that is not ours."""

    name: str
    cohort: str = ""
    flavors: tuple[str, ...] = ()
    holds: int = 0  # workloads that hold quota


@dataclass(frozen=True, slots=True)
class PodPriority:
    """A priority class of pods."""

    name: str
    value: int
    preempts: bool
    is_default: bool = False


@dataclass(frozen=True, slots=True)
class Survey:
    """One look at a cluster. Everything that the rules may ask about."""

    version: str = ""  # of the platform, such as v1.35.4
    served: Mapping[str, frozenset[str]] | None = None  # group/version -> plural names
    rights: Mapping[str, frozenset[str]] | None = None  # account -> rights that it lacks, as "verb group/resource"
    accounts: frozenset[str] = frozenset()  # accounts that the console has
    clock_ahead: int | None = None  # seconds by which the cluster's clock is ahead of the console's

    gate_version: str | None = None
    gate_runs: bool | None = None
    gate: GateSettings | None = None
    checks: tuple[Check, ...] | None = None
    our_checks: frozenset[str] = frozenset()  # names of checks that our queues wait for
    foreign_queues: tuple[ForeignQueue, ...] | None = None

    starter_runs: bool | None = None
    starter: StarterSettings | None = None
    starter_queue_open: bool | None = None  # the one queue of the gang scheduler that jobs use

    pod_priorities: tuple[PodPriority, ...] | None = None
    admission_policy: bool | None = None  # writes of our account are confined to team spaces
    space_limits: frozenset[str] | None = None  # team spaces with limits of their own on pods
    unknown_resources: Mapping[str, int] | None = None  # unknown device resource -> nodes that have it
    cards: Mapping[str, int] | None = None  # accelerator resource -> cards
    unlabelled_nodes: int | None = None  # with cards and no word of their model
    outside_cards: int | None = None  # held by pods of no queue
    exporters: Mapping[str, int] | None = None  # kind of exporter -> pods
    teams: int = 0
    teams_with_storage: int = 0
    groups: int = 0
    shared_groups: int = 0  # of cut cards
