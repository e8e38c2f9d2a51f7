"""How an attempt ended and why: its Job's own word, the gate's, and the earliest failing pod (decision 3). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from clusters.backends.kueue_volcano.conditions import Gate, changed_at, earliest, holding, moment
from clusters.backends.kueue_volcano.pods import LostNodes, failing
from clusters.backends.kueue_volcano.wire import Condition, Job, Pod, Workload
from clusters.contract import INFRASTRUCTURE_FAILURES, Failure, FailureCode, Outcome

BLAMED_ON_A_SIBLING = timedelta(seconds=120)
"""Decision 3: an exit of the program so soon after a sibling was taken away is not the program's fault."""

_POD_IN_MESSAGE = re.compile(r"\b[Pp]od ([^\s/]+)/(\S+) (?:has condition (\S+)|failed with exit code (-?\d{1,9}))")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The end of an attempt. ``code`` is set where the cause is not to be looked for in pods."""

    outcome: Outcome
    at: datetime | None
    by_policy: bool = False
    code: FailureCode | None = None
    raw: str = ""
    named_pod: str = ""
    named_code: FailureCode | None = None
    named_exit: int | None = None


def verdict_of(job: Job | None, workload: Workload | None, gate: Gate) -> Verdict | None:
    """None while nothing has ended. A Job that is sure to end counts as ended: its pods follow (rows 3a to 4c)."""
    if job is not None and (verdict := _job_verdict(job)) is not None:
        return verdict
    if gate.given_up is not None:
        return Verdict(Outcome.FAILED, gate.given_up_at, code=gate.given_up, raw=gate.given_up_because)
    finished = holding(workload.status.conditions, "Finished") if workload is not None else None
    if finished is None:
        return None
    if finished.reason == "Succeeded":
        return Verdict(Outcome.SUCCEEDED, changed_at(finished))
    if finished.reason == "Failed":
        return _failed(finished, changed_at(finished))
    if finished.reason == "FailedToStart":
        return Verdict(Outcome.FAILED, changed_at(finished), code=FailureCode.BAD_CONFIG, raw=finished.message)
    return None


def _job_verdict(job: Job) -> Verdict | None:
    conditions = job.status.conditions
    failed, doomed = holding(conditions, "Failed"), holding(conditions, "FailureTarget")
    word = failed or doomed
    if word is not None:
        return _failed(word, earliest(changed_at(failed), changed_at(doomed)))
    complete, met = holding(conditions, "Complete"), holding(conditions, "SuccessCriteriaMet")
    word = complete or met
    if word is None:
        return None
    by_policy = any(told is not None and told.reason == "SuccessPolicy" for told in (complete, met))
    at = earliest(changed_at(complete), changed_at(met)) or moment(job.status.completion_time)
    return Verdict(Outcome.SUCCEEDED, at, by_policy=by_policy)


def _failed(word: Condition, at: datetime | None) -> Verdict:
    raw = ": ".join(part for part in (word.reason, word.message) if part)
    if word.reason == "DeadlineExceeded":
        return Verdict(Outcome.FAILED, at, code=FailureCode.TIME_LIMIT, raw=raw)
    match = _POD_IN_MESSAGE.search(word.message)
    if match is None:
        return Verdict(Outcome.FAILED, at, raw=raw)
    code = FailureCode.DISRUPTION if match[3] else FailureCode.APP_EXIT
    exit_code = int(match[4]) if match[4] else None
    return Verdict(Outcome.FAILED, at, raw=raw, named_pod=match[2], named_code=code, named_exit=exit_code)


def failure_of(verdict: Verdict, pods: Iterable[Pod], ranks: Mapping[str, int], lost: LostNodes) -> Failure:
    """The earliest failing pod. ``ranks``: of pods by name; the verdict may name one that is gone."""
    if verdict.code is not None:
        return Failure(verdict.code, at=verdict.at, raw=verdict.raw)
    found = {pod.metadata.name: seen for pod in pods if (seen := failing(pod, ranks[pod.metadata.name], lost))}
    first = min(found.values(), key=lambda seen: seen.order, default=None)
    chosen = first.failure if first is not None else None
    named = _named(verdict, found[verdict.named_pod].failure if verdict.named_pod in found else None)
    if named is not None and (chosen is None or _is_to_blame(named, chosen)):
        chosen = named
    return chosen if chosen is not None else Failure(FailureCode.UNKNOWN, at=verdict.at, raw=verdict.raw)


def _named(verdict: Verdict, seen: Failure | None) -> Failure | None:
    """The pod that the Job's controller names, with what else is known of it."""
    if verdict.named_code is None:
        return None
    if seen is None:
        rank = rank_in_name(verdict.named_pod)
        return Failure(verdict.named_code, rank=rank, exit_code=verdict.named_exit, at=verdict.at, raw=verdict.raw)
    if verdict.named_code is FailureCode.DISRUPTION and seen.code not in INFRASTRUCTURE_FAILURES:
        return replace(seen, code=FailureCode.DISRUPTION, exit_code=None, raw=verdict.raw)
    return seen


def _is_to_blame(named: Failure, first: Failure) -> bool:
    """The named pod was taken away; its time may be that of its end, so the first exit may lie before it."""
    if named.code not in INFRASTRUCTURE_FAILURES or first.code in INFRASTRUCTURE_FAILURES:
        return False
    return named.at is None or first.at is None or named.at - first.at <= BLAMED_ON_A_SIBLING


def rank_in_name(pod: str) -> int | None:
    """The rank in the name of an indexed Job's pod, `<job>-<rank>-<suffix>`."""
    parts = pod.rsplit("-", 2)
    return (
        int(parts[1]) if len(parts) == 3 and parts[1].isascii() and parts[1].isdigit() and len(parts[1]) < 9 else None
    )
