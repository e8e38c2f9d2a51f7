"""Plays a scenario on any cluster, through a driver that owns time and faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from clusters.contract import Outcome, PodPhase, WorkloadFacts
from tests.backends import scenario_words as s

Facts = Mapping[str, WorkloadFacts]
"""Facts by the scenario's job name. ``evicted_by`` is the beneficiary's ``Job.ulid``."""


class ScenarioDriver(Protocol):
    """What a cluster under test must be able to do. Every call returns before anything else happens."""

    def build(self, cluster: s.ClusterDef) -> None:
        """Nodes ``n1``… of group ``scenario_words.GROUP``, team queues and pool as given."""

    def submit(self, job: s.Job) -> None:
        """Create a job that runs until :meth:`exit_pod`. Jobs of one step need not reach the gate together."""

    def scale(self, job: str, replicas: int) -> None: ...
    def hold(self, job: str) -> None: ...
    def resume(self, job: str) -> None: ...
    def cancel(self, job: str) -> None: ...

    def exit_pod(self, job: str, rank: int, code: int) -> None:
        """A running pod exits by itself; one that does not run is left alone."""

    def evict_pod(self, job: str, rank: int) -> None: ...
    def cordon(self, node: str, cordoned: bool) -> None: ...
    def hold_queue(self, queue: str, held: bool, drain: bool) -> None: ...

    def hold_local_queues(self, queue: str, held: tuple[str, ...]) -> None:
        """As the console brings it: in the plan of quotas."""

    def until_leaving(self, job: str) -> None:
        """Return while the job is told to leave and holds its quota; go on with the next :meth:`settle`."""

    def settle(self, done: Callable[[Facts], bool]) -> Facts:
        """Let the cluster come to rest and tell its facts.

        A driver on real time may return early once ``done`` holds; it gives up after a while and returns what it
        sees, and never returns a state that is still moving.
        """


def play(scenario: s.Scenario, driver: ScenarioDriver) -> None:
    """Play all steps and compare at every checkpoint."""
    driver.build(scenario.cluster)
    jobs: dict[str, s.Job] = {}
    for step in scenario.steps:
        match step:
            case s.Submit():
                for job in step.jobs:
                    jobs[job.name] = job
                    driver.submit(job)
            case s.Settle():
                driver.settle(lambda _: True)
            case s.Scale():
                driver.scale(step.job, step.replicas)
            case s.HoldJob():
                driver.hold(step.job)
            case s.ResumeJob():
                driver.resume(step.job)
            case s.Cancel():
                driver.cancel(step.job)
            case s.Exit():
                ranks = range(jobs[step.job].pods) if step.rank is None else (step.rank,)
                for rank in ranks:
                    driver.exit_pod(step.job, rank, step.code)
            case s.EvictPod():
                driver.evict_pod(step.job, step.rank)
            case s.Cordon():
                driver.cordon(step.node, step.cordoned)
            case s.HoldQueue():
                driver.hold_queue(step.queue, step.held, step.drain)
            case s.HoldLocalQueues():
                driver.hold_local_queues(step.queue, step.held)
            case s.UntilLeaving():
                driver.until_leaving(step.job)
            case s.Checkpoint():
                wanted = expected(step, jobs)
                seen = observed(driver.settle(lambda facts: observed(facts, step) == wanted), step)  # noqa: B023
                assert seen == wanted, f"{scenario.key}, {step.name}"


def expected(checkpoint: s.Checkpoint, jobs: Mapping[str, s.Job]) -> dict[str, object]:
    return {
        "admitted": set(checkpoint.admitted),
        "running": set(checkpoint.admitted if checkpoint.running is None else checkpoint.running),
        "waiting": dict(checkpoint.waiting),
        "held": set(checkpoint.held),
        "unplaceable": set(checkpoint.unplaceable),
        "succeeded": set(checkpoint.succeeded),
        "failed": dict(checkpoint.failed),
        "victims": {
            name: (victim.cause, jobs[victim.by].ulid if victim.by else None, victim.times)
            for name, victim in checkpoint.victims.items()
        },
        "numbers": dict(checkpoint.numbers),
        "replicas": dict(checkpoint.replicas),
    }


def observed(facts: Facts, checkpoint: s.Checkpoint) -> dict[str, object]:
    """The same shape as :func:`expected`, from facts; what a checkpoint leaves open is left open here."""
    return {
        "admitted": {name for name, fact in facts.items() if is_admitted(fact)},
        "running": {name for name, fact in facts.items() if is_running(fact)},
        "waiting": {name: _wait_code(name, fact, checkpoint) for name, fact in facts.items() if is_waiting(fact)},
        "held": {name for name, fact in facts.items() if not fact.active and fact.outcome is None},
        "unplaceable": {name for name, fact in facts.items() if fact.unplaceable},
        "succeeded": {name for name, fact in facts.items() if fact.outcome is Outcome.SUCCEEDED},
        "failed": {name: _failed(name, fact, checkpoint) for name, fact in facts.items() if fact.failure is not None},
        "victims": {
            name: (fact.eviction_cause, fact.evicted_by, fact.evictions)
            for name, fact in facts.items()
            if fact.evictions
        },
        "numbers": {name: _numbers(facts[name], wanted) for name, wanted in checkpoint.numbers.items()},
        "replicas": {name: facts[name].admitted_pods for name in checkpoint.replicas},
    }


def is_admitted(fact: WorkloadFacts) -> bool:
    if fact.admitted_at is None or fact.outcome is not None or fact.ending:
        return False
    return fact.evicted_at is None or fact.admitted_at > fact.evicted_at


def is_running(fact: WorkloadFacts) -> bool:
    return (
        is_admitted(fact)
        and len(fact.pods) == fact.wanted_pods
        and all(pod.phase is PodPhase.RUNNING for pod in fact.pods)
    )


def is_waiting(fact: WorkloadFacts) -> bool:
    return fact.active and fact.outcome is None and not is_admitted(fact)


def _wait_code(name: str, fact: WorkloadFacts, checkpoint: s.Checkpoint) -> object:
    if checkpoint.waiting.get(name) is None:
        return None
    return fact.wait.code if fact.wait else "no word of the gate"


def _failed(name: str, fact: WorkloadFacts, checkpoint: s.Checkpoint) -> s.Failed:
    assert fact.failure is not None
    wanted = checkpoint.failed.get(name, s.Failed(fact.failure.code))
    return s.Failed(
        fact.failure.code,
        None if wanted.rank is None else fact.failure.rank,
        None if wanted.exit_code is None else fact.failure.exit_code,
    )


def _numbers(fact: WorkloadFacts, wanted: s.Numbers) -> s.Numbers:
    wait = fact.wait
    if wait is None:
        return s.Numbers()
    return s.Numbers(
        asked=None if wanted.asked is None else wait.asked,
        nominal=None if wanted.nominal is None else wait.nominal,
        used=None if wanted.used is None else wait.used,
        maximum=None if wanted.maximum is None else wait.maximum,
    )
