"""One workload from admission to its end: pods, image pulls, exits, evictions, failures, deletion.

A gang lives and dies as a whole: its work begins when every pod runs, one failing pod fails it at once, and an
eviction stops all of it. Quota is free shortly after an eviction and at the moment of an end; the pods may take
longer to go, and a new run of the same workload creates its pods only after the old ones are gone.

A replica of a service never ends by itself: its program is started again where it was, and one that lost its node
queues for another.
"""

from __future__ import annotations

from clusters.contract import EvictionCause, FailureCode, Outcome, PodPhase
from clusters.simulation import behaviour
from clusters.simulation.state import State
from clusters.simulation.world import ALIVE, WHOLE_SPEED, Fault, Pod, Run, Stage, Workload

SIGTERM_EXIT = 143


def admit(state: State, workload: Workload, nodes: list[str]) -> None:
    """Give the workload its quota, and its nodes if the gate chose them."""
    state.dequeue(workload)
    run = Run(queued_ms=workload.queued_ms, admitted_ms=state.now, nodes=list(nodes))
    if not workload.unreleased():
        run.creates_ms = state.now + state.world.latencies.pods
    workload.waiting_release = run.creates_ms is None
    workload.runs.append(run)
    workload.stage = Stage.ADMITTED
    state.take_quota(workload)
    state.touch(workload)


def advance(state: State, workload: Workload) -> None:
    """Do everything that is due now."""
    now = state.now
    if workload.stage is Stage.EVICTING:
        frees = workload.run.frees_ms
        if frees is not None and frees <= now:
            _free_evicted(state, workload)
    elif workload.stage is Stage.ADMITTED:
        run = workload.run
        if not run.pods:
            if run.creates_ms is not None and run.creates_ms <= now:
                run.pods = [Pod(rank) for rank in range(workload.spec.pods)]
                state.unplaced[workload.name] = workload
        elif run.exits_ms is not None:
            if run.exits_ms <= now:
                _exit(state, workload)
        else:
            _start_pods(state, workload, run)
    for ending in workload.unreleased():
        _end_stopped_pods(state, workload, ending)
    _release(state, workload)
    if workload.name in state.world.workloads:
        state.touch(workload)


# from nodes to running


def schedule(state: State, workload: Workload, nodes: list[str]) -> None:
    """All pods of a gang got their nodes: they pull their image."""
    world = state.world
    run = workload.run
    run.nodes = nodes
    run.scheduled_ms = state.now
    problem = behaviour.image_problem(workload.spec.image)
    for pod, name in zip(run.pods, nodes, strict=True):
        pod.node = name
        pod.phase = PodPhase.PULLING
        state.floor.occupy(name, workload)
        if problem is FailureCode.IMAGE_NAME_INVALID:
            pod.problem, pod.problem_ms = problem, state.now
        elif problem is not None:
            pod.problem_ms = state.now + world.latencies.image_problem
        else:
            pod.starts_ms = _pull(state, workload, name)
    workload.unplaceable = workload.waiting_release = False
    state.unplaced.pop(workload.name, None)
    state.touch(workload)


def _pull(state: State, workload: Workload, name: str) -> int:
    """When the image is on the node for this workload."""
    world = state.world
    node = world.nodes[name]
    known = workload.spec.image in node.images
    ready = behaviour.pull_ready_ms(world.seed, workload, node, world.latencies, state.now)
    if known != (workload.spec.image in node.images):
        state.touch_node(name)
    return ready


def _start_pods(state: State, workload: Workload, run: Run) -> None:
    now = state.now
    for pod in run.pods:
        if pod.phase is not PodPhase.PULLING:
            continue
        if pod.starts_ms is not None and pod.starts_ms <= now:
            pod.phase = PodPhase.RUNNING
            pod.started_ms = now
        elif pod.problem_ms is not None and pod.problem_ms <= now:
            pod.problem = behaviour.image_problem(workload.spec.image)
    if run.ready_ms is None and all(pod.phase in (PodPhase.RUNNING, PodPhase.SUCCEEDED) for pod in run.pods):
        run.ready_ms = now
        total = behaviour.run_time_ms(state.world.seed, workload)
        if workload.spec.cards:
            run.slowdown = state.world.slowdowns.get(workload.spec.node_group or "", WHOLE_SPEED)
        run.exits_ms = (
            None if total is None else now + behaviour.slowed_ms(max(0, total - workload.done_ms), run.slowdown)
        )


# ends


def _exit(state: State, workload: Workload) -> None:
    """The work is done or has failed: the planned exit of the running pods."""
    code = behaviour.exit_code(workload)
    running = [pod for pod in workload.run.pods if pod.phase is PodPhase.RUNNING]
    if workload.spec.framework in behaviour.LAUNCHER_FRAMEWORKS:
        exiting = running[:1]
    elif code and workload.plan.failing_rank is not None:
        exiting = [pod for pod in running if pod.rank == workload.plan.failing_rank] or running
    else:
        exiting = running
    if workload.spec.member is not None:
        _restart(state, workload, exiting[0], code)
        return
    for pod in exiting:
        _end_pod(state, workload, pod, code)
    if code:
        fail(state, workload, FailureCode.APP_EXIT, exiting[0])
    else:
        _succeed(state, workload)


def exit_pod(state: State, workload: Workload, pod: Pod, code: int, reason: FailureCode) -> None:
    """One running pod exits by itself, now."""
    if workload.spec.member is not None:
        _restart(state, workload, pod, code)
        return
    _end_pod(state, workload, pod, code)
    launcher = pod.rank == 0 and workload.spec.framework in behaviour.LAUNCHER_FRAMEWORKS
    if code:
        fail(state, workload, reason, pod)
    elif launcher or all(other.phase is PodPhase.SUCCEEDED for other in workload.run.pods):
        _succeed(state, workload)
    state.touch(workload)


def _restart(state: State, workload: Workload, pod: Pod, code: int) -> None:
    """The program of a replica ended: it keeps its node and is started again after a while."""
    pod.restarts += 1
    pod.exit_code = code
    pod.down_ms = state.now
    pod.phase = PodPhase.PULLING
    pod.starts_ms = state.now + behaviour.restart_ms(pod.restarts, state.world.latencies)
    workload.run.ready_ms = workload.run.exits_ms = None
    state.touch(workload)


def fail(state: State, workload: Workload, code: FailureCode, pod: Pod) -> None:
    """One pod fails the gang: the others are told to stop."""
    workload.outcome = Outcome.FAILED
    workload.fault = Fault(code, pod.rank, pod.exit_code, pod.node, state.now)
    _finish(state, workload)


def disrupt(state: State, workload: Workload, pod: Pod) -> None:
    """The cluster takes one pod away, which fails its gang; a replica queues for another place."""
    _end_pod(state, workload, pod, SIGTERM_EXIT)
    if workload.spec.member is not None:
        evict(state, workload, EvictionCause.OTHER)
        return
    fail(state, workload, FailureCode.DISRUPTION, pod)
    state.touch(workload)


def lose_pods(state: State, name: str) -> None:
    """The pods of a node that is down count as lost; ending ones are simply gone."""
    for owner in state.floor.occupants(name):
        workload = state.world.workloads[owner]
        lost = [pod for run in workload.runs for pod in run.pods if pod.node == name and pod.phase in ALIVE]
        for pod in lost:
            _end_pod(state, workload, pod, None)
        if workload.stage is Stage.ADMITTED and workload.run.told_ms is None and lost:
            if workload.spec.member is not None:
                evict(state, workload, EvictionCause.NODE_FAILURE)
            else:
                fail(state, workload, FailureCode.NODE_LOST, lost[0])
        _release(state, workload)
        if owner in state.world.workloads:
            state.touch(workload)


def _succeed(state: State, workload: Workload) -> None:
    workload.outcome = Outcome.SUCCEEDED
    workload.outcome_by_policy = any(pod.phase is not PodPhase.SUCCEEDED for pod in workload.run.pods)
    _finish(state, workload)


def _finish(state: State, workload: Workload) -> None:
    run = workload.run
    workload.ended_ms = run.told_ms = run.freed_ms = state.now
    state.free_quota(workload)
    workload.stage = Stage.FINISHED
    _stop_pods(state, workload, run, workload.spec.grace_ms)
    _release(state, workload)


# evictions and deletion


def evict(state: State, workload: Workload, cause: EvictionCause, by: str | None = None) -> None:
    """Take the admission back. Only for admitted workloads."""
    workload.run.cause = cause
    workload.run.by = by
    _leave(state, workload, workload.spec.grace_ms)


def delete(state: State, workload: Workload, grace_ms: int) -> None:
    """Stop whatever runs and forget the object once nothing of it is left."""
    if workload.deleting:
        return
    workload.deleting = True
    if workload.stage is Stage.QUEUED:
        state.dequeue(workload)
    elif workload.stage is Stage.ADMITTED:
        _leave(state, workload, grace_ms)
    _release(state, workload)
    if workload.name in state.world.workloads:
        state.touch(workload)


def _leave(state: State, workload: Workload, grace_ms: int) -> None:
    run = workload.run
    run.told_ms = state.now
    run.frees_ms = state.now + state.world.latencies.eviction
    if run.ready_ms is not None and workload.plan.resumes:
        workload.done_ms += behaviour.worked_ms(run, state.now)
    state.start_leaving(workload)
    workload.unplaceable = workload.waiting_release = False
    state.unplaced.pop(workload.name, None)
    _stop_pods(state, workload, run, grace_ms)
    state.touch(workload)


def _free_evicted(state: State, workload: Workload) -> None:
    workload.run.freed_ms = state.now
    state.free_quota(workload)
    workload.stage = Stage.QUEUED
    if not workload.deleting:
        workload.evictions += 1
        workload.queued_ms = state.now
        state.enqueue(workload)


# pods on their way out


def _stop_pods(state: State, workload: Workload, run: Run, grace_ms: int) -> None:
    world = state.world
    for pod in run.pods:
        if pod.phase is PodPhase.RUNNING:
            needs = behaviour.stop_ms(world.seed, workload, pod.rank, world.latencies, grace_ms)
            pod.phase = PodPhase.ENDING
            pod.stops_ms = state.now + needs
            if pod.node is not None:
                state.floor.mark_ending(pod.node, workload.spec.cards_per_pod)
        elif pod.phase in (PodPhase.WAITING, PodPhase.PULLING):
            _end_pod(state, workload, pod, None)


def _end_stopped_pods(state: State, workload: Workload, run: Run) -> None:
    for pod in run.pods:
        if pod.stops_ms is not None and pod.stops_ms <= state.now and pod.phase in ALIVE:
            _end_pod(state, workload, pod, SIGTERM_EXIT)


def _end_pod(state: State, workload: Workload, pod: Pod, code: int | None) -> None:
    if pod.node is not None:
        state.floor.vacate(pod.node, workload)
        if pod.stops_ms is not None:
            state.floor.mark_ending(pod.node, -workload.spec.cards_per_pod)
    pod.phase = PodPhase.SUCCEEDED if code == 0 else PodPhase.FAILED
    pod.exit_code = code
    pod.ended_ms = state.now
    state.request_round()


def _release(state: State, workload: Workload) -> None:
    """Note that the pods of stopped runs are gone; oldest first, as a run never outlives a later one."""
    for run in reversed(workload.unreleased()):
        if any(pod.phase in ALIVE for pod in run.pods) or run.freed_ms is None:
            break
        run.released_ms = state.now
    if workload.unreleased():
        return
    if workload.deleting:
        state.remove(workload)
    elif workload.stage is Stage.ADMITTED and workload.run.creates_ms is None:
        workload.run.creates_ms = state.now + state.world.latencies.pods
        workload.waiting_release = False
