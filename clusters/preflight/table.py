"""The preflight table: what each feature of the console needs of a cluster, and whether that is there. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from clusters.preflight import cluster_rules, gate_rules, starter_rules
from clusters.preflight.survey import Survey
from clusters.preflight.words import Feature, Finding, Problem

RULES: Mapping[Feature, Callable[[Survey], Finding]] = {
    Feature.CONNECTION: cluster_rules.platform,
    Feature.SUBMIT: cluster_rules.account("runtime"),
    Feature.QUOTAS: cluster_rules.account("quota"),
    Feature.MAINTENANCE: cluster_rules.account("node"),
    Feature.TIMES: cluster_rules.clock,
    Feature.CONFINED: cluster_rules.confined,
    Feature.GATE: gate_rules.gate_there,
    Feature.GATE_VERSION: gate_rules.gate_version,
    Feature.GATE_RUNS: gate_rules.gate_runs,
    Feature.TRAINING: gate_rules.jobs_gated,
    Feature.INFERENCE: gate_rules.services_gated,
    Feature.NEIGHBOURS: gate_rules.unlabelled,
    Feature.CARD_QUOTAS: gate_rules.only_cards_counted,
    Feature.SLOW_STARTS: gate_rules.patient,
    Feature.GUARANTEE: gate_rules.guarantee,
    Feature.QUEUE_WEIGHTS: gate_rules.weights,
    Feature.HOLD: gate_rules.held_kept,
    Feature.PLACES: gate_rules.topology,
    Feature.EXTRA_CHECKS: gate_rules.checks,
    Feature.ADOPTION: gate_rules.alone,
    Feature.GANG: starter_rules.starter_there,
    Feature.GANG_RUNS: starter_rules.starter_runs,
    Feature.GANG_QUEUE: starter_rules.starter_queue,
    Feature.GANG_SETTINGS: starter_rules.gangs,
    Feature.ONE_PREEMPTOR: starter_rules.one_preemptor,
    Feature.ONE_QUOTA: starter_rules.one_quota,
    Feature.UNDISTURBED: starter_rules.pods_stay,
    Feature.SPACES: cluster_rules.spaces,
    Feature.DEVICES: cluster_rules.devices_known,
    Feature.CARDS: cluster_rules.cards_there,
    Feature.NODE_GROUPS: cluster_rules.grouped,
    Feature.WHOLE_CARDS: cluster_rules.whole_cards,
    Feature.WATER_LEVEL: cluster_rules.nothing_outside,
    Feature.UTILISATION: cluster_rules.measured,
    Feature.RESULTS: cluster_rules.storage,
}


PROBLEMS: Mapping[Feature, tuple[Problem, ...]] = {
    Feature.CONNECTION: (Problem.OLD_PLATFORM,),
    Feature.SUBMIT: (Problem.NO_ACCOUNT, Problem.RIGHTS_LACK),
    Feature.QUOTAS: (Problem.NO_ACCOUNT, Problem.RIGHTS_LACK),
    Feature.MAINTENANCE: (Problem.NO_ACCOUNT, Problem.RIGHTS_LACK),
    Feature.TIMES: (Problem.CLOCKS_DIFFER,),
    Feature.CONFINED: (Problem.NO_POLICY,),
    Feature.GATE: (Problem.NO_GATE, Problem.GATE_SPEAKS_OTHER_VERSION),
    Feature.GATE_VERSION: (Problem.GATE_VERSION_BAD,),
    Feature.GATE_RUNS: (Problem.GATE_STOPPED,),
    Feature.TRAINING: (Problem.JOBS_NOT_GATED,),
    Feature.INFERENCE: (Problem.SERVICES_NOT_GATED,),
    Feature.NEIGHBOURS: (Problem.UNLABELLED_HELD,),
    Feature.CARD_QUOTAS: (Problem.CPU_COUNTED,),
    Feature.SLOW_STARTS: (Problem.READY_TOO_SHORT, Problem.READY_BLOCKS, Problem.READY_FOREVER),
    Feature.GUARANTEE: (Problem.GATE_SHARES_FAIRLY,),
    Feature.QUEUE_WEIGHTS: (Problem.NO_USAGE_ORDER,),
    Feature.HOLD: (Problem.DELETES_HELD,),
    Feature.PLACES: (Problem.NO_TOPOLOGY, Problem.TOPOLOGY_OFF),
    Feature.EXTRA_CHECKS: (Problem.CHECK_UNANSWERED, Problem.CHECKS_THERE),
    Feature.ADOPTION: (Problem.FOREIGN_QUEUES, Problem.FOREIGN_IN_COHORT),
    Feature.GANG: (Problem.NO_STARTER,),
    Feature.GANG_RUNS: (Problem.STARTER_STOPPED,),
    Feature.GANG_QUEUE: (Problem.STARTER_QUEUE_CLOSED,),
    Feature.GANG_SETTINGS: (Problem.STARTER_NO_ALLOCATE, Problem.STARTER_NO_GANG),
    Feature.ONE_PREEMPTOR: (Problem.STARTER_PREEMPTS,),
    Feature.ONE_QUOTA: (Problem.STARTER_HOLDS_BACK,),
    Feature.UNDISTURBED: (Problem.PODS_PREEMPT,),
    Feature.SPACES: (Problem.SPACE_LIMITS,),
    Feature.DEVICES: (Problem.UNKNOWN_DEVICES,),
    Feature.CARDS: (Problem.NO_CARDS,),
    Feature.NODE_GROUPS: (Problem.UNLABELLED_NODES, Problem.NO_GROUPS),
    Feature.WHOLE_CARDS: (Problem.SHARED_POOLS,),
    Feature.WATER_LEVEL: (Problem.OUTSIDE_PODS,),
    Feature.UTILISATION: (Problem.NO_EXPORTER,),
    Feature.RESULTS: (Problem.NO_STORAGE, Problem.SOME_STORAGE),
}
"""What may be found to be the matter with each, beside what could not be read."""


def preflight(survey: Survey) -> dict[Feature, Finding]:
    """Every row of the table, in the order of the page."""
    return {feature: RULES[feature](survey) for feature in Feature}
