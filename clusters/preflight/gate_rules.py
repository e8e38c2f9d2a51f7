"""What the console needs of the gate (Kueue): whether and when a job may enter. Pure.

Sources: Kueue's configuration and API as in docs/kueue-volcano.md; decisions 14, 20 and 38.
"""

from __future__ import annotations

from clusters.preflight.findings import NOT_READ, OK, limited, listed, missing, parsed_version
from clusters.preflight.survey import Survey
from clusters.preflight.words import Finding, Problem

READY_LEAST_SECONDS = 30 * 60  # the pull of an image counts
COUNTED_OTHERWISE = ("cpu", "memory")
GATE_GROUP, GATE_VERSION = "kueue.x-k8s.io", "kueue.x-k8s.io/v1beta2"
GATE_KINDS = frozenset({"workloads", "clusterqueues", "localqueues"})
BAD_GATE_VERSIONS = frozenset({(0, 17, 1), (0, 17, 2)})  # may mark new work as finished
OLDEST_GATE = (0, 17)
COHORT = "slu"


def gate_there(survey: Survey) -> Finding:
    if survey.served is None:
        return NOT_READ
    others = sorted(name for name in survey.served if name.startswith(f"{GATE_GROUP}/"))
    if survey.served.get(GATE_VERSION, frozenset()) >= GATE_KINDS:
        return OK
    if others:
        return missing(Problem.GATE_SPEAKS_OTHER_VERSION, versions=listed(others))
    return missing(Problem.NO_GATE)


def gate_version(survey: Survey) -> Finding:
    version = parsed_version(survey.gate_version or "")
    if version is None:
        return NOT_READ
    if version in BAD_GATE_VERSIONS or version[:2] < OLDEST_GATE:
        return limited(Problem.GATE_VERSION_BAD, version=survey.gate_version or "")
    return OK


def gate_runs(survey: Survey) -> Finding:
    if survey.gate_runs is None:
        return NOT_READ
    return OK if survey.gate_runs else missing(Problem.GATE_STOPPED)


def jobs_gated(survey: Survey) -> Finding:
    if survey.gate is None:
        return NOT_READ
    return OK if "batch/job" in survey.gate.integrations else missing(Problem.JOBS_NOT_GATED)


def services_gated(survey: Survey) -> Finding:
    if survey.gate is None:
        return NOT_READ
    lacks = {"deployment", "pod"} - survey.gate.integrations
    return missing(Problem.SERVICES_NOT_GATED, integrations=listed(lacks)) if lacks else OK


def unlabelled(survey: Survey) -> Finding:
    if survey.gate is None:
        return NOT_READ
    return limited(Problem.UNLABELLED_HELD) if survey.gate.manages_unlabelled else OK


def only_cards_counted(survey: Survey) -> Finding:
    if survey.gate is None:
        return NOT_READ
    counted = [name for name in COUNTED_OTHERWISE if not name.startswith(survey.gate.excluded_prefixes or ("\0",))]
    return missing(Problem.CPU_COUNTED, resources=listed(counted)) if counted else OK


def patient(survey: Survey) -> Finding:
    if survey.gate is None:
        return NOT_READ
    ready = survey.gate.pods_ready
    if ready is None:
        return OK
    if ready.blocks_admission:
        return limited(Problem.READY_BLOCKS)
    if ready.timeout < READY_LEAST_SECONDS:
        return limited(Problem.READY_TOO_SHORT, minutes=ready.timeout // 60)
    return limited(Problem.READY_FOREVER) if ready.retries is None else OK


def guarantee(survey: Survey) -> Finding:
    if survey.gate is None:
        return NOT_READ
    return limited(Problem.GATE_SHARES_FAIRLY) if survey.gate.fair_sharing else OK


def weights(survey: Survey) -> Finding:
    """Decision 20: weights of local queues order admission only where the gate is set so."""
    if survey.gate is None:
        return NOT_READ
    return OK if survey.gate.usage_based_order else missing(Problem.NO_USAGE_ORDER)


def held_kept(survey: Survey) -> Finding:
    if survey.gate is None:
        return NOT_READ
    return limited(Problem.DELETES_HELD) if survey.gate.deletes_given_up else OK


def topology(survey: Survey) -> Finding:
    """Decision 14."""
    if survey.served is None:
        return NOT_READ
    if "topologies" not in survey.served.get(GATE_VERSION, frozenset()):
        return missing(Problem.NO_TOPOLOGY)
    if survey.gate is not None and survey.gate.switches.get("TopologyAwareScheduling") is False:
        return missing(Problem.TOPOLOGY_OFF)
    return OK


def checks(survey: Survey) -> Finding:
    if survey.checks is None:
        return NOT_READ
    silent = [check.name for check in survey.checks if check.name in survey.our_checks and not check.is_active]
    silent += sorted(survey.our_checks - {check.name for check in survey.checks})
    if silent:
        return missing(Problem.CHECK_UNANSWERED, checks=listed(silent))
    return limited(Problem.CHECKS_THERE, checks=listed(survey.our_checks)) if survey.our_checks else OK


def alone(survey: Survey) -> Finding:
    """Decision 38: existing queues are shown and adopted, never touched unasked."""
    if survey.foreign_queues is None:
        return NOT_READ
    inside = [queue.name for queue in survey.foreign_queues if queue.cohort == COHORT]
    if inside:
        return limited(Problem.FOREIGN_IN_COHORT, queues=listed(inside))
    names = [queue.name for queue in survey.foreign_queues]
    return limited(Problem.FOREIGN_QUEUES, queues=listed(names)) if names else OK
