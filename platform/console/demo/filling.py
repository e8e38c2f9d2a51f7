"""The plain groups: jobs come by a seeded process and keep a group between two marks, with one block always free."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

from clusters.simulation.randomness import draw, draw_unit
from console.demo.layout import A100, ASCEND, SLICES, TEAMS
from console.demo.repertoire import Part, compose, pick
from console.demo.rooms import blocks_after, make_room, rivals
from console.demo.situation import GroupSight, Situation, Wishes
from jobs.domain.words import JobState, Kind, Priority

MINUTE_MS = 60_000
STRANGER_PATIENCE_MS = 12_000
"""How long a person's own job of up to a node waits before demo jobs make room for it."""


@dataclass(frozen=True, slots=True)
class Filling:
    """``lowest`` and ``highest`` cards in use; ``reserve`` = cards that stay free on one node.

    With ``inside_nominal`` the free block lies inside the nominal quota of every team that has so much: such a
    team's job is never in danger of being reclaimed, and takes its cards back from others if the block is gone.
    """

    group: str
    lowest: int
    highest: int
    reserve: int
    inside_nominal: bool
    pause_minutes: float  # mean, while between the marks


FILLINGS = {
    A100: Filling(A100, lowest=20, highest=24, reserve=8, inside_nominal=True, pause_minutes=4),
    ASCEND: Filling(ASCEND, lowest=10, highest=12, reserve=4, inside_nominal=False, pause_minutes=7),
}
_MINUTES = {8: (240, 840), 4: (120, 600), 2: (45, 480), 1: (20, 400)}
_SIZES = (8, 4, 2, 1)
_WANTED = (8, 4, 4, 4, 2, 2, 2, 2, 1, 1)

SLICE_JOBS = (3, 9)
SLICE_SIZES = (1, 2, 2, 3, 4, 7)
SLICE_PAUSE_MINUTES = 8
SLICE_MINUTES = ((3, 15), (3, 15), (60, 420))
"""Most sessions are short tests."""
WITHOUT_CARDS_JOBS = 2
WITHOUT_CARDS_PAUSE_MINUTES = 45


def chance(seed: int, situation: Situation, mean_minutes: float, *what: object) -> bool:
    """Whether something that happens once in ``mean_minutes`` happens during this step."""
    likely = 1 - exp(-situation.step_ms / (mean_minutes * MINUTE_MS))
    return draw_unit(seed, situation.now_ms, *what) < likely


def fill(seed: int, situation: Situation, filling: Filling, wishes: Wishes) -> None:
    """At most one new job; room for people's own jobs before that."""
    group = situation.groups[filling.group]
    _keep_reserve(situation, group, filling, wishes)
    placed = situation.placed(group.name)
    if any(
        job.state is not JobState.RUNNING and job.key not in placed and not job.held and not job.stopping
        for job in situation.demo_jobs(group.name)
    ):
        return  # one after the other: where the next one lands depends on this one
    if situation.strangers_waiting(group.name):
        return
    held = group.held_total
    if held >= filling.lowest and not chance(seed, situation, filling.pause_minutes, group.name, "arrival"):
        return
    choices = startable(group, filling)
    if not choices:
        return
    cards = max(cards for _, cards in choices)
    if held >= filling.lowest:
        cards = pick(_WANTED, seed, situation.now_ms, group.name, "size")
    teams = [team for team, fitting in choices if fitting == cards]
    if not teams:
        return  # whoever wanted to come looks again later
    team = pick(teams, seed, situation.now_ms, group.name, "team")
    priority = Priority.LOW if draw(seed, situation.now_ms, group.name, "low") % 3 == 0 else Priority.NORMAL
    part = Part(team, group.name, cards, _MINUTES[cards], priority)
    wishes.submit(compose(seed, part, situation.now_ms))


def startable(group: GroupSight, filling: Filling) -> list[tuple[str, int]]:
    """(team, cards) of jobs that would start at once and leave the free block."""
    sizes = []
    for cards in _SIZES:
        left = blocks_after(group, cards)
        if left and max(left.values()) >= filling.reserve and group.held_total + cards <= filling.highest:
            sizes.append(cards)
    return [(team, cards) for cards in sizes for team in _teams(group) if cards <= _room(group, team, filling)]


def _teams(group: GroupSight) -> list[str]:
    """The demo's teams that have a share here."""
    return sorted(TEAMS.keys() & group.nominal.keys())


def _room(group: GroupSight, team: str, filling: Filling) -> int:
    """Cards that demo jobs of a team may still take here."""
    if not filling.inside_nominal:
        return group.room_within(team)
    inside = {name: nominal - filling.reserve for name, nominal in group.nominal.items() if nominal >= filling.reserve}
    if team in inside:
        return inside[team] - group.held.get(team, 0)
    # The others borrow what those leave, and give it back as soon as it is wanted.
    return filling.highest - sum(inside.values()) - group.held.get(team, 0)


def _keep_reserve(situation: Situation, group: GroupSight, filling: Filling, wishes: Wishes) -> None:
    """Cancel demo jobs if somebody took the free block."""
    if max(group.blocks, default=0) < filling.reserve:
        wishes.cancel(*make_room(situation, group, filling.reserve))


def make_way(situation: Situation, wishes: Wishes) -> None:
    """Demo jobs leave a node for a person's own job that waits for it."""
    for group in situation.groups.values():
        for job in situation.strangers_waiting(group.name):
            waited = situation.now_ms - job.submitted_ms
            if job.pods == 1 and waited >= STRANGER_PATIENCE_MS and job.cards > 0:
                keys = make_room(situation, group, job.cards)
                wishes.cancel(*keys, *rivals(situation, group, keys))
                break  # one at a time


def fill_slices(seed: int, situation: Situation, wishes: Wishes) -> None:
    """Development sessions on cut cards."""
    if SLICES not in situation.groups:
        return
    group = situation.groups[SLICES]
    lowest, highest = SLICE_JOBS
    live = sum(1 for job in situation.demo_jobs(SLICES) if not job.held)
    if (
        not _teams(group)
        or live >= highest
        or (live >= lowest and not chance(seed, situation, SLICE_PAUSE_MINUTES, "slices"))
    ):
        return
    team = pick(_teams(group), seed, situation.now_ms, "slices team")
    cards = pick(SLICE_SIZES, seed, situation.now_ms, "slices size")
    minutes = pick(SLICE_MINUTES, seed, situation.now_ms, "slices minutes")
    part = Part(team, SLICES, cards, minutes, kind=Kind.DEVELOPMENT, may_retry=False)
    wishes.submit(compose(seed, part, situation.now_ms))


def fill_without_cards(seed: int, situation: Situation, wishes: Wishes) -> None:
    """Now and then a job that needs no cards."""
    if len(situation.demo_jobs(None)) < WITHOUT_CARDS_JOBS and chance(
        seed, situation, WITHOUT_CARDS_PAUSE_MINUTES, "without cards"
    ):
        team = pick(sorted(TEAMS), seed, situation.now_ms, "team without cards")
        part = Part(team, None, 0, (8, 60), may_retry=False)
        wishes.submit(compose(seed, part, situation.now_ms))
