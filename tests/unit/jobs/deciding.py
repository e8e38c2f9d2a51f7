"""One decision at a fixed moment, for the tests of the moves of a job."""

from __future__ import annotations

from datetime import datetime

from clusters.domain.states import EMPTY_GROUP
from jobs.domain.moves import JobView, Move, Sight
from jobs.domain.transitions import next_move
from tests.builders import NOTHING, at

NOW = at(10, 40)


def move(job: JobView, sight: Sight = NOTHING, now: datetime = NOW) -> Move:
    return next_move(job, sight, EMPTY_GROUP, now)
