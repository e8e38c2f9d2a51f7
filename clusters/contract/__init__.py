"""What the console asks of a scheduler, and the frozen values that travel both ways.

Pure: no ORM, no clock, no client library. Every backend (`clusters/backends/<kind>/`) implements
:class:`SchedulerBackend`; optional abilities are small protocols of their own, announced as a
:class:`Capability`, so that callers ask for the ability and never for the class.

``intent`` and ``quotas`` go down, ``facts`` and ``inventory`` come up, ``errors`` may come instead, ``backend`` is who
answers. Everybody imports from here.

Times are timezone-aware UTC datetimes. Cards are exact integers in the node group's own unit.
"""

from __future__ import annotations

from clusters.contract.backend import (
    SECRET_PREFIX,
    Capability,
    Holdable,
    LogChunk,
    LogLine,
    NodeKeeper,
    Preflightable,
    Prioritised,
    Scalable,
    SchedulerBackend,
    Scope,
    SecretKeeper,
    Steerable,
    Tidying,
    TidyReport,
    Tracing,
    Watchable,
)
from clusters.contract.errors import (
    BackendError,
    Rejected,
    Retryable,
    Unauthorized,
)
from clusters.contract.facts import (
    INFRASTRUCTURE_FAILURES,
    EvictionCause,
    Failure,
    FailureCode,
    Observation,
    ObservedObject,
    Outcome,
    PodFacts,
    PodPhase,
    Wait,
    WaitCode,
    WorkloadFacts,
)
from clusters.contract.found import Discovering, FoundCards, FoundLocalQueue, FoundQueueFacts, FoundQueues
from clusters.contract.intent import (
    DEVICE_VARIABLES,
    GIT_ADDRESS,
    GIT_REVISION,
    POD_ROOT,
    Code,
    CodeKind,
    Mount,
    WorkloadRef,
    WorkloadSpec,
)
from clusters.contract.inventory import (
    REPLICAS_MAX,
    CardHolder,
    ClusterInventory,
    NodeCondition,
    NodeFacts,
    NodeGroupFacts,
    NodeHealth,
    NodeTrouble,
    Part,
    SharingMode,
)
from clusters.contract.quotas import (
    DriftField,
    GroupQuota,
    QueuePlan,
    QuotaChange,
    QuotaDrift,
    QuotaPlan,
    QuotaSyncReport,
)

__all__ = [
    "DEVICE_VARIABLES",
    "GIT_ADDRESS",
    "GIT_REVISION",
    "INFRASTRUCTURE_FAILURES",
    "POD_ROOT",
    "REPLICAS_MAX",
    "SECRET_PREFIX",
    "BackendError",
    "Capability",
    "CardHolder",
    "ClusterInventory",
    "Code",
    "CodeKind",
    "Discovering",
    "DriftField",
    "EvictionCause",
    "Failure",
    "FailureCode",
    "FoundCards",
    "FoundLocalQueue",
    "FoundQueueFacts",
    "FoundQueues",
    "GroupQuota",
    "Holdable",
    "LogChunk",
    "LogLine",
    "Mount",
    "NodeCondition",
    "NodeFacts",
    "NodeGroupFacts",
    "NodeHealth",
    "NodeKeeper",
    "NodeTrouble",
    "Observation",
    "ObservedObject",
    "Outcome",
    "Part",
    "PodFacts",
    "PodPhase",
    "Preflightable",
    "Prioritised",
    "QueuePlan",
    "QuotaChange",
    "QuotaDrift",
    "QuotaPlan",
    "QuotaSyncReport",
    "Rejected",
    "Retryable",
    "Scalable",
    "SchedulerBackend",
    "Scope",
    "SecretKeeper",
    "SharingMode",
    "Steerable",
    "TidyReport",
    "Tidying",
    "Tracing",
    "Unauthorized",
    "Wait",
    "WaitCode",
    "Watchable",
    "WorkloadFacts",
    "WorkloadRef",
    "WorkloadSpec",
]
