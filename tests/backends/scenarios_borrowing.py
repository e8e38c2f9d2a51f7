"""Rows of the scenario table about borrowing, its limits, and whom it costs what is taken back. Data only."""

from __future__ import annotations

from clusters.contract import EvictionCause, WaitCode
from tests.backends.scenario_words import (
    HIGH,
    LOW,
    Checkpoint,
    ClusterDef,
    Exit,
    Job,
    Numbers,
    QueueDef,
    Scenario,
    Settle,
    Submit,
    Victim,
    names,
)

BORROWING = (
    Scenario(
        "E1",
        "a lower priority is taken back before a newer admission",
        ClusterDef((QueueDef("a", 8), QueueDef("b", 24))),
        (
            Submit(Job("a1", "a", 1, 8)),
            Settle(),
            Submit(Job("a2", "a", 1, 8, LOW)),
            Settle(),
            Submit(Job("a3", "a", 1, 8)),
            Settle(),
            Submit(Job("b1", "b", 1, 8)),
            Checkpoint("a borrows 16", admitted=names("a1 a2 a3 b1")),
            Submit(Job("b2", "b", 1, 8)),
            Checkpoint(
                "low left",
                admitted=names("a1 a3 b1 b2"),
                waiting={"a2": WaitCode.QUOTA},
                victims={"a2": Victim(EvictionCause.QUOTA_RECLAIMED, "b2")},
            ),
        ),
    ),
    Scenario(
        "E2",
        "who need not leave after all is put back: the smallest set of victims",
        ClusterDef((QueueDef("a", 8), QueueDef("b", 24))),
        (
            Submit(Job("a1", "a", 1, 8)),
            Settle(),
            Submit(Job("whole", "a", 1, 8)),
            Settle(),
            Submit(Job("b1", "b", 1, 8)),
            Settle(),
            Submit(Job("little", "a", 1, 2, LOW)),
            Settle(),
            Submit(Job("b2", "b", 1, 6)),
            Checkpoint("full", admitted=names("a1 whole little b1 b2")),
            Submit(Job("b3", "b", 1, 8)),
            Checkpoint(
                "little would not have helped",
                admitted=names("a1 little b1 b2 b3"),
                waiting={"whole": WaitCode.QUOTA},
                victims={"whole": Victim(EvictionCause.QUOTA_RECLAIMED, "b3")},
            ),
        ),
    ),
    Scenario(
        "E3",
        "a queue that may evict while borrowing takes low work of borrowers only",
        ClusterDef((QueueDef("a", 8, borrow_preempts_up_to=LOW), QueueDef("b", 8), QueueDef("c", 16))),
        (
            Submit(Job("a1", "a", 1, 8), Job("c1", "c", 2, 8, LOW)),
            Settle(),
            Submit(Job("c2", "c", 1, 8, LOW)),
            Checkpoint("c borrows 8", admitted=names("a1 c1 c2")),
            Submit(Job("a2", "a", 1, 8, HIGH)),
            Checkpoint(
                "a borrows now",
                admitted=names("a1 a2 c1"),
                waiting={"c2": WaitCode.QUOTA},
                victims={"c2": Victim(EvictionCause.WHILE_BORROWING, "a2")},
            ),
        ),
    ),
    Scenario(
        "E4",
        "a queue borrows no more than its limit, however much is idle",
        ClusterDef((QueueDef("a", 8, borrow_limit=8), QueueDef("b", 24))),
        (
            Submit(Job("a1", "a", 1, 8), Job("a2", "a", 1, 8)),
            Settle(),
            Submit(Job("a3", "a", 1, 8)),
            Checkpoint("16 are idle", admitted=names("a1 a2"), waiting={"a3": WaitCode.QUOTA}),
            Submit(Job("whole", "a", 3, 8)),
            Checkpoint(
                "more than it may ever hold",
                admitted=names("a1 a2"),
                waiting={"a3": WaitCode.QUOTA, "whole": WaitCode.NEVER_FITS},
                numbers={"whole": Numbers(asked=24, maximum=16)},
            ),
            Exit("a1"),
            Checkpoint(
                "one came back",
                admitted=names("a2 a3"),
                waiting={"whole": WaitCode.NEVER_FITS},
                succeeded=names("a1"),
            ),
        ),
    ),
    Scenario(
        "E5",
        "a queue lends no more than its limit: the rest is there without taking anything back",
        ClusterDef((QueueDef("a", 8), QueueDef("b", 24, lend_limit=8))),
        (
            Submit(Job("a1", "a", 1, 8)),
            Settle(),
            Submit(Job("a2", "a", 1, 8)),
            Settle(),
            Submit(Job("a3", "a", 1, 8)),
            Checkpoint("b lends 8 of its 24", admitted=names("a1 a2"), waiting={"a3": WaitCode.QUOTA}),
            Submit(Job("b1", "b", 1, 8), Job("b2", "b", 1, 8)),
            Checkpoint("b starts on its own", admitted=names("a1 a2 b1 b2"), waiting={"a3": WaitCode.QUOTA}),
            Submit(Job("b3", "b", 1, 8)),
            Checkpoint(
                "what was lent is taken back",
                admitted=names("a1 b1 b2 b3"),
                waiting={"a2": WaitCode.QUOTA, "a3": WaitCode.QUOTA},
                victims={"a2": Victim(EvictionCause.QUOTA_RECLAIMED, "b3")},
            ),
        ),
    ),
)
