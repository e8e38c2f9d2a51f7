"""Rows of the scenario table about services, whose replicas are admitted one by one. Data only."""

from __future__ import annotations

from clusters.contract import EvictionCause, WaitCode
from tests.backends.scenario_words import (
    ABC,
    HIGH,
    LOW,
    Checkpoint,
    ClusterDef,
    Exit,
    HoldJob,
    Job,
    QueueDef,
    ResumeJob,
    Scale,
    Scenario,
    Settle,
    Submit,
    Victim,
    names,
)

SERVICES = (
    Scenario(
        "V8",
        "a service has one admission per replica; what is scaled away gives its cards back",
        ClusterDef(ABC),
        (
            Submit(Job("service", "b", 2, 4, kind="inference")),
            Checkpoint("both run", admitted=names("service"), replicas={"service": 2}),
            Submit(Job("rest", "a", 3, 8)),
            Settle(),
            Scale("service", 3),
            Checkpoint(
                "the third has no cards left",
                admitted=names("service rest"),
                running=names("rest"),
                replicas={"service": 2},
            ),
            Scale("service", 1),
            Checkpoint("one runs", admitted=names("service rest"), replicas={"service": 1}),
            HoldJob("service"),
            Checkpoint("held", admitted=names("rest"), held=names("service")),
            ResumeJob("service"),
            Checkpoint("back", admitted=names("service rest"), replicas={"service": 1}),
        ),
    ),
    Scenario(
        "V18",
        "a service takes its team's cards back from a gang that borrowed them, on the same nodes",
        ClusterDef((QueueDef("a", 8), QueueDef("b", 8)), nodes=(8, 8)),
        (
            Submit(Job("gang", "b", 2, 8)),
            Checkpoint("the gang borrows all", admitted=names("gang")),
            Submit(Job("service", "a", 2, 4, priority=HIGH, kind="inference")),
            Checkpoint(
                "the service runs",
                admitted=names("service"),
                waiting={"gang": None},
                victims={"gang": Victim(EvictionCause.QUOTA_RECLAIMED, "service")},
                replicas={"service": 2},
            ),
        ),
    ),
    Scenario(
        "S1",
        "a service takes cards back one replica at a time",
        ClusterDef((QueueDef("a", 16), QueueDef("b", 8)), nodes=(8, 8, 8)),
        (
            Submit(Job("b1", "b", 1, 8)),
            Settle(),
            Submit(Job("b2", "b", 1, 8)),
            Settle(),
            Submit(Job("b3", "b", 1, 8)),
            Checkpoint("b borrows 16", admitted=names("b1 b2 b3")),
            Submit(Job("service", "a", 1, 8, kind="inference")),
            Checkpoint(
                "one replica, one victim",
                admitted=names("b1 b2 service"),
                waiting={"b3": WaitCode.QUOTA},
                victims={"b3": Victim(EvictionCause.QUOTA_RECLAIMED, "service")},
            ),
            Scale("service", 2),
            Checkpoint(
                "two of each",
                admitted=names("b1 service"),
                waiting={"b2": WaitCode.QUOTA, "b3": WaitCode.QUOTA},
                victims={
                    "b2": Victim(EvictionCause.QUOTA_RECLAIMED, "service"),
                    "b3": Victim(EvictionCause.QUOTA_RECLAIMED, "service"),
                },
                replicas={"service": 2},
            ),
        ),
    ),
    Scenario(
        "S2",
        "a replica that is preempted waits and comes back by itself, the others go on",
        ClusterDef((QueueDef("a", 16),), nodes=(8, 8)),
        (
            Submit(Job("service", "a", 2, 8, priority=LOW, kind="inference")),
            Checkpoint("both run", admitted=names("service"), replicas={"service": 2}),
            Submit(Job("urgent", "a", 1, 8, priority=HIGH)),
            Checkpoint(
                "one is left",
                admitted=names("service urgent"),
                running=names("urgent"),
                replicas={"service": 1},
            ),
            Exit("urgent"),
            Checkpoint("both again", admitted=names("service"), succeeded=names("urgent"), replicas={"service": 2}),
        ),
    ),
)
