"""The whole product in virtual time: engine, reconcile rules and director, without a database and without waiting.

It makes the history of a fresh demo, fills the time in which a console was off, and shows in tests that the
director keeps its promises. Jobs that were there before (guests) run on in the engine; their rows belong to the
real loop, which reads their fate from the cluster afterwards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import blake2b

from ulid import ULID

from clusters.backends.sandbox.facts import from_ms, node_facts, to_ms, uid_of, workload_facts
from clusters.contract import NodeFacts, NodeHealth, WorkloadFacts
from clusters.domain.states import EMPTY_GROUP, GroupSnapshot, ObservedState, derive
from clusters.simulation.commands import Delete, EvictPod, ExitPod, NodePower, SetActive, Submit
from clusters.simulation.engine import Engine
from clusters.simulation.randomness import draw_between
from clusters.simulation.world import Workload
from console.demo.director import next_actions
from console.demo.played import STOP_GRACE, PlayedJob
from console.demo.situation import (
    Action,
    Crash,
    Disrupt,
    GroupSight,
    Holder,
    JobSight,
    NodeSight,
    Operate,
    Power,
    Request,
    Situation,
    SubmitJob,
)
from console.demo.water import Gauge, Levels, group_levels
from jobs.domain.moves import Effect, Move, Sight
from jobs.domain.operations import Operation
from jobs.domain.shape import shape_of
from jobs.domain.transitions import next_move
from jobs.domain.words import TERMINAL_STATES, JobState

STEPS_MAX = 4
"""A job takes at most so many steps at one moment; each follows from the one before."""
CLOSER_LOOK_MS = 15_000
"""After something was asked for, the loop looks so soon again, however long the steps of the director are."""


@dataclass(frozen=True, slots=True)
class Guest:
    """A job that is not the rehearsal's: what the director sees of it, but for what the cluster says."""

    sight: JobSight
    object_name: str


class Rehearsal:
    """Runs one engine. ``spaces`` maps each team to its space on the cluster."""

    def __init__(
        self,
        engine: Engine,
        seed: int,
        spaces: Mapping[str, str],
        guests: Iterable[Guest] = (),
        gauge: Gauge | None = None,
    ) -> None:
        self.engine = engine
        self.gauge = gauge
        self.jobs: dict[str, PlayedJob] = {}  # every one, by key
        self.workloads: dict[str, Workload] = {}  # newest object of each attempt, by name; also after its removal
        self._seed = seed
        self._spaces = spaces
        self._guests = {guest.object_name: guest for guest in guests}
        self._live: dict[str, PlayedJob] = {}
        self._owner: dict[str, PlayedJob] = {}  # by object name
        self._due: dict[str, int] = {}  # jobs to look at again although nothing is seen, by key
        self._nodes: dict[str, list[NodeFacts]] | None = None
        self._sights: dict[str, JobSight] = {}
        self._groups: dict[str, GroupSight] | None = None
        self._levels: Levels | None = None

    # time

    @property
    def now_ms(self) -> int:
        return self.engine.now_ms

    def play(self, until_ms: int, step_ms: int) -> None:
        """Let the director work until then, asking it about every ``step_ms``."""
        while self.now_ms < until_ms:
            step, started = step_ms, self.now_ms
            if step > CLOSER_LOOK_MS:  # people do not submit on the minute
                step = draw_between(step_ms * 2 // 3, step_ms * 4 // 3, self._seed, started, "step")
            if self.act(step) and step > CLOSER_LOOK_MS:
                self.look(min(until_ms, started + CLOSER_LOOK_MS))
            self.look(min(until_ms, started + step))

    def look(self, until_ms: int) -> None:
        """Run the cluster until then and let every job that changed, or is due, take its steps."""
        if self.gauge is not None:
            self.gauge.stands_until(until_ms, self.levels)
        self.engine.run_to(until_ms)
        changes = self.engine.drain_changes()
        if changes:
            self._nodes = self._groups = self._levels = None
        touched: dict[str, PlayedJob] = {}
        for name in sorted(changes.workloads | changes.removed_workloads):
            owner = self._owner.get(name)
            if owner is not None and owner.key in self._live and owner.attempt.object_name == name:
                touched[owner.key] = owner
        for name in changes.removed_workloads & self._owner.keys():
            self._owner[name].forget_object(name, from_ms(self.now_ms))
        for key in [key for key, due in self._due.items() if due <= self.now_ms]:
            if key in self._live:
                touched[key] = self._live[key]
            del self._due[key]
        for job in touched.values():
            self._step(job)

    def look_at_the_queue(self) -> None:
        """Let every waiting job take its steps now: its reason follows the nodes, not only its own object."""
        for job in list(self._live.values()):
            if job.state is JobState.QUEUED:
                self._step(job)

    # the director

    def act(self, step_ms: int) -> int:
        """Ask the director once and do what it says; returns how much that was."""
        actions = next_actions(self._seed, self.situation(step_ms))
        for action in actions:
            self.carry_out(action)
        return len(actions)

    def situation(self, step_ms: int) -> Situation:
        if self._groups is None:
            self._groups = self._group_sights()
        mine = [self._sights.get(key) or self._see(job) for key, job in self._live.items()]
        guests = [sight for guest in self._guests.values() if (sight := self._guest_sight(guest)) is not None]
        jobs = [job for job in (*guests, *mine) if job.state not in TERMINAL_STATES]
        return Situation(self.now_ms, step_ms, self._groups, tuple(jobs))

    def carry_out(self, action: Action) -> None:
        """One action; one about a job that is not ours, or not possible any more, does nothing."""
        match action:
            case SubmitJob(request):
                self._submit(request)
            case Operate(key, operation):
                self._operate(key, operation)
            case Disrupt(key):
                if key in self._live:
                    self.engine.apply(EvictPod(self.now_ms, self._live[key].attempt.object_name, 0))
            case Crash(key, code, cause):
                if key in self._live:
                    self.engine.apply(ExitPod(self.now_ms, self._live[key].attempt.object_name, 0, code, cause))
            case Power(node, up):
                self.engine.apply(NodePower(self.now_ms, node, up))

    def _submit(self, request: Request) -> None:
        now = from_ms(self.now_ms)
        group = self.engine.world.groups.get(request.group or "")
        job = PlayedJob(
            key=self._new_key(),
            request=request,
            shape=shape_of(
                request.cards, cards_per_node=self._cards_per_node(request.group), vendor=self._vendor(request)
            ),
            group_title=(group.title or group.name) if group is not None else "",
            space=self._spaces[request.team],
            submitted_at=now,
        )
        job.submit()
        self.jobs[job.key] = self._live[job.key] = job
        self._step(job)

    def _new_key(self) -> str:
        """A public id of this moment; the rest of it follows from the seed."""
        text = f"{self._seed}:{self.now_ms}:{len(self.jobs)}"
        tail = blake2b(text.encode(), digest_size=10).digest()
        return str(ULID(self.now_ms.to_bytes(6, "big") + tail))

    def _cards_per_node(self, group: str | None) -> int:
        sizes = [node.cards for node in self.engine.world.nodes.values() if node.group == group]
        return max(sizes, key=lambda size: (sizes.count(size), size), default=1)

    def _vendor(self, request: Request) -> str:
        group = self.engine.world.groups.get(request.group or "")
        return group.vendor if group is not None else ""

    def _operate(self, key: str, operation: Operation) -> None:
        job = self._live.get(key)
        if job is not None:
            job.operate(operation, from_ms(self.now_ms))
            self._step(job)

    # the loop

    def _step(self, job: PlayedJob) -> None:
        for _ in range(STEPS_MAX):
            facts, gone = self._facts_of(job)
            now = from_ms(self.now_ms)
            move = next_move(job.view(), Sight(facts, gone, complete_at=now), self._snapshot(job), now)
            self._note_object(job, facts)
            for effect in move.effects:
                self._apply(job, effect)
            if move.next_attempt:  # the ended object goes, as its log counts as read
                self.engine.apply(Delete(self.now_ms, job.attempt.object_name, 0))
            job.record(move, facts, now)
            self._plan(job, move, facts)
            if move.due_in != timedelta(0):
                break
        self._sights.pop(job.key, None)
        if job.is_over:
            del self._live[job.key]
            self._due.pop(job.key, None)

    def _facts_of(self, job: PlayedJob) -> tuple[WorkloadFacts | None, bool]:
        """(facts of the newest attempt's object, whether it was there and is gone)."""
        attempt = job.attempt
        workload = self.engine.world.workloads.get(attempt.object_name)
        if workload is None:
            return None, attempt.seen_at is not None
        self.workloads[attempt.object_name] = workload
        return workload_facts(self.engine.world, workload), False

    def _note_object(self, job: PlayedJob, facts: WorkloadFacts | None) -> None:
        attempt = job.attempt
        if facts is not None and attempt.seen_at is None:
            attempt.seen_at = from_ms(self.now_ms)
            attempt.uid = uid_of(self.workloads[attempt.object_name])

    def _apply(self, job: PlayedJob, effect: Effect) -> None:
        attempt, now_ms = job.attempt, self.now_ms
        match effect:
            case Effect.SUBMIT:
                self.engine.apply(Submit.of(now_ms, job.spec()))
                attempt.submitted_at = from_ms(now_ms)
                self._owner[attempt.object_name] = job
            case Effect.STOP:
                self.engine.apply(Delete(now_ms, attempt.object_name, round(STOP_GRACE.total_seconds() * 1_000)))
                attempt.stop_asked_at = from_ms(now_ms)
            case Effect.HOLD | Effect.RELEASE:
                self.engine.apply(SetActive(now_ms, attempt.object_name, active=effect is Effect.RELEASE))

    def _plan(self, job: PlayedJob, move: Move, facts: WorkloadFacts | None) -> None:
        """When to look again although nothing is seen. Waiting and running jobs only report what they see."""
        only_watches = facts is not None and not move.effects and not move.stopping and move.ending is None
        if move.due_in is None or (only_watches and move.state not in TERMINAL_STATES):
            return
        self._due[job.key] = self.now_ms + round(move.due_in.total_seconds() * 1_000)

    # what there is to see

    def levels(self) -> Levels:
        """The water level of every group."""
        if self._levels is None:
            self._levels = group_levels(self._nodes_by_group(), self._live.values())
        return self._levels

    def _nodes_by_group(self) -> dict[str, list[NodeFacts]]:
        if self._nodes is None:
            self._nodes = defaultdict(list)
            for facts in node_facts(self.engine.world):
                self._nodes[facts.node_group or ""].append(facts)
        return self._nodes

    def _snapshot(self, job: PlayedJob) -> GroupSnapshot:
        if job.request.group is None or job.state not in (JobState.QUEUED, JobState.RETRYING):
            return EMPTY_GROUP if job.request.group is None else GroupSnapshot(job.group_title)
        nodes = self._nodes_by_group()[job.request.group]
        return GroupSnapshot(job.group_title, tuple(node.free for node in nodes), self.engine.world.topology_aware)

    def _group_sights(self) -> dict[str, GroupSight]:
        world = self.engine.world
        held: dict[tuple[str, str], int] = defaultdict(int)
        for workload in world.workloads.values():
            if workload.holds_quota and workload.spec.node_group is not None:
                held[workload.spec.node_group, workload.spec.queue] += workload.spec.cards
        return {
            name: GroupSight(
                name=name,
                nodes=tuple(_node_sight(facts) for facts in nodes),
                nominal={queue.name: queue.quotas[name] for queue in world.queues.values() if name in queue.quotas},
                held={queue.name: held[name, queue.name] for queue in world.queues.values()},
            )
            for name, nodes in self._nodes_by_group().items()
            if name
        }

    def _see(self, job: PlayedJob) -> JobSight:
        sight = self._sights[job.key] = job.sight()
        return sight

    def _guest_sight(self, guest: Guest) -> JobSight | None:
        workload = self.engine.world.workloads.get(guest.object_name)
        if workload is None or workload.inert:
            return None
        facts = workload_facts(self.engine.world, workload)
        derived = derive(facts, EMPTY_GROUP, from_ms(self.now_ms))
        if derived.state is ObservedState.UNKNOWN:
            return None
        ready = facts.ready_at if derived.state is ObservedState.RUNNING else None
        return replace(
            guest.sight,
            state=JobState(derived.state.value),
            stopping=derived.stopping,
            preemptions=facts.evictions,
            running_since_ms=to_ms(ready) if ready is not None else None,
        )


def _node_sight(facts: NodeFacts) -> NodeSight:
    return NodeSight(
        name=facts.name,
        cards=facts.installed,
        free=facts.free,
        is_open=facts.schedulable,
        down_since_ms=to_ms(facts.since) if facts.health is NodeHealth.DOWN and facts.since else None,
        holders=tuple(Holder(holder.job_ulid, holder.cards, holder.ending) for holder in facts.holders),
    )
