"""Rows of the scenario table about a team's own local queues that are held, drained and opened again. Data only."""

from __future__ import annotations

from clusters.contract import WaitCode
from tests.backends.scenario_words import (
    Cancel,
    Checkpoint,
    ClusterDef,
    Exit,
    HoldLocalQueues,
    Job,
    QueueDef,
    Scenario,
    Settle,
    Submit,
    names,
)

LOCAL_QUEUES = (
    Scenario(
        "L1",
        "in a held local queue nothing starts, what runs goes on, its sister goes on, and reopened it starts in order",
        ClusterDef((QueueDef("a", 16, local_queues=("default", "night")),), nodes=(8, 8)),
        (
            Submit(Job("n1", "a", 1, 8, local="night")),
            Checkpoint("one runs", admitted=names("n1")),
            HoldLocalQueues("a", held=("night",)),
            Settle(),
            Submit(Job("n2", "a", 1, 8, local="night")),
            Settle(),
            Submit(Job("n3", "a", 1, 8, local="night")),
            Checkpoint(
                "held: cards are free and nobody takes them",
                admitted=names("n1"),
                waiting={"n2": WaitCode.QUEUE_HELD, "n3": WaitCode.QUEUE_HELD},
            ),
            Submit(Job("d1", "a", 1, 8)),
            Checkpoint(
                "the sister's job starts before those that came earlier",
                admitted=names("n1 d1"),
                waiting={"n2": WaitCode.QUEUE_HELD, "n3": WaitCode.QUEUE_HELD},
            ),
            Exit("n1"),
            Checkpoint(
                "what ran has ended by itself",
                admitted=names("d1"),
                waiting={"n2": WaitCode.QUEUE_HELD, "n3": WaitCode.QUEUE_HELD},
                succeeded=names("n1"),
            ),
            HoldLocalQueues("a"),
            Checkpoint(
                "open again: the older goes first",
                admitted=names("d1 n2"),
                waiting={"n3": WaitCode.QUOTA},
                succeeded=names("n1"),
            ),
        ),
    ),
    Scenario(
        "L2",
        "all local queues of a team drain: what runs ends by itself, what waits keeps waiting and may be cancelled",
        ClusterDef((QueueDef("a", 8, local_queues=("default", "night")), QueueDef("b", 8)), nodes=(8, 8)),
        (
            Submit(Job("a1", "a", 1, 8)),
            Settle(),
            Submit(Job("b1", "b", 1, 8)),
            Settle(),
            Submit(Job("a2", "a", 1, 8, local="night")),
            Checkpoint("full", admitted=names("a1 b1"), waiting={"a2": WaitCode.QUOTA}),
            HoldLocalQueues("a", held=("default", "night")),
            Exit("a1"),
            Checkpoint(
                "empty, and nothing follows",
                admitted=names("b1"),
                waiting={"a2": WaitCode.QUEUE_HELD},
                succeeded=names("a1"),
            ),
            Cancel("a2"),
            Checkpoint("nothing is left of it", admitted=names("b1"), succeeded=names("a1")),
        ),
    ),
)
