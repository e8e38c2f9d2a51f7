"""One seed: people, workers and a cluster in an order that only the seed decides, with everything that may go wrong.

The product's own code runs on PostgreSQL; the clock, the cluster and every choice belong to the seed, and all rows
are undone afterwards. The same seed plays the same, so that a failure can be looked at as often as it takes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from unittest import mock

import time_machine
from django.db import OperationalError, transaction
from django.utils import timezone
from ulid import ULID

from clusters.backends.sandbox.facts import from_ms, observed_objects
from clusters.contract import Observation
from clusters.models import Cluster
from clusters.simulation.commands import Command, Cordon, Delete, EvictPod, NodePower, Sicken
from clusters.simulation.world import Stage
from clusters.sync import cluster_sync, follow, sync_due
from common import faults, ids
from common.errors import DomainError, NotAllowed
from jobs.domain.operations import Operation
from jobs.domain.words import TERMINAL_STATES, Desired
from jobs.logs import collect_logs
from jobs.models import Job
from jobs.reconcile.loop import reconcile_jobs, sweep
from jobs.services.operations import job_operate
from jobs.services.submit import job_submit
from tests.faults.invariants import Acknowledged, at_rest, violations
from tests.faults.rehearsal import Died
from tests.faults.seeds.cluster import SimulatedCluster, Trouble, on_stage
from tests.faults.seeds.scene import LEADS, PEOPLE, Scene
from tests.faults.truth import quota_problems

BEGIN = datetime(2026, 3, 28, 23, 58, tzinfo=UTC)
"""Two minutes before the clocks of half of Europe are put forward."""

STEPS = (6, 14)
CALM = (2.0, 31.0, 3.0, 10.0, 10.0, 35.0, 5.0, 10.0, 30.0, 5.0, 30.0, 30.0, 60.0, 5.0, 60.0, 60.0, 60.0)
"""Seconds between the passes once nothing goes wrong any more; the lease of a dead worker ends in the second."""

PHOTO_AFTER = 31.0
PHOTO_EVERY = 4
"""Of every fourth seed the quotas are compared in the middle, while jobs still run."""


@dataclass
class Person:
    """What somebody knows of a job: its program, and what makes other ends right."""

    owner: str
    ends: set[str]
    endless: bool


@dataclass
class Play:
    """The state of one seed."""

    scene: Scene
    seed: int
    clock: Any
    rng: Random = field(init=False)
    cluster: SimulatedCluster = field(init=False)
    told: Acknowledged = field(default_factory=Acknowledged)
    people: dict[str, Person] = field(default_factory=dict)
    trace: list[str] = field(default_factory=list)
    faults: int = 0
    true_ms: int = 0
    ahead_ms: int = 0  # of the console's clock
    away: bool = False
    is_calm: bool = False
    looks: list[Observation] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = Random(self.seed)
        self.true_ms = self.scene.world.now_ms
        self.cluster = SimulatedCluster(self.scene.fresh_world(self.seed), lambda: self.true_ms, self._trouble)

    # ------------------------------------------------------------------- the play

    def run(self) -> list[str]:
        for _ in range(self.rng.randint(*STEPS)):
            self._pass_time(self.rng.choice((0.0, 0.3, 1.0, 2.0, 5.0, 12.0)))
            self._weighted(
                (6, self._look), (6, self._sweep), (2, self._logs), (3, self._hint), (2, self._hear),
                (4, self._submit), (5, self._operate), (1, self._trespass),
                (2, self._cluster_turns), (2, self._weather_turns), (1, self._clock_steps),
            )()  # fmt: skip
        self._calm_down()
        return self.problems

    def _weighted(self, *choices: tuple[int, Callable[[], None]]) -> Callable[[], None]:
        weights, acts = zip(*choices, strict=True)
        act: Callable[[], None] = self.rng.choices(acts, weights)[0]
        return act

    def _note(self, text: str) -> None:
        self.trace.append(f"{self.true_ms - self.scene.world.now_ms:>7} {text}")

    def _pass_time(self, seconds: float) -> None:
        self.true_ms += round(seconds * 1000)
        self.clock.move_to(from_ms(self.true_ms + self.ahead_ms))

    # ------------------------------------------------------------------- workers

    def _look(self) -> None:
        self._process("look", sync_due)

    def _sweep(self) -> None:
        self._process("sweep", sweep)

    def _logs(self) -> None:
        self._process("logs", collect_logs)

    def _hint(self) -> None:
        """A doorbell, perhaps an old one, perhaps for a job that somebody has."""
        if (job := self._any_job()) is not None:
            self._process("hint", lambda: reconcile_jobs([job.pk]))

    def _hear(self) -> None:
        """A watch tells some of what changed: late, twice, in the wrong order, or not all of it."""
        world = self.cluster.run()
        self.looks.append(Observation(timezone.now(), complete=False, objects=tuple(observed_objects(world))))
        told = self.rng.choice(self.looks[-3:])
        kept = tuple(row for row in told.objects if self.rng.random() < 0.7)
        seen = {(row.job_ulid, row.attempt) for look in self.looks[-3:] for row in look.objects}
        gone = tuple(sorted(seen - {(row.job_ulid, row.attempt) for row in self.looks[-1].objects}))
        partial = Observation(told.read_at, complete=False, objects=kept, gone=gone if self.rng.random() < 0.5 else ())
        self.cluster.to_be_told = [partial]
        self._process("hear", lambda: follow(Cluster.objects.get(), lambda: False))

    def _process(self, name: str, task: Callable[[], object]) -> None:
        """One task in a process of its own, which may die, stall or lose its database at any point."""
        with self._mishap(name):
            task()

    @contextmanager
    def _mishap(self, name: str) -> Iterator[None]:
        kind = "" if self.is_calm else self.rng.choices(("", "dies", "stalls", "is thrown out"), (50, 15, 25, 10))[0]
        self._note(f"{name} {kind}")
        if not kind:
            yield
            return
        left = self.rng.randrange(4 if kind == "stalls" else 10)

        def reach(point: str) -> None:
            nonlocal left
            if kind == "stalls" and not _outside_a_transaction(point):
                return
            left -= 1
            if left == -1:
                self._happens(kind, name, point)

        try:
            with faults.handler(reach):
                yield
        except (Died, OperationalError) as end:
            self._note(f"{name}: {end}")

    def _happens(self, kind: str, name: str, point: str) -> None:
        if kind == "stalls":
            self.faults += 1
            self._note(f"{name} stalls at {point}")
            with faults.handler(lambda _point: None):
                self._meanwhile(name)
            self._note(f"{name} goes on")
            return
        self.faults += 1
        if kind == "dies":
            raise Died(f"dies at {point}")
        raise OperationalError(f"thrown out at {point}")

    def _meanwhile(self, name: str) -> None:
        """What others do while one stalls; a session's own lock does not keep out the same session, so not the same."""
        look = () if name in {"look", "hear"} else (sync_due,)
        acts: tuple[Callable[[], object], ...] = (self._person_acts,)
        if self.rng.random() < 0.5:  # longer than its lease, so that another takes up what it has
            self._pass_time(31.0)
            acts = (*look, sweep, self._person_acts, sweep, *look, sweep)
        for act in acts:
            self._pass_time(self.rng.choice((0.0, 1.5, 4.0)))
            self._note(f"  meanwhile {act.__name__}")
            try:
                act()
            except OperationalError as error:
                self._note(str(error))

    # ------------------------------------------------------------------- people

    def _submit(self) -> None:
        if len(self.people) >= 3:
            return self._operate()
        owner = self.rng.choice(("ada", "kim"))
        body = self._body()
        key = f"key {len(self.people)}"
        known = len(self.people)
        for _ in range(self.rng.choice((1, 2, 3))):  # again while nobody answers, and sometimes once more
            with self._mishap("submit"):
                self._send(owner, body, key)
        if len(self.people) == known:
            self._send(owner, body, key)
        return None

    def _send(self, owner: str, body: dict[str, Any], key: str) -> None:
        done = job_submit(actor=self.scene.actors[owner], data=body, idempotency_key=key)
        self._remember(done.job, owner, body)

    def _body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"framework": "pytorch", "image": "registry.example/bert:1.0"}
        body["cards"] = self.rng.choice((0, 1, 2, 4, 6, 8))
        body["priority"] = self.rng.choice(("low", "normal", "normal"))
        if self.rng.random() < 0.15:
            return {**body, "cards": 1, "kind": "inference", "replicas": self.rng.randint(1, 3), "command": "serve"}
        seconds = self.rng.choice((0, 1, 4, 9, 15, 600))
        body["command"] = f"sleep {seconds}; exit {self.rng.choice((0, 0, 3))}"
        body["retry_limit"] = self.rng.choice((0, 1))
        return body

    def _remember(self, job: Job, owner: str, body: dict[str, Any]) -> None:
        if job.public_id in self.people:
            return
        endless = body["command"] == "serve" or "600" in body["command"]
        ends = set() if endless else {"succeeded" if body["command"].endswith("exit 0") else "failed"}
        self.people[job.public_id] = Person(owner, ends, endless)
        self.told.jobs[job.public_id] = ends
        self.told.act(job.public_id, "job.submit")

    def _operate(self) -> None:
        if (job := self._any_job()) is None:
            return self._submit()
        operation = self.rng.choice(tuple(Operation))
        for _ in range(self.rng.choice((1, 1, 2))):  # a double click
            with self._mishap(f"{operation.value}"):
                self._ask(job.public_id, operation)
        return None

    def _person_acts(self) -> None:
        if (job := self._any_job()) is not None:
            self._ask(job.public_id, self.rng.choice(tuple(Operation)))

    def _ask(self, ulid: str, operation: Operation) -> None:
        """Ask once. What was recorded counts, also when the answer was lost."""
        job = Job.objects.get(public_id=ulid)
        owner = self.people[ulid].owner
        who = LEADS[PEOPLE[owner][0]] if operation in {Operation.PREEMPT, Operation.RESUME} else owner
        try:
            job_operate(actor=self.scene.actors[who], job=job, operation=operation, data=self._particulars(operation))
            self._note(f"{operation.value} answered")
        except DomainError as refusal:
            self._note(f"{operation.value} refused: {refusal.code}")
        finally:
            self._count(job, operation)

    def _count(self, before: Job, operation: Operation) -> None:
        after = Job.objects.get(pk=before.pk)
        if after.generation == before.generation:
            return
        self.told.act(before.public_id, f"job.{operation.value}")
        if operation is Operation.CANCEL:
            self.people[before.public_id].ends.add("cancelled")

    def _particulars(self, operation: Operation) -> dict[str, Any]:
        match operation:
            case Operation.PREEMPT:
                return {"until": (timezone.now() + timedelta(seconds=self.rng.choice((5, 40)))).isoformat()}
            case Operation.PRIORITY:
                return {"priority": self.rng.choice(("low", "normal"))}
            case Operation.SCALE:
                return {"replicas": self.rng.randint(1, 3)}
        return {}

    def _trespass(self) -> None:
        """Somebody of another team asks, whatever is broken at the moment (I8)."""
        if (job := self._any_job()) is None:
            return
        owner = self.people[job.public_id].owner
        stranger = "kim" if owner == "ada" else "ada"
        operation = self.rng.choice(tuple(Operation))
        try:
            job_operate(actor=self.scene.actors[stranger], job=job, operation=operation)
        except NotAllowed:
            return
        self.problems.append(f"I8: {stranger} may {operation.value} a job of {owner}")

    def _any_job(self) -> Job | None:
        ulids = sorted(self.people)
        return Job.objects.get(public_id=self.rng.choice(ulids)) if ulids else None

    # ------------------------------------------------------------------- what else may happen

    def _trouble(self, call: str) -> Trouble | None:
        """What becomes of this call."""
        if self.is_calm:
            return None
        if self.away:
            self.faults += 1
            return Trouble.AWAY
        if self.rng.random() < 0.85:
            return None
        self.faults += 1
        trouble = self.rng.choice([t for t in Trouble if t is not Trouble.AWAY])
        self._note(f"  {call}: {trouble.value}")
        return trouble

    def _weather_turns(self) -> None:
        self.away = not self.away
        self._note("the cluster is away" if self.away else "the cluster is back")

    def _clock_steps(self) -> None:
        self.ahead_ms += round(1000 * self.rng.choice((3_600, 60, 5, 0.7, -0.7, -5, -60, -3_600)))
        self.faults += 1
        self._pass_time(0)
        self._note(f"the clock is {self.ahead_ms / 1000} s ahead")

    def _cluster_turns(self) -> None:
        world = self.cluster.run()
        node = self.rng.choice(sorted(world.nodes))
        live = sorted(name for name, w in world.workloads.items() if w.stage is Stage.ADMITTED)
        name = self.rng.choice(live) if live else ""
        make: Callable[[int], Command] = self.rng.choice(
            (
                lambda at: Cordon(at, node, self.rng.random() < 0.5),
                lambda at: NodePower(at, node, up=self.rng.random() < 0.4),
                lambda at: Sicken(at, node, self.rng.randint(0, 4)),
                lambda at: EvictPod(at, name, 0),
                lambda at: Delete(at, name, 0),
            )
        )
        command = make(self.true_ms)
        self.faults += 1
        self._note(repr(command))
        if isinstance(command, NodePower | EvictPod | Delete):
            for person in self.people.values():  # whom it meets is seen at the end only
                person.ends.add("failed")
        self.cluster.engine.apply(command)
        self.cluster.run()

    # ------------------------------------------------------------------- the end

    def _calm_down(self) -> None:
        """Nothing goes wrong any more, and people bring what they began to its end."""
        self._note("calm")
        self.is_calm, self.away = True, False
        for name in sorted(self.cluster.world.nodes):
            for command in (NodePower(self.true_ms, name, up=True), Cordon(self.true_ms, name, cordoned=False)):
                self.cluster.engine.apply(command)
            self.cluster.engine.apply(Sicken(self.true_ms, name, 0))
        self._let_go()
        for seconds in CALM:
            self._pass_time(seconds)
            for task in (sync_due, sweep, collect_logs):
                task()
            if seconds == PHOTO_AFTER and self.seed % PHOTO_EVERY == 0:
                self._photograph()
            states = list(Job.objects.order_by("pk").values_list("public_id", "state", "reason_code", "attempt_no"))
            self._note(f"{states}")
            if all(state in TERMINAL_STATES for _, state, _, _ in states) and self._is_at_rest():
                break
        self.cluster.testify(self.scene.cluster)
        self.problems += violations(self.told, faults=self.faults + sum(self.told.acts.values()))

    def _photograph(self) -> None:
        """Right after a look, what is told of quotas is what the cluster has (I9). Leaves no trace."""
        with transaction.atomic():
            cluster_sync(self.scene.cluster)
            self.cluster.show(self.scene.cluster)
            self.problems += [f"I9: {problem}" for problem in quota_problems()]
            transaction.set_rollback(True)

    def _let_go(self) -> None:
        for ulid, person in sorted(self.people.items()):
            job = Job.objects.get(public_id=ulid)
            if job.state in TERMINAL_STATES or job.desired == Desired.CANCEL:
                continue
            if person.endless:
                self._ask(ulid, Operation.CANCEL)
                continue
            for is_out in (job.held, job.rests_until is not None):
                if is_out:
                    self._ask(ulid, Operation.RESUME)

    def _is_at_rest(self) -> bool:
        return not self.cluster.world.workloads and at_rest()


def _outside_a_transaction(point: str) -> bool:
    return point in {"claim.after", "writeback.before", "sync.observe.after", "logs.read.after"} or ".call." in point


@dataclass(frozen=True)
class Result:
    """What one seed came to. ``digest`` is that of everything that was done."""

    seed: int
    problems: Sequence[str]
    trace: Sequence[str]

    @property
    def digest(self) -> str:
        return hashlib.sha256("\n".join(self.trace).encode()).hexdigest()


def play_seed(scene: Scene, seed: int) -> Result:
    """Play one seed and undo it."""
    names = Random(f"names {seed}")
    with (
        time_machine.travel(from_ms(scene.world.now_ms), tick=False) as clock,
        mock.patch.object(ids, "ULID", lambda: ULID.from_bytes(names.randbytes(16))),
        transaction.atomic(),
    ):
        play = Play(scene, seed, clock)
        with on_stage(play.cluster):
            play.run()
        transaction.set_rollback(True)
    return Result(seed, play.problems, play.trace)
