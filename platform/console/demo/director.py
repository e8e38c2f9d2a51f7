"""The director of the demo: from what is on stage to what happens next. Pure, and without any memory of its own.

It is asked every few seconds. Each answer follows from the seed and the situation alone, so that a restart, a lost
answer or a visitor's own jobs never leave it out of step: what is missing is asked for again.
"""

from __future__ import annotations

from clusters.contract import FailureCode
from console.demo.fates import between, fate_of
from console.demo.filling import (
    FILLINGS,
    MINUTE_MS,
    chance,
    fill,
    fill_slices,
    fill_without_cards,
    make_way,
    startable,
)
from console.demo.layout import A100, ASCEND, SLICES, TEAMS
from console.demo.repertoire import Part, compose, pick
from console.demo.situation import Action, JobSight, Situation, Wishes
from console.demo.split import choreograph
from jobs.domain.operations import Operation
from jobs.domain.words import Priority

HELD_PATIENCE_MS = (8 * 3_600_000, 18 * 3_600_000)
HELD_SIZES = (1, 2, 2, 4)
REGRETS = 0.05
"""Part of the jobs that their owner cancels while they run."""
DISRUPTED_MINUTES = 9 * 60
CRASHED_MINUTES = 11 * 60
POWER_LOST_MINUTES = 52 * 60
POWER_BACK_MS = 12 * MINUTE_MS
SETTLED_MS = 5 * MINUTE_MS
"""Nothing happens to a job that has run for less."""


def next_actions(seed: int, situation: Situation) -> list[Action]:
    """Everything that shall happen now."""
    wishes = Wishes()
    if not situation.groups:
        return wishes.actions
    make_way(situation, wishes)
    choreograph(seed, situation, wishes)
    for name, filling in FILLINGS.items():
        if name in situation.groups:
            fill(seed, situation, filling, wishes)
    fill_slices(seed, situation, wishes)
    fill_without_cards(seed, situation, wishes)
    _keep_one_held(seed, situation, wishes)
    _change_minds(seed, situation, wishes)
    _break_things(seed, situation, wishes)
    return wishes.actions


def _keep_one_held(seed: int, situation: Situation, wishes: Wishes) -> None:
    """One job is always on hold. The next one is, before the old one goes on or goes away."""
    group = situation.groups.get(A100)
    if group is None:
        return
    held = [job for job in situation.demo_jobs(A100) if job.held and not job.stopping]
    fresh = [
        job
        for job in held
        if situation.now_ms - job.submitted_ms < between(*HELD_PATIENCE_MS, fate_of(seed, job.key).patience)
    ]
    if not fresh:
        team = pick(sorted(TEAMS), seed, situation.now_ms, "held team")
        cards = pick(HELD_SIZES, seed, situation.now_ms, "held size")
        part = Part(team, A100, cards, (30, 180), Priority.LOW, may_fail=False, held=True)
        wishes.submit(compose(seed, part, situation.now_ms, "held"))
    elif len(held) > len(fresh):
        old = next(job for job in held if job not in fresh)
        goes_on = (old.team, old.cards) in startable(group, FILLINGS[A100])
        wishes.operate(old.key, Operation.RESUME if goes_on else Operation.CANCEL)


def _plain_running(situation: Situation) -> list[JobSight]:
    """Running demo jobs that no choreography needs."""
    return [job for group in (A100, ASCEND) for job in situation.demo_jobs(group) if job.runs]


def _change_minds(seed: int, situation: Situation, wishes: Wishes) -> None:
    """Some owners cancel what runs."""
    for job in _plain_running(situation):
        fate = fate_of(seed, job.key)
        left_ms = (1 - fate.regret_at) * (job.run_ms or 0)
        if fate.regret < REGRETS and job.ends_ms is not None and situation.now_ms > job.ends_ms - left_ms:
            wishes.cancel(job.key)


def _break_things(seed: int, situation: Situation, wishes: Wishes) -> None:
    """Rarely the cluster takes a pod away, a program runs out of memory, a node of slices stops answering."""
    settled = [
        job
        for job in _plain_running(situation)
        if job.pods == 1 and situation.now_ms - (job.running_since_ms or situation.now_ms) > SETTLED_MS
    ]
    if settled and chance(seed, situation, DISRUPTED_MINUTES, "disruption"):
        wishes.disrupt(pick(settled, seed, situation.now_ms, "disrupted").key)
    if settled and chance(seed, situation, CRASHED_MINUTES, "crash"):
        wishes.crash(pick(settled, seed, situation.now_ms, "crashed").key, 137, FailureCode.OUT_OF_MEMORY)
    if SLICES not in situation.groups:
        return
    nodes = situation.groups[SLICES].nodes
    down = [node for node in nodes if node.down_since_ms is not None]
    for node in down:
        if situation.now_ms - (node.down_since_ms or 0) >= POWER_BACK_MS:
            wishes.power(node.name, up=True)
    if not down and chance(seed, situation, POWER_LOST_MINUTES, "power"):
        wishes.power(pick(nodes, seed, situation.now_ms, "powerless").name, up=False)
