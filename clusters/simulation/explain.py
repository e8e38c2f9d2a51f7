"""Why a workload waits, in numbers: the gate's newest word, never a guess."""

from __future__ import annotations

from clusters.contract import Wait, WaitCode
from clusters.domain.shortage import shortage_code
from clusters.simulation.quota import Ledger
from clusters.simulation.world import Hold, Note, Queue, Spec, Workload, World


def note(ledger: Ledger, queue: Queue, spec: Spec, code: WaitCode | None = None) -> Note:
    """The gate's word with the numbers of this moment; without a code: why the quota is short."""
    group = spec.node_group
    if group is None or code is WaitCode.NOT_OFFERED:
        return Note(code or WaitCode.OTHER, asked=spec.cards)
    nominal = ledger.nominal(queue.name, group)
    used = ledger.used(queue.name, group)
    return Note(
        code or shortage_code(spec.cards, nominal, used),
        asked=spec.cards,
        more=max(0, spec.cards - ledger.available(queue.name, group)),
        maximum=ledger.capacity(queue.name, group),
        nominal=nominal,
        used=used,
    )


def wait_of(world: World, workload: Workload) -> Wait | None:
    """The gate's word about a waiting workload; None = it does not wait, or was not looked at yet."""
    if not workload.waits:
        return None
    spec = workload.spec
    queue = world.queues.get(spec.queue)
    if queue is None or (spec.local_queue and spec.local_queue not in queue.local_queues):
        return Wait(WaitCode.QUEUE_MISSING, asked=spec.cards, raw=f"queue {spec.queue}/{spec.local_queue} not found")
    if spec.local_queue in queue.held_local_queues:
        return Wait(WaitCode.QUEUE_HELD, asked=spec.cards, raw=f"queue {spec.queue}/{spec.local_queue} is held")
    if queue.hold is not Hold.NONE:
        return Wait(WaitCode.QUEUE_HELD, asked=spec.cards, raw=f"queue {spec.queue} is held")
    if workload.victims:
        raw = f"pending the eviction of {workload.victims} workload(s)"
        return Wait(WaitCode.PREEMPTING, asked=spec.cards, victims=workload.victims, raw=raw)
    state = queue.shapes.get(workload.shape)
    return None if state is None else _wait(state.note, spec)


def _wait(word: Note, spec: Spec) -> Wait:
    return Wait(
        word.code,
        asked=word.asked,
        more=word.more,
        maximum=word.maximum,
        nominal=word.nominal,
        used=word.used,
        raw=_raw(word, spec),
    )


def _raw(word: Note, spec: Spec) -> str:
    match word.code:
        case WaitCode.NEVER_FITS:
            return f"request {word.asked} in {spec.node_group} > maximum capacity ({word.maximum})"
        case WaitCode.PLACES:
            return f"no nodes of {spec.node_group} for {spec.pods} pod(s) of {spec.cards_per_pod}"
        case WaitCode.NOT_OFFERED:
            return f"{spec.node_group} unavailable in queue {spec.queue}"
        case _:
            return f"insufficient unused quota in {spec.node_group}, {word.more} more needed"
