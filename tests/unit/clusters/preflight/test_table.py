"""The preflight table: every row, every problem, and what a cluster must have for all to be well."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from clusters.preflight.survey import (
    Check,
    ForeignQueue,
    GateSettings,
    PodPriority,
    PodsReady,
    StarterSettings,
    Survey,
)
from clusters.preflight.table import PROBLEMS as MAY_BE
from clusters.preflight.table import RULES, preflight
from clusters.preflight.texts import FEATURES, PROBLEMS, VERDICTS, found_text, mend_text
from clusters.preflight.words import Feature, Finding, Problem, Verdict

GATE = GateSettings(
    integrations=frozenset({"batch/job", "deployment", "pod"}),
    excluded_prefixes=("cpu", "memory", "ephemeral-storage"),
    usage_based_order=True,
)
STARTER = StarterSettings(("enqueue", "allocate", "backfill"), frozenset({"priority", "gang", "predicates"}))
KUEUE = frozenset({"workloads", "clusterqueues", "localqueues", "topologies"})
SERVED = {"kueue.x-k8s.io/v1beta2": KUEUE, "scheduling.volcano.sh/v1beta1": frozenset({"podgroups", "queues"})}
TRAINING = PodPriority("slu-training", 100, preempts=False)

WELL = Survey(
    version="v1.35.4",
    served=SERVED,
    rights={"runtime": frozenset(), "quota": frozenset(), "node": frozenset()},
    accounts=frozenset({"runtime", "quota", "node"}),
    clock_ahead=0,
    gate_version="v0.19.2",
    gate_runs=True,
    gate=GATE,
    checks=(),
    foreign_queues=(),
    starter_runs=True,
    starter=STARTER,
    starter_queue_open=True,
    pod_priorities=(TRAINING, PodPriority("system-node-critical", 2_000_001_000, preempts=True)),
    admission_policy=True,
    space_limits=frozenset(),
    unknown_resources={},
    cards={"nvidia.com/gpu": 32},
    unlabelled_nodes=0,
    outside_cards=0,
    exporters={"dcgm": 4},
    teams=3,
    teams_with_storage=3,
    groups=1,
)


def gate(**changes: Any) -> dict[str, Any]:
    return {"gate": replace(GATE, **changes)}


def starter(**changes: Any) -> dict[str, Any]:
    return {"starter": replace(STARTER, **changes)}


BROKEN: list[tuple[Feature, dict[str, Any], Verdict, Problem]] = [
    (Feature.CONNECTION, {"version": "v1.27.16"}, Verdict.LIMITED, Problem.OLD_PLATFORM),
    (Feature.CONNECTION, {"version": ""}, Verdict.UNKNOWN, Problem.NOT_READ),
    (
        Feature.SUBMIT,
        {"rights": {"runtime": frozenset({"create batch/jobs"})}},
        Verdict.LIMITED,
        Problem.RIGHTS_LACK,
    ),
    (Feature.SUBMIT, {"rights": None}, Verdict.UNKNOWN, Problem.NOT_READ),
    (Feature.QUOTAS, {"accounts": frozenset({"runtime"})}, Verdict.MISSING, Problem.NO_ACCOUNT),
    (Feature.MAINTENANCE, {"accounts": frozenset({"runtime"})}, Verdict.MISSING, Problem.NO_ACCOUNT),
    (Feature.TIMES, {"clock_ahead": -90}, Verdict.LIMITED, Problem.CLOCKS_DIFFER),
    (Feature.CONFINED, {"admission_policy": False}, Verdict.LIMITED, Problem.NO_POLICY),
    (Feature.GATE, {"served": {}}, Verdict.MISSING, Problem.NO_GATE),
    (
        Feature.GATE,
        {"served": {"kueue.x-k8s.io/v1beta1": KUEUE}},
        Verdict.MISSING,
        Problem.GATE_SPEAKS_OTHER_VERSION,
    ),
    (Feature.GATE_VERSION, {"gate_version": "v0.17.2"}, Verdict.LIMITED, Problem.GATE_VERSION_BAD),
    (Feature.GATE_VERSION, {"gate_version": "v0.16.4"}, Verdict.LIMITED, Problem.GATE_VERSION_BAD),
    (Feature.GATE_VERSION, {"gate_version": "latest"}, Verdict.UNKNOWN, Problem.NOT_READ),
    (Feature.GATE_RUNS, {"gate_runs": False}, Verdict.MISSING, Problem.GATE_STOPPED),
    (Feature.TRAINING, gate(integrations=frozenset({"pod"})), Verdict.MISSING, Problem.JOBS_NOT_GATED),
    (Feature.INFERENCE, gate(integrations=frozenset({"batch/job"})), Verdict.MISSING, Problem.SERVICES_NOT_GATED),
    (Feature.NEIGHBOURS, gate(manages_unlabelled=True), Verdict.LIMITED, Problem.UNLABELLED_HELD),
    (Feature.CARD_QUOTAS, gate(excluded_prefixes=()), Verdict.MISSING, Problem.CPU_COUNTED),
    (Feature.CARD_QUOTAS, gate(excluded_prefixes=("cpu",)), Verdict.MISSING, Problem.CPU_COUNTED),
    (Feature.SLOW_STARTS, gate(pods_ready=PodsReady(300, retries=3)), Verdict.LIMITED, Problem.READY_TOO_SHORT),
    (
        Feature.SLOW_STARTS,
        gate(pods_ready=PodsReady(3600, blocks_admission=True, retries=3)),
        Verdict.LIMITED,
        Problem.READY_BLOCKS,
    ),
    (Feature.SLOW_STARTS, gate(pods_ready=PodsReady(3600)), Verdict.LIMITED, Problem.READY_FOREVER),
    (Feature.GUARANTEE, gate(fair_sharing=True), Verdict.LIMITED, Problem.GATE_SHARES_FAIRLY),
    (Feature.QUEUE_WEIGHTS, gate(usage_based_order=False), Verdict.MISSING, Problem.NO_USAGE_ORDER),
    (Feature.HOLD, gate(deletes_given_up=True), Verdict.LIMITED, Problem.DELETES_HELD),
    (
        Feature.PLACES,
        {"served": {**SERVED, "kueue.x-k8s.io/v1beta2": KUEUE - {"topologies"}}},
        Verdict.MISSING,
        Problem.NO_TOPOLOGY,
    ),
    (Feature.PLACES, gate(switches={"TopologyAwareScheduling": False}), Verdict.MISSING, Problem.TOPOLOGY_OFF),
    (
        Feature.EXTRA_CHECKS,
        {"our_checks": frozenset({"budget"}), "checks": (Check("budget", "example.com/budget", is_active=False),)},
        Verdict.MISSING,
        Problem.CHECK_UNANSWERED,
    ),
    (Feature.EXTRA_CHECKS, {"our_checks": frozenset({"gone"})}, Verdict.MISSING, Problem.CHECK_UNANSWERED),
    (
        Feature.EXTRA_CHECKS,
        {"our_checks": frozenset({"budget"}), "checks": (Check("budget", "example.com/budget", is_active=True),)},
        Verdict.LIMITED,
        Problem.CHECKS_THERE,
    ),
    (Feature.ADOPTION, {"foreign_queues": (ForeignQueue("old", "pool"),)}, Verdict.LIMITED, Problem.FOREIGN_QUEUES),
    (Feature.ADOPTION, {"foreign_queues": (ForeignQueue("old", "slu"),)}, Verdict.LIMITED, Problem.FOREIGN_IN_COHORT),
    (Feature.GANG, {"served": {"kueue.x-k8s.io/v1beta2": KUEUE}}, Verdict.MISSING, Problem.NO_STARTER),
    (Feature.GANG_RUNS, {"starter_runs": False}, Verdict.MISSING, Problem.STARTER_STOPPED),
    (Feature.GANG_QUEUE, {"starter_queue_open": False}, Verdict.MISSING, Problem.STARTER_QUEUE_CLOSED),
    (Feature.GANG_SETTINGS, starter(actions=("enqueue",)), Verdict.MISSING, Problem.STARTER_NO_ALLOCATE),
    (Feature.GANG_SETTINGS, starter(plugins=frozenset({"priority"})), Verdict.MISSING, Problem.STARTER_NO_GANG),
    (
        Feature.ONE_PREEMPTOR,
        starter(actions=("enqueue", "allocate", "preempt", "reclaim")),
        Verdict.LIMITED,
        Problem.STARTER_PREEMPTS,
    ),
    (
        Feature.ONE_QUOTA,
        starter(plugins=frozenset({"gang", "proportion", "overcommit"})),
        Verdict.LIMITED,
        Problem.STARTER_HOLDS_BACK,
    ),
    (
        Feature.UNDISTURBED,
        {"pod_priorities": (TRAINING, PodPriority("web", 10_000, preempts=True))},
        Verdict.LIMITED,
        Problem.PODS_PREEMPT,
    ),
    (Feature.SPACES, {"space_limits": frozenset({"slu-vision"})}, Verdict.LIMITED, Problem.SPACE_LIMITS),
    (Feature.DEVICES, {"unknown_resources": {"example.com/tpu": 2}}, Verdict.LIMITED, Problem.UNKNOWN_DEVICES),
    (Feature.CARDS, {"cards": {}}, Verdict.MISSING, Problem.NO_CARDS),
    (Feature.NODE_GROUPS, {"unlabelled_nodes": 3}, Verdict.LIMITED, Problem.UNLABELLED_NODES),
    (Feature.NODE_GROUPS, {"groups": 0}, Verdict.MISSING, Problem.NO_GROUPS),
    (Feature.WHOLE_CARDS, {"shared_groups": 1}, Verdict.LIMITED, Problem.SHARED_POOLS),
    (Feature.WATER_LEVEL, {"outside_cards": 12}, Verdict.LIMITED, Problem.OUTSIDE_PODS),
    (Feature.UTILISATION, {"exporters": {}}, Verdict.MISSING, Problem.NO_EXPORTER),
    (Feature.RESULTS, {"teams_with_storage": 0}, Verdict.MISSING, Problem.NO_STORAGE),
    (Feature.RESULTS, {"teams_with_storage": 2}, Verdict.LIMITED, Problem.SOME_STORAGE),
]


def test_nothing_is_the_matter_with_a_cluster_that_is_set_up_as_the_guide_says() -> None:
    assert {feature: found for feature, found in preflight(WELL).items() if found != Finding(Verdict.OK)} == {}


@pytest.mark.parametrize(
    ("feature", "changes", "verdict", "problem"), BROKEN, ids=[f"{row[0].value}-{row[3].value}" for row in BROKEN]
)
def test_one_thing_that_is_wrong_shows_in_its_row(
    feature: Feature, changes: dict[str, Any], verdict: Verdict, problem: Problem
) -> None:
    found = preflight(replace(WELL, **changes))[feature]
    assert (found.verdict, found.problem) == (verdict, problem)
    for text in (found_text(found), mend_text(found)):
        assert text.endswith(".") and "%(" not in text


def test_every_problem_and_every_row_was_produced() -> None:
    assert {row[3] for row in BROKEN} == set(Problem)
    assert {row[0] for row in BROKEN} == set(Feature) and len(Feature) >= 25


def test_the_table_says_of_each_row_what_may_be_the_matter() -> None:
    assert list(MAY_BE) == list(Feature) == list(RULES)
    produced = {(feature, problem) for feature, _, _, problem in BROKEN if problem is not Problem.NOT_READ}
    said = {(feature, problem) for feature, problems in MAY_BE.items() for problem in problems}
    assert produced <= said
    assert {problem for _, problem in said - produced} <= {Problem.NO_ACCOUNT, Problem.RIGHTS_LACK}


def test_what_could_not_be_read_is_unknown_and_never_fine() -> None:
    """An empty look says nothing about the cluster; only what the console knows itself may be well."""
    found = preflight(Survey())
    known_here = {Feature.WHOLE_CARDS, Feature.RESULTS}
    assert {feature for feature, each in found.items() if each.verdict is Verdict.OK} == known_here
    no_accounts = {Feature.SUBMIT, Feature.QUOTAS, Feature.MAINTENANCE}
    assert {feature for feature, each in found.items() if each.verdict is Verdict.MISSING} == no_accounts
    unknown = {feature for feature, each in found.items() if each.problem is Problem.NOT_READ}
    assert unknown == set(Feature) - known_here - no_accounts


def test_texts_and_rules_are_there_for_every_word() -> None:
    assert set(FEATURES) == set(RULES) == set(Feature)
    assert set(PROBLEMS) == set(Problem) and set(VERDICTS) == set(Verdict)


@pytest.mark.parametrize("problem", list(Problem))
def test_a_sentence_uses_no_fact_that_its_finding_lacks(problem: Problem) -> None:
    wanted = set(re.findall(r"%\((\w+)\)s", str(PROBLEMS[problem].found)))
    for feature, changes, _verdict, expected in BROKEN:
        if expected is problem:
            assert wanted <= set(preflight(replace(WELL, **changes))[feature].facts)
