"""Limits of a local queue and of a person, whatever comes, goes, grows and is set: nobody passes, nobody starves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from quotas.domain.limits import Asks, By, Limits, above, decide

PEOPLE = st.integers(1, 3)
CARDS = st.integers(1, 9)
LIMITS = st.builds(Limits, st.integers(4, 12) | st.none(), st.integers(2, 9) | st.none())


@dataclass(frozen=True)
class Job:
    name: str
    owner: int
    cards: int
    let_in: int = 0


class LocalQueue(RuleBasedStateMachine):
    """Jobs stand in their order; what is let in stays so until it ends."""

    def __init__(self) -> None:
        super().__init__()
        self.jobs: list[Job] = []
        self.limits = Limits()
        self.made = 0

    @initialize(limits=LIMITS)
    def begins(self, limits: Limits) -> None:
        self.limits = limits

    @rule(wanted=st.lists(st.tuples(PEOPLE, CARDS), min_size=1, max_size=4), data=st.data())
    def come(self, wanted: list[tuple[int, int]], data: st.DataObject) -> None:
        """Each at its place by priority."""
        for owner, cards in wanted:
            self.made += 1
            place = data.draw(st.integers(0, len(self.jobs)))
            self.jobs.insert(place, Job(f"job-{self.made}", owner, cards))

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def ends(self, data: st.DataObject) -> None:
        self.jobs.remove(data.draw(st.sampled_from(self.jobs)))

    @precondition(lambda self: self.jobs)
    @rule(data=st.data(), cards=CARDS)
    def is_scaled(self, data: st.DataObject, cards: int) -> None:
        place = data.draw(st.integers(0, len(self.jobs) - 1))
        job = self.jobs[place]
        self.jobs[place] = replace(job, cards=cards, let_in=min(job.let_in, cards))

    @rule(limits=LIMITS)
    def is_limited(self, limits: Limits) -> None:
        self.limits = limits

    @precondition(lambda self: self._waiting())
    @rule(data=st.data())
    def some_ask(self, data: st.DataObject) -> None:
        """Whoever asks is let in if it is its turn; nothing that was within the limits goes beyond them by that."""
        verdicts = self._verdicts()
        before = self._sums()
        asked = data.draw(st.sets(st.sampled_from(sorted(verdicts)), min_size=1))
        self.jobs = [
            replace(job, let_in=job.cards) if job.name in asked and verdicts[job.name] is None else job
            for job in self.jobs
        ]
        for name, (limit, cards) in self._sums().items():
            assert limit is None or cards <= max(limit, before[name][1])

    @precondition(lambda self: self._waiting())
    @rule()
    def all_ask(self) -> None:
        """Then nobody waits who has room and stands first; who waits is told by which limit."""
        verdicts = self._verdicts()
        self._nobody_is_overtaken(verdicts)
        self.jobs = [
            replace(job, let_in=job.cards) if verdicts.get(job.name, job) is None else job for job in self.jobs
        ]
        sums = {name: cards for name, (_limit, cards) in self._sums().items()}
        for job in self.jobs:
            why = verdicts.get(job.name)
            if why is None or why.is_too_large:
                continue
            more = job.cards - job.let_in
            others = [each for each in self._waiting() if not (verdicts[each.name] or why).is_too_large]
            if why.by is By.PERSON:
                first = next(each for each in others if each.owner == job.owner)
                assert first is not job or sums[f"of {job.owner}"] + more > (self.limits.person or 0)
            else:
                first = next(each for each in others if (verdicts[each.name] or why).by is By.QUEUE)
                assert first is not job or sums["of all"] + more > (self.limits.queue or 0)

    @invariant()
    def what_is_above_goes_away_last_first(self) -> None:
        """Without those that are told to be above the limits, the others are within them."""
        held = [Asks(job.name, job.owner, job.let_in) for job in self.jobs if job.let_in]
        over = set(above(self.limits, held))
        kept = [each for each in held if each.job not in over]
        assert self.limits.queue is None or sum(each.cards for each in kept) <= self.limits.queue
        assert above(self.limits, kept) == ()

    def _nobody_is_overtaken(self, verdicts: dict[str, Any]) -> None:
        """But those who could never be let in, and by others those who wait for their own limit alone."""
        whole_waits, people_wait = False, set()
        for job in self._waiting():
            why = verdicts[job.name]
            assert why is not None or not (whole_waits or job.owner in people_wait)
            if why is not None and not why.is_too_large:
                whole_waits |= why.by is By.QUEUE
                people_wait.add(job.owner)

    def _waiting(self) -> list[Job]:
        return [job for job in self.jobs if job.cards > job.let_in]

    def _verdicts(self) -> dict[str, Any]:
        taken: dict[int, int] = {}
        for job in self.jobs:
            taken[job.owner] = taken.get(job.owner, 0) + job.let_in
        asking = [Asks(job.name, job.owner, job.cards, job.let_in) for job in self._waiting()]
        return decide(self.limits, asking, taken)

    def _sums(self) -> dict[str, tuple[int | None, int]]:
        people = {job.owner for job in self.jobs}
        return {
            "of all": (self.limits.queue, sum(job.let_in for job in self.jobs)),
            **{
                f"of {owner}": (self.limits.person, sum(job.let_in for job in self.jobs if job.owner == owner))
                for owner in people
            },
        }


LocalQueue.TestCase.settings = settings(stateful_step_count=30)
TestLimits = LocalQueue.TestCase
