"""R25: people and workers race for one job; whatever the order, its history is one that the model allows.

Workers take a job, and act on what they saw only later; meanwhile people ask for everything, twice if they like, and
the cluster goes on. SLUICE_RACES_EXAMPLES sets how many histories are tried: `make races` tries ten thousand.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar

import pytest
import time_machine
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from accounts.models import AuditEvent
from clusters.backends.sandbox.facts import from_ms, to_ms
from clusters.simulation.world import Stage
from clusters.sync import cluster_sync
from common.errors import DomainError
from jobs.domain.operations import Operation
from jobs.logs import collect_logs
from jobs.models import Attempt, Job, JobEvent
from jobs.reconcile.claims import Claim, claim_due, claim_jobs
from jobs.reconcile.load import Loaded, load
from jobs.reconcile.loop import reconcile_loaded, sweep
from jobs.services.operations import job_operate
from jobs.services.submit import job_submit
from tests.faults.seeds.cluster import SimulatedCluster, on_stage
from tests.faults.seeds.play import BEGIN
from tests.faults.seeds.scene import Scene, build_scene

EXAMPLES = int(os.environ.get("SLUICE_RACES_EXAMPLES", "250"))
CHUNK = 125
"""Histories of one test, which follow from its number alone, so that a parallel run can be spread and repeated."""
STEPS = 16
ASKED = [operation for operation in Operation if operation is not Operation.SCALE]
ENDED = frozenset({"succeeded", "failed", "cancelled"})
HOLDS_CARDS = frozenset({"creating", "running"})
SHOWN_AFTER = {
    "queued": {"queued", "creating", "running", "retrying", *ENDED},
    "creating": {"queued", "creating", "running", "retrying", *ENDED},
    "running": {"queued", "creating", "running", "retrying", *ENDED},
    "retrying": {"queued", "creating", "running", "retrying", *ENDED},
    **{end: {end} for end in ENDED},
}
"""What may be shown after what within one attempt: an end is an end."""


@dataclass
class Model:
    """What people have asked for and been told, and what follows from it."""

    cancelling: bool = False
    requeuing: bool = False
    held: bool = False
    resting: bool = False
    priority: str = "normal"
    acts: int = 1  # the submit
    restarts: int = 0
    shown: str = "queued"
    attempt: int = 1

    def answer(self, operation: Operation, data: dict[str, Any]) -> str | None:
        """The refusal that must be given, '' for a yes that changes nothing, None for one that is recorded."""
        if operation is Operation.RESTART:
            return "still_active" if self.shown not in ENDED else None
        if self.shown in ENDED:
            return "already_ended"
        if operation is Operation.CANCEL:
            return "" if self.cancelling else None
        if self.cancelling:
            return "being_cancelled"
        if operation is Operation.PRIORITY:
            return "" if data["priority"] == self.priority else None
        if self.requeuing:
            return "" if operation is Operation.REQUEUE else "being_requeued"
        return self._answer_live(operation)

    def _answer_live(self, operation: Operation) -> str | None:
        match operation:
            case Operation.HOLD:
                return "" if self.held else None
            case Operation.RESUME:
                return None if self.held or self.resting else "not_held"
            case Operation.PREEMPT if self.resting:
                return "gives_way"
            case Operation.PREEMPT if self.held:
                return "is_held"
            case Operation.PREEMPT:
                return None if self.shown in HOLDS_CARDS else "holds_no_cards"
            case Operation.REQUEUE if self.held:
                return "is_held"
            case Operation.REQUEUE if self.resting:
                return "gives_way"
        return None

    def record(self, operation: Operation, data: dict[str, Any]) -> None:
        self.acts += 1
        match operation:
            case Operation.CANCEL:
                self.cancelling, self.resting = True, False
            case Operation.HOLD:
                self.held = True
            case Operation.RESUME if self.held:
                self.held = False
            case Operation.RESUME:
                self.resting = False
            case Operation.PREEMPT:
                self.resting = True
            case Operation.REQUEUE:
                self.requeuing = True
            case Operation.PRIORITY:
                self.priority = data["priority"]
            case Operation.RESTART:
                self.cancelling = self.requeuing = self.held = self.resting = False
                self.restarts += 1
                self.shown, self.attempt = "queued", self.attempt + 1


@dataclass
class Step:
    """A worker in the middle of its step: what it took, and what it saw then."""

    claim: Claim
    loaded: list[Any] = field(default_factory=list)


class Races(RuleBasedStateMachine):
    """One job between people, workers and a cluster."""

    scene: ClassVar[Scene]

    @initialize(
        seconds=st.sampled_from((1, 8, 600)),
        code=st.sampled_from((0, 3)),
        cards=st.sampled_from((0, 2, 8)),
        retries=st.integers(0, 1),
        passes=st.sampled_from((0, 1, 4)),
    )
    def begin(self, seconds: int, code: int, cards: int, retries: int, passes: int) -> None:
        """The race begins after so many undisturbed passes: at the submit, in the queue, while it runs or has ended."""
        self.model = Model()
        self.steps: list[Step] = []
        self.at_ms = self.scene.world.now_ms
        self._atomic = transaction.atomic()
        self._atomic.__enter__()
        self._travel = time_machine.travel(from_ms(self.at_ms), tick=False)
        self._clock = self._travel.__enter__()
        self.cluster = SimulatedCluster(self.scene.fresh_world(7), lambda: self.at_ms, lambda call: None)
        self._on_stage = on_stage(self.cluster)
        self._on_stage.__enter__()
        self.body = {
            "framework": "pytorch",
            "image": "registry.example/bert:1.0",
            "cards": cards,
            "priority": "normal",
            "command": f"sleep {seconds}; exit {code}",
            "retry_limit": retries,
        }
        self.ulid = job_submit(actor=self.scene.actors["ada"], data=self.body, idempotency_key="k").job.public_id
        for _ in range(passes):
            self._one_pass(3.0)

    def teardown(self) -> None:
        if not hasattr(self, "ulid"):
            return
        try:
            self._settle()
        finally:
            self._on_stage.__exit__(None, None, None)
            self._travel.__exit__(None, None, None)
            transaction.set_rollback(True)
            self._atomic.__exit__(None, None, None)

    # people

    @rule()
    def submit_again(self) -> None:
        again = job_submit(actor=self.scene.actors["ada"], data=self.body, idempotency_key="k")
        assert not again.created and again.job.public_id == self.ulid

    @rule(operation=st.sampled_from(ASKED), twice=st.booleans())
    def ask(self, operation: Operation, twice: bool) -> None:
        for _ in range(2 if twice else 1):
            data = self._data(operation)
            expected = self.model.answer(operation, data)
            try:
                job_operate(actor=self.scene.actors["lee"], job=self._job(), operation=operation, data=data)
            except DomainError as refusal:
                assert refusal.code == expected, (operation, expected)
            else:
                assert not expected, (operation, expected)
                if expected is None:
                    self.model.record(operation, data)

    def _data(self, operation: Operation) -> dict[str, Any]:
        if operation is Operation.PREEMPT:
            return {"until": (timezone.now() + timedelta(seconds=20)).isoformat()}
        return {"priority": "low" if self.model.acts % 2 else "normal"} if operation is Operation.PRIORITY else {}

    # workers

    @rule()
    def look(self) -> None:
        cluster_sync(self.scene.cluster)

    @rule()
    def sweep(self) -> None:
        sweep()

    @rule()
    def collect(self) -> None:
        collect_logs()

    @precondition(lambda self: len(self.steps) < 2)
    @rule(rung=st.booleans())
    def take(self, rung: bool) -> None:
        """A worker takes the job and reads it, and is held up."""
        now = timezone.now()
        claim = claim_jobs([self._job().pk], now) if rung else claim_due(now, 10)
        if claim.job_ids:
            self.steps.append(Step(claim, list(load(claim.job_ids))))

    @precondition(lambda self: self.steps)
    @rule(first=st.booleans())
    def carry_out(self, first: bool) -> None:
        """It goes on with what it saw then, perhaps after its lease, when another has the job."""
        step = self.steps.pop(0 if first else -1)
        assert all(isinstance(loaded, Loaded) for loaded in step.loaded)
        reconcile_loaded(step.claim, step.loaded)

    @rule(operation=st.sampled_from(ASKED), seconds=st.sampled_from((0.0, 2.0, 31.0)))
    def ask_in_the_middle(self, operation: Operation, seconds: float) -> None:
        """A worker sees the job, somebody asks for something, and then it acts on what it saw."""
        claim = claim_jobs([self._job().pk], timezone.now())
        seen = load(claim.job_ids)
        self._pass_time(seconds)
        self.ask(operation, twice=False)
        reconcile_loaded(claim, seen)

    @rule(seconds=st.sampled_from((1.0, 4.0)))
    def go_on(self, seconds: float) -> None:
        self._one_pass(seconds)

    @rule(seconds=st.sampled_from((0.2, 1.0, 4.0, 31.0)))
    def wait(self, seconds: float) -> None:
        self._pass_time(seconds)

    # what always holds

    @invariant()
    def the_history_is_legal(self) -> None:
        if not hasattr(self, "ulid"):
            return
        job, model = self._job(), self.model
        assert job.attempt_no >= model.attempt
        if job.attempt_no == model.attempt:
            assert job.state in SHOWN_AFTER[model.shown], (model.shown, job.state)
        else:  # a requeue that was carried out, or a retry
            model.requeuing = False
        model.shown, model.attempt = job.state, job.attempt_no
        if model.shown in ENDED:
            assert job.state != "cancelled" or model.cancelling
            model.requeuing = model.resting = False
            model.held = model.held and job.held
        if model.resting and job.rests_until is None:
            model.resting = False  # its time is over
        assert job.held == model.held
        assert (job.rests_until is not None) == model.resting
        assert job.priority == model.priority
        assert job.generation == model.acts

    @invariant()
    def one_object_at_most_holds_cards(self) -> None:
        if hasattr(self, "ulid"):
            world = self.cluster.run()
            holders = [w.name for w in world.workloads.values() if w.holds_quota or w.waits]
            assert len(holders) <= 1, holders

    def _settle(self) -> None:
        """Everybody goes on undisturbed: what was asked for last is what comes true."""
        for seconds in (0.5, 31.0, 2.0, 31.0, 6.0):
            self._one_pass(seconds)
        self.the_history_is_legal()
        job, model = self._job(), self.model
        live = [w for w in self.cluster.run().workloads.values() if w.stage is not Stage.FINISHED and not w.deleting]
        if model.cancelling:
            assert job.state in ENDED and live == []
        elif model.shown not in ENDED and model.held:
            assert (job.state, job.is_held) == ("queued", True)
            assert not any(w.holds_quota or w.waits for w in live)
        elif model.shown not in ENDED:
            assert len(live) == 1 or model.shown == "retrying", model
            assert all(w.spec.attempt == job.attempt_no for w in live)
        assert Attempt.objects.filter(job=job).count() == job.attempt_no
        acts = AuditEvent.objects.filter(target_id=self.ulid, actor__isnull=False).count()
        events = JobEvent.objects.filter(job=job, actor__isnull=False).count()
        assert acts == events == model.acts

    def _job(self) -> Job:
        return Job.objects.get(public_id=self.ulid)

    def _one_pass(self, seconds: float) -> None:
        self._pass_time(seconds)
        cluster_sync(self.scene.cluster)
        sweep()
        collect_logs()

    def _pass_time(self, seconds: float) -> None:
        self.at_ms += round(seconds * 1000)
        self._clock.move_to(from_ms(self.at_ms))


@pytest.fixture
def scene(db: None) -> Iterator[Scene]:
    with time_machine.travel(BEGIN, tick=False):
        scene = build_scene(to_ms(BEGIN))
    logging.disable(logging.CRITICAL)
    yield scene
    logging.disable(logging.NOTSET)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("number", range(-(-EXAMPLES // CHUNK)))
def test_people_and_workers_who_race_for_a_job_make_only_legal_histories(scene: Scene, number: int) -> None:
    """R25: every operation of a training job, some asked twice, against submit, admission, retry and end."""
    Races.scene = scene
    run_state_machine_as_test(
        seed(number)(Races),
        settings=settings(
            max_examples=min(CHUNK, EXAMPLES - number * CHUNK),
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
