"""What any scheduler behind the console must decide: one table of clusters, jobs and expected outcomes.

Data only. The table runs on the bare engine, through the sandbox backend, and on the real control plane, so it
never speaks of seconds: a driver owns time and faults (see ``scenario_runner``). Jobs run until a step ends them.
Where the newest of several admissions or the oldest of several jobs matters, they are settled one by one, as a real
cluster keeps whole seconds.

``V`` rows were seen on Kueue and Volcano, ``W`` rows follow the order of one admission cycle, ``E`` rows the
search for victims, ``S`` rows are about services, ``L`` rows about local queues, ``C`` rows are cases from the field.
"""

from __future__ import annotations

from clusters.contract import EvictionCause, FailureCode, WaitCode
from tests.backends.scenario_words import (
    ABC,
    HIGH,
    LOW,
    NORMAL,
    Checkpoint,
    ClusterDef,
    Cordon,
    EvictPod,
    Exit,
    Failed,
    HoldJob,
    HoldQueue,
    Job,
    Numbers,
    QueueDef,
    ResumeJob,
    Scenario,
    Settle,
    Submit,
    Victim,
    names,
)
from tests.backends.scenarios_borrowing import BORROWING
from tests.backends.scenarios_local_queues import LOCAL_QUEUES
from tests.backends.scenarios_order import ORDER
from tests.backends.scenarios_services import SERVICES
from tests.backends.scenarios_textbook import TEXTBOOK

SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        "V1",
        "a gang is admitted, runs whole, and succeeds when all its pods do",
        ClusterDef(ABC),
        (
            Submit(Job("gang", "a", 2, 4)),
            Checkpoint("running", admitted=names("gang")),
            Exit("gang", 0, rank=0),
            Checkpoint("one rank is done", admitted=names("gang"), running=names("")),
            Exit("gang", 0),
            Checkpoint("over", succeeded=names("gang")),
        ),
    ),
    Scenario(
        "V2",
        "without topology-aware admission a job within quota that fits on no node is admitted and stays without one",
        ClusterDef(ABC, topology_aware=False),
        (
            Submit(Job("a1", "a", 1, 5), Job("a2", "a", 1, 5), Job("b1", "b", 1, 5), Job("b2", "b", 1, 5)),
            Checkpoint("5 of 8 cards used on every node", admitted=names("a1 a2 b1 b2")),
            Submit(Job("whole", "c", 1, 8)),
            Checkpoint(
                "admitted, no node",
                admitted=names("a1 a2 b1 b2 whole"),
                running=names("a1 a2 b1 b2"),
                unplaceable=names("whole"),
            ),
            Submit(Job("small", "a", 1, 3)),
            Checkpoint(
                "it does not stand in the way of others",
                admitted=names("a1 a2 b1 b2 whole small"),
                running=names("a1 a2 b1 b2 small"),
                unplaceable=names("whole"),
            ),
            Exit("small"),
            Exit("b1"),
            Checkpoint("a node came free", admitted=names("a1 a2 b2 whole"), succeeded=names("small b1")),
        ),
    ),
    Scenario(
        "V3",
        "with topology-aware admission the same job stays queued and holds no quota",
        ClusterDef(ABC),
        (
            Submit(Job("a1", "a", 1, 5), Job("a2", "a", 1, 5), Job("b1", "b", 1, 5), Job("b2", "b", 1, 5)),
            Checkpoint("5 of 8 cards used on every node", admitted=names("a1 a2 b1 b2")),
            Submit(Job("whole", "c", 1, 8)),
            Checkpoint("no place", admitted=names("a1 a2 b1 b2"), waiting={"whole": WaitCode.PLACES}),
            Submit(Job("small", "c", 1, 3)),
            Checkpoint("a smaller one passes it", admitted=names("a1 a2 b1 b2 small"), waiting={"whole": None}),
            Exit("small"),
            Exit("b1"),
            Checkpoint("a node came free", admitted=names("a1 a2 b2 whole"), succeeded=names("small b1")),
        ),
    ),
    Scenario(
        "V4",
        "an owner takes its cards back from the newest borrower, who is queued again",
        ClusterDef(ABC),
        (
            Submit(Job("a1", "a", 1, 8)),
            Settle(),
            Submit(Job("a2", "a", 1, 8)),
            Settle(),
            Submit(Job("c1", "c", 1, 8)),
            Settle(),
            Submit(Job("a3", "a", 1, 8)),
            Checkpoint("a borrows 11", admitted=names("a1 a2 a3 c1")),
            Submit(Job("b1", "b", 1, 8)),
            Checkpoint(
                "b has its cards",
                admitted=names("a1 a2 c1 b1"),
                waiting={"a3": WaitCode.QUOTA},
                victims={"a3": Victim(EvictionCause.QUOTA_RECLAIMED, "b1")},
                numbers={"a3": Numbers(asked=8, nominal=13, used=16)},
            ),
            Exit("b1"),
            Checkpoint(
                "idle again: a borrows again",
                admitted=names("a1 a2 a3 c1"),
                succeeded=names("b1"),
                victims={"a3": Victim(EvictionCause.QUOTA_RECLAIMED, "b1")},
            ),
        ),
    ),
    Scenario(
        "V5",
        "hold frees the quota of a running job, resume brings it back at its old place",
        ClusterDef((QueueDef("a", 8),), nodes=(8,)),
        (
            Submit(Job("first", "a", 1, 8)),
            Settle(),
            Submit(Job("second", "a", 1, 8)),
            Settle(),
            Submit(Job("third", "a", 1, 8)),
            Checkpoint(
                "one runs",
                admitted=names("first"),
                waiting={"second": WaitCode.QUOTA, "third": WaitCode.QUOTA},
            ),
            HoldJob("first"),
            Checkpoint(
                "held",
                admitted=names("second"),
                held=names("first"),
                waiting={"third": WaitCode.QUOTA},
                victims={"first": Victim(EvictionCause.HELD)},
            ),
            ResumeJob("first"),
            Settle(),
            Exit("second"),
            Checkpoint(
                "resumed before those who came later",
                admitted=names("first"),
                waiting={"third": WaitCode.QUOTA},
                succeeded=names("second"),
                victims={"first": Victim(EvictionCause.HELD)},
            ),
        ),
    ),
    Scenario(
        "V7",
        "one failing pod fails its gang at once",
        ClusterDef(ABC),
        (
            Submit(Job("gang", "a", 2, 4), Job("other", "b", 1, 4)),
            Checkpoint("running", admitted=names("gang other")),
            Exit("gang", 3, rank=1),
            Checkpoint(
                "over", admitted=names("other"), failed={"gang": Failed(FailureCode.APP_EXIT, rank=1, exit_code=3)}
            ),
        ),
    ),
    Scenario(
        "V9",
        "inside a queue each higher priority evicts the lower one, and nobody else",
        ClusterDef(ABC),
        (
            Submit(Job("b1", "b", 1, 8), Job("b2", "b", 1, 2, LOW), Job("c1", "c", 1, 8), Job("c2", "c", 1, 1, LOW)),
            Settle(),
            Submit(Job("low", "a", 1, 8, LOW)),
            Checkpoint("full but for 5", admitted=names("b1 b2 c1 c2 low")),
            Submit(Job("normal", "a", 1, 8, NORMAL)),
            Checkpoint(
                "normal took the place of low",
                admitted=names("b1 b2 c1 c2 normal"),
                waiting={"low": WaitCode.ABOVE_NOMINAL},
                victims={"low": Victim(EvictionCause.HIGHER_PRIORITY, "normal")},
            ),
            Submit(Job("high", "a", 1, 8, HIGH)),
            Checkpoint(
                "high took the place of normal",
                admitted=names("b1 b2 c1 c2 high"),
                waiting={"low": WaitCode.ABOVE_NOMINAL, "normal": WaitCode.ABOVE_NOMINAL},
                victims={
                    "low": Victim(EvictionCause.HIGHER_PRIORITY, "normal"),
                    "normal": Victim(EvictionCause.HIGHER_PRIORITY, "high"),
                },
            ),
            Submit(Job("high2", "a", 1, 8, HIGH)),
            Checkpoint(
                "equal priorities never evict each other",
                admitted=names("b1 b2 c1 c2 high"),
                waiting={"low": None, "normal": None, "high2": WaitCode.ABOVE_NOMINAL},
                victims={
                    "low": Victim(EvictionCause.HIGHER_PRIORITY, "normal"),
                    "normal": Victim(EvictionCause.HIGHER_PRIORITY, "high"),
                },
            ),
        ),
    ),
    Scenario(
        "V10",
        "who would end above the own nominal cannot take anything back",
        ClusterDef(ABC),
        (
            Submit(Job("a1", "a", 1, 8), Job("c1", "c", 1, 8), Job("b1", "b", 1, 8)),
            Settle(),
            Submit(Job("b2", "b", 1, 8)),
            Checkpoint("b borrows 6", admitted=names("a1 b1 b2 c1")),
            Submit(Job("a2", "a", 1, 8)),
            Checkpoint(
                "a2 would have to borrow 3",
                admitted=names("a1 b1 b2 c1"),
                waiting={"a2": WaitCode.ABOVE_NOMINAL},
                numbers={"a2": Numbers(asked=8, nominal=13, used=8)},
            ),
        ),
    ),
    Scenario(
        "V12",
        "a gang larger than its team's nominal evicts nobody, and starts whole once enough cards are idle",
        ClusterDef(ABC),
        (
            Submit(Job("a1", "a", 1, 8, LOW), Job("b1", "b", 1, 8, LOW), Job("c1", "c", 1, 8, LOW)),
            Settle(),
            Submit(Job("a2", "a", 1, 8, LOW)),
            Checkpoint("a borrows 3", admitted=names("a1 a2 b1 c1")),
            Submit(Job("gang", "b", 2, 8, HIGH)),
            Checkpoint(
                "not even the own low job",
                admitted=names("a1 a2 b1 c1"),
                waiting={"gang": WaitCode.ABOVE_NOMINAL},
                numbers={"gang": Numbers(asked=16, nominal=10, used=8)},
            ),
            Exit("c1"),
            Checkpoint(
                "8 idle are not enough",
                admitted=names("a1 a2 b1"),
                waiting={"gang": WaitCode.ABOVE_NOMINAL},
                succeeded=names("c1"),
            ),
            Exit("a2"),
            Checkpoint("both pods run", admitted=names("a1 b1 gang"), succeeded=names("c1 a2")),
        ),
    ),
    Scenario(
        "V13",
        "a gang that loses one pod to the cluster stops as a whole",
        ClusterDef(ABC),
        (
            Submit(Job("gang", "a", 2, 4)),
            Checkpoint("running", admitted=names("gang")),
            EvictPod("gang", 1),
            Checkpoint("over", failed={"gang": Failed(FailureCode.DISRUPTION, rank=1)}),
        ),
    ),
    *ORDER,
    *BORROWING,
    *TEXTBOOK,
    Scenario(
        "Q1",
        "a held queue admits nobody and lets the running go on; drained, it evicts them until it is open again",
        ClusterDef(ABC),
        (
            Submit(Job("a1", "a", 1, 8)),
            Settle(),
            HoldQueue("a"),
            Submit(Job("a2", "a", 1, 4), Job("b1", "b", 1, 4)),
            Checkpoint("held", admitted=names("a1 b1"), waiting={"a2": WaitCode.QUEUE_HELD}),
            HoldQueue("a", drain=True),
            Checkpoint(
                "drained",
                admitted=names("b1"),
                waiting={"a1": WaitCode.QUEUE_HELD, "a2": WaitCode.QUEUE_HELD},
                victims={"a1": Victim(EvictionCause.QUEUE_DRAINED)},
            ),
            HoldQueue("a", held=False),
            Checkpoint("open", admitted=names("a1 a2 b1"), victims={"a1": Victim(EvictionCause.QUEUE_DRAINED)}),
        ),
    ),
    Scenario(
        "Q2",
        "what can never start says so with the most there is; what is not offered says that",
        ClusterDef((QueueDef("a", 16), QueueDef("b", 8), QueueDef("d", None)), pool=8),
        (
            Submit(Job("huge", "a", 5, 8), Job("foreign", "d", 1, 1)),
            Checkpoint(
                "never",
                waiting={"huge": WaitCode.NEVER_FITS, "foreign": WaitCode.NOT_OFFERED},
                numbers={"huge": Numbers(asked=40, maximum=32)},
            ),
        ),
    ),
    Scenario(
        "N1",
        "a cordoned node takes no new work and stops nothing",
        ClusterDef((QueueDef("a", 16),), nodes=(8, 8)),
        (
            Submit(Job("first", "a", 1, 8)),
            Checkpoint("running", admitted=names("first")),
            Cordon("n1"),
            Cordon("n2"),
            Submit(Job("second", "a", 1, 8)),
            Checkpoint("no place", admitted=names("first"), waiting={"second": WaitCode.PLACES}),
            Cordon("n1", cordoned=False),
            Cordon("n2", cordoned=False),
            Checkpoint("open", admitted=names("first second")),
        ),
    ),
    Scenario(
        "C26",
        "quota that is lent out and may not be taken back is waited for",
        ClusterDef((QueueDef("alpha", 2), QueueDef("beta", 2, reclaims=False)), nodes=(4,)),
        (
            Submit(Job("borrower", "alpha", 1, 4)),
            Checkpoint("alpha borrows 2", admitted=names("borrower")),
            Submit(Job("owner", "beta", 1, 2)),
            Checkpoint(
                "nothing used, nothing free",
                admitted=names("borrower"),
                waiting={"owner": WaitCode.QUOTA},
                numbers={"owner": Numbers(asked=2, nominal=2, used=0)},
            ),
            Exit("borrower"),
            Checkpoint("returned", admitted=names("owner"), succeeded=names("borrower")),
        ),
    ),
    Scenario(
        "C28",
        "a gang is never admitted with fewer pods than it asked for",
        ClusterDef(ABC),
        (
            Submit(Job("small", "a", 1, 1)),
            Settle(),
            Submit(Job("gang", "b", 4, 8)),
            Checkpoint("31 of 32 are free", admitted=names("small"), waiting={"gang": WaitCode.ABOVE_NOMINAL}),
            Exit("small"),
            Checkpoint("whole", admitted=names("gang"), succeeded=names("small")),
        ),
    ),
    *SERVICES,
    *LOCAL_QUEUES,
)
