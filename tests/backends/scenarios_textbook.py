"""Rows of the scenario table from the textbook of shared clusters: percents, force, loans that come home. Data only.

40, 30 and 30 percent of 32 cards are 13, 10 and 9 by largest remainder.
"""

from __future__ import annotations

from clusters.contract import EvictionCause, WaitCode
from tests.backends.scenario_words import (
    Checkpoint,
    ClusterDef,
    Exit,
    Job,
    QueueDef,
    Scenario,
    Settle,
    Submit,
    Victim,
    names,
)

ONLY_A_TAKES_BACK = ClusterDef((QueueDef("a", 13), QueueDef("b", 10, reclaims=False), QueueDef("c", 9, reclaims=False)))

TEXTBOOK = (
    Scenario(
        "T1",
        "40, 30 and 30 percent: b and c share what is idle, a takes its own back by force, newest loan first",
        ONLY_A_TAKES_BACK,
        (
            Submit(Job("b1", "b", 1, 8), Job("c1", "c", 1, 8)),
            Settle(),
            Submit(Job("b2", "b", 1, 8)),
            Settle(),
            Submit(Job("c2", "c", 1, 8)),
            Checkpoint("b and c have half each", admitted=names("b1 b2 c1 c2")),
            Submit(Job("a1", "a", 1, 8)),
            Checkpoint(
                "the newest loan is back",
                admitted=names("a1 b1 b2 c1"),
                waiting={"c2": WaitCode.ABOVE_NOMINAL},
                victims={"c2": Victim(EvictionCause.QUOTA_RECLAIMED, "a1")},
            ),
        ),
    ),
    Scenario(
        "T2",
        "who may not take back waits for its own until a borrower ends",
        ONLY_A_TAKES_BACK,
        (
            Submit(Job("b1", "b", 1, 8), Job("c1", "c", 1, 8)),
            Settle(),
            Submit(Job("c2", "c", 1, 8)),
            Settle(),
            Submit(Job("c3", "c", 1, 8)),
            Checkpoint("c borrows 15", admitted=names("b1 c1 c2 c3")),
            Submit(Job("b2", "b", 1, 2)),
            Checkpoint("b waits within its share", admitted=names("b1 c1 c2 c3"), waiting={"b2": WaitCode.QUOTA}),
            Exit("c3"),
            Checkpoint("a borrower ended", admitted=names("b1 b2 c1 c2"), succeeded=names("c3")),
        ),
    ),
    Scenario(
        "T3",
        "two queues of 8 with 8 and 2 used: 4 more are lent, and given back when their owner asks",
        ClusterDef((QueueDef("a", 8), QueueDef("b", 8)), nodes=(8, 8)),
        (
            Submit(Job("a1", "a", 1, 8)),
            Settle(),
            Submit(Job("b1", "b", 1, 2)),
            Checkpoint("8 and 2", admitted=names("a1 b1")),
            Submit(Job("a2", "a", 1, 4)),
            Checkpoint("4 more are lent", admitted=names("a1 a2 b1")),
            Submit(Job("b2", "b", 1, 6)),
            Checkpoint(
                "the loan is back",
                admitted=names("a1 b1 b2"),
                waiting={"a2": WaitCode.QUOTA},
                victims={"a2": Victim(EvictionCause.QUOTA_RECLAIMED, "b2")},
            ),
        ),
    ),
    Scenario(
        "T4",
        "a job of 8 in a queue of 6 starts on idle cards and takes nothing back",
        ClusterDef((QueueDef("a", 6), QueueDef("b", 10)), nodes=(8, 8)),
        (
            Submit(Job("a1", "a", 1, 8)),
            Checkpoint("idle cards", admitted=names("a1")),
            Exit("a1"),
            Submit(Job("b1", "b", 1, 8)),
            Settle(),
            Submit(Job("b2", "b", 1, 4)),
            Checkpoint("b borrows 2", admitted=names("b1 b2"), succeeded=names("a1")),
            Submit(Job("a2", "a", 1, 8)),
            Checkpoint(
                "b keeps its loan",
                admitted=names("b1 b2"),
                waiting={"a2": WaitCode.ABOVE_NOMINAL},
                succeeded=names("a1"),
            ),
        ),
    ),
)
