"""Words of the preflight table: features, verdicts, and what may be the matter. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Feature(StrEnum):
    """One row for each; the order is that of the page."""

    CONNECTION = "connection"
    SUBMIT = "submit"
    QUOTAS = "quotas"
    MAINTENANCE = "maintenance"
    TIMES = "times"
    CONFINED = "confined"
    GATE = "gate"
    GATE_VERSION = "gate_version"
    GATE_RUNS = "gate_runs"
    TRAINING = "training"
    INFERENCE = "inference"
    NEIGHBOURS = "neighbours"
    CARD_QUOTAS = "card_quotas"
    SLOW_STARTS = "slow_starts"
    GUARANTEE = "guarantee"
    QUEUE_WEIGHTS = "queue_weights"
    HOLD = "hold"
    PLACES = "places"
    EXTRA_CHECKS = "extra_checks"
    ADOPTION = "adoption"
    GANG = "gang"
    GANG_RUNS = "gang_runs"
    GANG_QUEUE = "gang_queue"
    GANG_SETTINGS = "gang_settings"
    ONE_PREEMPTOR = "one_preemptor"
    ONE_QUOTA = "one_quota"
    UNDISTURBED = "undisturbed"
    SPACES = "spaces"
    DEVICES = "devices"
    CARDS = "cards"
    NODE_GROUPS = "node_groups"
    WHOLE_CARDS = "whole_cards"
    WATER_LEVEL = "water_level"
    UTILISATION = "utilisation"
    RESULTS = "results"


class Verdict(StrEnum):
    OK = "ok"
    LIMITED = "limited"
    MISSING = "missing"
    UNKNOWN = "unknown"


class Problem(StrEnum):
    """What is the matter, in one code; the sentence is in `clusters.preflight.texts`."""

    NOT_READ = "not_read"
    OLD_PLATFORM = "old_platform"
    RIGHTS_LACK = "rights_lack"
    NO_ACCOUNT = "no_account"
    CLOCKS_DIFFER = "clocks_differ"
    NO_GATE = "no_gate"
    GATE_SPEAKS_OTHER_VERSION = "gate_speaks_other_version"
    GATE_VERSION_BAD = "gate_version_bad"
    GATE_STOPPED = "gate_stopped"
    JOBS_NOT_GATED = "jobs_not_gated"
    SERVICES_NOT_GATED = "services_not_gated"
    UNLABELLED_HELD = "unlabelled_held"
    CPU_COUNTED = "cpu_counted"
    READY_TOO_SHORT = "ready_too_short"
    READY_BLOCKS = "ready_blocks"
    READY_FOREVER = "ready_forever"
    GATE_SHARES_FAIRLY = "gate_shares_fairly"
    NO_USAGE_ORDER = "no_usage_order"
    DELETES_HELD = "deletes_held"
    NO_TOPOLOGY = "no_topology"
    TOPOLOGY_OFF = "topology_off"
    CHECK_UNANSWERED = "check_unanswered"
    CHECKS_THERE = "checks_there"
    FOREIGN_QUEUES = "foreign_queues"
    FOREIGN_IN_COHORT = "foreign_in_cohort"
    NO_STARTER = "no_starter"
    STARTER_STOPPED = "starter_stopped"
    STARTER_QUEUE_CLOSED = "starter_queue_closed"
    STARTER_PREEMPTS = "starter_preempts"
    STARTER_HOLDS_BACK = "starter_holds_back"
    STARTER_NO_GANG = "starter_no_gang"
    STARTER_NO_ALLOCATE = "starter_no_allocate"
    PODS_PREEMPT = "pods_preempt"
    NO_POLICY = "no_policy"
    SPACE_LIMITS = "space_limits"
    UNKNOWN_DEVICES = "unknown_devices"
    NO_CARDS = "no_cards"
    UNLABELLED_NODES = "unlabelled_nodes"
    NO_GROUPS = "no_groups"
    SHARED_POOLS = "shared_pools"
    OUTSIDE_PODS = "outside_pods"
    NO_EXPORTER = "no_exporter"
    NO_STORAGE = "no_storage"
    SOME_STORAGE = "some_storage"


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict, and for every one that is not ok a problem with its facts."""

    verdict: Verdict
    problem: Problem | None = None
    facts: Mapping[str, str | int] = field(default_factory=dict)
