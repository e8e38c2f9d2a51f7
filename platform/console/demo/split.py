"""The choreography of one node group: exactly 5 and 3 cards free on two nodes, and jobs of 8 that wait for a node.

Two nodes stand still: a session and a training without an end hold their other 3 and 5 cards. The other two are
*lanes* of one 8-card job each, one per team. A lane goes round: a fresh low job; after a while a normal one
interrupts it; at that one's end the preempted one comes back and finishes; the next fresh one follows. A preempted
job waits at any time, because a lane lets its own come back only while another one waits too.

If anything disturbs the two blocks (a person's job, a lost node, a restart), they are made anew: first every
free card is taken, then a job of 5 on one node and a job of 3 on another one leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from console.demo.fates import between, fate_of
from console.demo.layout import H100
from console.demo.repertoire import Part, compose
from console.demo.rooms import could_take_from_people, fits_now, has_people, leaving, movable, rivals, subset
from console.demo.situation import GroupSight, JobSight, NodeSight, Situation, Wishes
from jobs.domain.words import JobState, Kind, Priority

BLOCKS = (5, 3)
WHOLE = 8  # cards of one node
LANE_TEAMS = ("vision", "language")
STILL = {3: ("vision", Kind.DEVELOPMENT), 5: ("language", Kind.TRAINING)}
"""Who holds the other cards of the two nodes that stand still, by number of cards."""

NORMAL_MINUTES = (100, 300)
LOW_MINUTES = (45, 110)
FILLER_MINUTES = (60, 240)
BUMP_AFTER_MS = (4 * 60_000, 25 * 60_000)
LEAD_MS = 120_000
"""A lane's next job is in the queue so long before the present one ends."""
FILLER_PATIENCE_MS = 15_000

WAITING = {
    # cards: (team, jobs that wait); none of them can ever start while the stage stands
    8: ("robotics", 3),  # needs a whole node and would borrow: the split
    16: ("robotics", 1),  # more than the team's share
    24: ("language", 1),  # the same
    12: ("language", 1),  # within the share, which is in use
}
PATIENCE_MS = (9 * 3_600_000, 20 * 3_600_000)
PREEMPTED_MAX = 3


def choreograph(seed: int, situation: Situation, wishes: Wishes) -> None:
    """The next steps of the H100 group."""
    group = situation.groups.get(H100)
    if group is None:
        return
    _keep_waiting(seed, situation, group, wishes)
    _stop_gangs(situation, wishes)
    _spare_people(situation, group, wishes)
    somebody_comes = any(job.pods == 1 for job in situation.strangers_waiting(H100))  # room is made for them
    if somebody_comes or _is_moving(situation, group):
        return
    if group.blocks == BLOCKS:
        _drive(seed, situation, group, wishes)
    else:
        _repair(seed, situation, group, wishes)


# --------------------------------------------------------------------------- the queue


def _waiting(situation: Situation, cards: int, team: str) -> list[JobSight]:
    """Demo jobs of this size and team that wait and never ran, oldest first."""
    jobs = situation.demo_jobs(H100)
    return [j for j in jobs if j.waits and not j.preemptions and (j.cards, j.team) == (cards, team)]


def _preempted(situation: Situation) -> list[JobSight]:
    return [job for job in situation.demo_jobs(H100) if job.waits and job.preemptions]


def _is_stale(seed: int, situation: Situation, job: JobSight) -> bool:
    """It has been in the queue for longer than its owner waits."""
    return situation.now_ms - job.submitted_ms > between(*PATIENCE_MS, fate_of(seed, job.key).patience)


def _keep_waiting(seed: int, situation: Situation, group: GroupSight, wishes: Wishes) -> None:
    for cards, (team, count) in WAITING.items():
        if cards > WHOLE and group.quota_free > sum(BLOCKS):
            continue  # it would start
        jobs = _waiting(situation, cards, team)
        if not _must_borrow(group, team, cards):
            wishes.cancel(*(job.key for job in jobs))  # it could take cards back from others, people's too
        elif sum(1 for job in jobs if not _is_stale(seed, situation, job)) < count:
            part = Part(team, H100, cards, LOW_MINUTES, Priority.LOW, may_fail=False)
            wishes.submit(compose(seed, part, situation.now_ms, "waiting"))
        elif len(jobs) > count:
            wishes.cancel(jobs[0].key)


def _must_borrow(group: GroupSight, team: str, cards: int) -> bool:
    """It would exceed the team's share, also after another job of the team has left a node that stands still."""
    return cards > group.nominal.get(team, 0) or cards > group.room_within(team) + BLOCKS[0]


def _stop_gangs(situation: Situation, wishes: Wishes) -> None:
    """A gang that got nodes after all would stay in the way for long."""
    wishes.cancel(*(job.key for job in situation.demo_jobs(H100) if job.runs and job.pods > 1))


def _spare_people(situation: Situation, group: GroupSight, wishes: Wishes) -> None:
    """Whoever waits and could take cards back from a person's own job goes."""
    for job in situation.demo_jobs(H100):
        if job.waits and _threatens_people(situation, group, job.team, job.cards) and not fits_now(group, job):
            wishes.cancel(job.key)


def _threatens_people(situation: Situation, group: GroupSight, team: str, cards: int) -> bool:
    """A demo job like this could take a person's borrowed cards, as no lower one of a lane has to leave before."""
    if not could_take_from_people(situation, group, team, cards):
        return False
    lower = [lane for lane in _in_lanes(situation, group) if lane.priority == Priority.LOW.value]
    return all(group.room_within(lane.team) >= 0 for lane in lower)


# --------------------------------------------------------------------------- the lanes


def _in_lanes(situation: Situation, group: GroupSight) -> list[JobSight]:
    """Demo jobs that hold one whole node each."""
    placed = situation.placed(group.name)
    return [j for j in situation.demo_jobs(H100) if j.key in placed and (j.pods, j.cards) == (1, WHOLE)]


def _drive(seed: int, situation: Situation, group: GroupSight, wishes: Wishes) -> None:
    """The next step of every lane. ``spare`` preempted jobs may come back or go away: one is always left."""
    preempted = _preempted(situation)
    spare = len(preempted) - 1
    for lane in _in_lanes(situation, group):
        is_low = lane.priority == Priority.LOW.value
        is_guest = lane.team not in LANE_TEAMS
        team = _team_with_room(group, WHOLE) if is_guest else lane.team
        if lane.stopping or _waiting(situation, WHOLE, team):
            continue  # its next job is in the queue already
        if _threatens_people(situation, group, team, WHOLE):
            continue
        if is_low and lane.runs and (spare < 0 or _is_ripe(seed, situation, lane, spare, is_guest)):
            _send(seed, situation, team, Priority.NORMAL, wishes)
            spare += 1
        elif lane.ends_ms is None or lane.ends_ms - situation.now_ms > max(LEAD_MS, 2 * situation.step_ms):
            continue
        elif is_guest or (any(job.team == team for job in preempted) and (is_low or spare > 0)):
            spare -= 1  # the preempted job of its team comes back, or whoever is next
        elif is_low or _is_first(situation, team) or spare > 0:
            _send(seed, situation, team, Priority.LOW, wishes)
        else:
            _send(seed, situation, team, Priority.NORMAL, wishes)  # before everybody else
    stale = [job for job in preempted if _is_stale(seed, situation, job)]
    if spare > 0 and stale and len(stale) < len(preempted):
        wishes.cancel(stale[0].key)
    elif len(preempted) > PREEMPTED_MAX:
        wishes.cancel(preempted[0].key)
    _restore_lanes(situation, group, wishes)


def _is_first(situation: Situation, team: str) -> bool:
    """Nobody of the team waits: its next job, inside its share, is tried before those that would borrow."""
    return not any(job.waits and job.team == team for job in situation.jobs)


def _is_ripe(seed: int, situation: Situation, lane: JobSight, spare: int, is_guest: bool) -> bool:
    """A normal job shall take this low one's place now: once, after a while, and where preempted jobs are few."""
    if lane.preemptions or lane.running_since_ms is None or (spare > 0 and not is_guest):
        return False
    return situation.now_ms - lane.running_since_ms >= between(*BUMP_AFTER_MS, fate_of(seed, lane.key).turn)


def _send(seed: int, situation: Situation, team: str, priority: Priority, wishes: Wishes) -> None:
    minutes = LOW_MINUTES if priority is Priority.LOW else NORMAL_MINUTES
    part = Part(team, H100, WHOLE, minutes, priority, may_fail=priority is Priority.NORMAL, may_retry=False)
    wishes.submit(compose(seed, part, situation.now_ms, "lane"))


def _restore_lanes(situation: Situation, group: GroupSight, wishes: Wishes) -> None:
    """A full node of demo jobs that is no lane was filled by a repair: cleared, it is taken by a waiting 8."""
    driven = {lane.key for lane in _in_lanes(situation, group)}
    for node in group.nodes:
        cards = movable(situation, node)
        if node.is_open and not node.free and sum(cards.values()) == node.cards and not driven & set(cards):
            wishes.cancel(*cards)
            return


def _team_with_room(group: GroupSight, cards: int) -> str:
    """A lane team that can take so many cards within its share, else the one with the most room."""
    rooms = {team: group.room_within(team) for team in LANE_TEAMS}
    return next((team for team in LANE_TEAMS if rooms[team] >= cards), max(LANE_TEAMS, key=lambda t: rooms[t]))


# --------------------------------------------------------------------------- the two blocks


def _is_moving(situation: Situation, group: GroupSight) -> bool:
    """Something is on its way in or out: what the nodes show now is not what they will show in a moment."""
    if any(leaving(situation, node) for node in group.nodes):
        return True
    placed = situation.placed(group.name)
    for job in situation.demo_jobs(group.name):
        if job.stopping or (job.state is JobState.CREATING and job.key not in placed):
            return True
        if job.waits and fits_now(group, job):
            return True
    return False


def _repair(seed: int, situation: Situation, group: GroupSight, wishes: Wishes) -> None:
    nodes = [node for node in group.nodes if node.is_open]
    if (keys := _opening(situation, nodes)) is not None:
        wishes.cancel(*keys, *(rivals(situation, group, keys) if has_people(situation, group) else ()))
        return
    fillers = [job for job in situation.demo_jobs(H100) if job.waits and job.cards in STILL and job.pods == 1]
    if group.blocks:
        smallest = group.blocks[-1]
        _settle(seed, situation, BLOCKS[0] if smallest == WHOLE else smallest, wishes)
    elif not fillers and _threatens_people(situation, group, STILL[BLOCKS[0]][0], BLOCKS[0]):
        return
    elif not fillers:
        _settle(seed, situation, BLOCKS[0], wishes)  # takes the place of an 8 that its arrival or we remove
    elif situation.now_ms - fillers[0].submitted_ms >= FILLER_PATIENCE_MS:
        lanes = sorted(_in_lanes(situation, group), key=lambda job: (job.priority != Priority.LOW.value, job.key))
        if lanes:
            wishes.cancel(lanes[0].key)


def _settle(seed: int, situation: Situation, cards: int, wishes: Wishes) -> None:
    """Take the smallest free block: for good with what stands still, else with a job like any other."""
    team, kind = STILL.get(cards, (LANE_TEAMS[0], Kind.TRAINING))
    minutes = None if cards in STILL else FILLER_MINUTES
    part = Part(team, H100, cards, minutes, Priority.NORMAL, kind, may_fail=False)
    wishes.submit(compose(seed, part, situation.now_ms, "block"))


def _opening(situation: Situation, nodes: Sequence[NodeSight]) -> tuple[str, ...] | None:
    """Demo jobs whose end leaves exactly the two blocks, as few cards as possible; None = there are none."""
    best: tuple[int, tuple[str, ...]] | None = None
    for pair in permutations(nodes, len(BLOCKS)):
        wanted = {node.name: block for node, block in zip(pair, BLOCKS, strict=True)}
        keys: list[str] = []
        cards = 0
        for node in nodes:
            missing = wanted.get(node.name, 0) - node.free
            chosen = subset(movable(situation, node), missing) if missing >= 0 else None
            if chosen is None:
                break
            keys.extend(chosen)
            cards += missing
        else:
            if best is None or (cards, tuple(keys)) < best:
                best = (cards, tuple(keys))
    return best[1] if best is not None else None
