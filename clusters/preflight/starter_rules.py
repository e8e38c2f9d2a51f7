"""What the console needs of the gang scheduler (Volcano): all pods of a job start together. Pure.

Sources: Volcano's scheduler configuration as in docs/kueue-volcano.md; decision 15.
"""

from __future__ import annotations

from clusters.preflight.findings import NOT_READ, OK, limited, listed, missing
from clusters.preflight.survey import Survey
from clusters.preflight.words import Finding, Problem

STARTER_VERSION = "scheduling.volcano.sh/v1beta1"
TRAINING_PRIORITY = "slu-training"


def starter_there(survey: Survey) -> Finding:
    """Decision 15."""
    if survey.served is None:
        return NOT_READ
    return OK if "podgroups" in survey.served.get(STARTER_VERSION, frozenset()) else missing(Problem.NO_STARTER)


def starter_runs(survey: Survey) -> Finding:
    if survey.starter_runs is None:
        return NOT_READ
    return OK if survey.starter_runs else missing(Problem.STARTER_STOPPED)


def starter_queue(survey: Survey) -> Finding:
    if survey.starter_queue_open is None:
        return NOT_READ
    return OK if survey.starter_queue_open else missing(Problem.STARTER_QUEUE_CLOSED)


def gangs(survey: Survey) -> Finding:
    if survey.starter is None:
        return NOT_READ
    if "allocate" not in survey.starter.actions:
        return missing(Problem.STARTER_NO_ALLOCATE)
    return OK if "gang" in survey.starter.plugins else missing(Problem.STARTER_NO_GANG)


def one_preemptor(survey: Survey) -> Finding:
    if survey.starter is None:
        return NOT_READ
    fighting = {"preempt", "reclaim"} & set(survey.starter.actions)
    return limited(Problem.STARTER_PREEMPTS, actions=listed(fighting)) if fighting else OK


def one_quota(survey: Survey) -> Finding:
    if survey.starter is None:
        return NOT_READ
    fighting = {"overcommit", "proportion", "capacity"} & survey.starter.plugins
    return limited(Problem.STARTER_HOLDS_BACK, plugins=listed(fighting)) if fighting else OK


def pods_stay(survey: Survey) -> Finding:
    """No pod's own priority may push a training pod off its node behind the gate's back."""
    if survey.pod_priorities is None:
        return NOT_READ
    ours = {each.name: each.value for each in survey.pod_priorities if each.name.startswith("slu-")}
    least = ours.get(TRAINING_PRIORITY, 0)
    pushing = [
        each.name
        for each in survey.pod_priorities
        if each.preempts and each.value > least and not each.name.startswith("system-")
    ]
    return limited(Problem.PODS_PREEMPT, classes=listed(pushing)) if pushing else OK
