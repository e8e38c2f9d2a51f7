"""What shall be on a cluster: one attempt of a job."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

POD_ROOT = "/sluice"
"""Everything the platform mounts into a pod lies under this folder."""

DEVICE_VARIABLES = frozenset(
    {"NVIDIA_VISIBLE_DEVICES", "ASCEND_VISIBLE_DEVICES", "AMD_VISIBLE_DEVICES", "HABANA_VISIBLE_DEVICES"}
)
"""Container runtimes take these as orders and would hand out cards of others, so nobody but a cluster sets them."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder of a named volume of the team, inside the job's pods."""

    volume: str  # the volume's name on the cluster
    folder: str  # inside the volume, relative; '' = all of it
    path: str  # inside the pod, absolute
    read_only: bool = False


class CodeKind(StrEnum):
    IMAGE = "image"  # the image brings it
    GIT = "git"
    ARCHIVE = "archive"  # uploaded, unpacked by the console into the job's folder


GIT_ADDRESS = r"https://[0-9A-Za-z.-]+(:[0-9]{1,5})?(/[0-9A-Za-z._~+-]+)+/?"
"""Of a repository that everybody may read: no credentials, no query, nothing that looks like a program's option."""
GIT_REVISION = r"[0-9A-Za-z][0-9A-Za-z._/+-]{0,199}"
"""A branch, tag or commit."""


@dataclass(frozen=True, slots=True)
class Code:
    """Where the program comes from. ``address`` and ``revision`` for git; ``mount`` for an archive."""

    kind: CodeKind = CodeKind.IMAGE
    address: str = ""
    revision: str = ""
    mount: Mount | None = None


@dataclass(frozen=True, slots=True)
class WorkloadSpec:
    """One attempt of a job as a backend shall create it. Submitting the same spec twice is one object."""

    job_ulid: str
    attempt: int  # from 1
    object_name: str  # DNS label, unique per (job, attempt)
    spec_hash: str
    space: str  # the team's own space in the cluster
    queue: str  # team queue
    local_queue: str
    node_group: str | None  # None: no cards wanted
    priority: int  # 100..450, decision 11
    kind: str  # training | development | inference
    framework: str
    image: str
    command: str
    env: tuple[tuple[str, str], ...]
    pods: int
    cards_per_pod: int
    cpu_millis: int  # per pod; 0 = follow from the cards
    memory_bytes: int  # per pod; 0 = follow from the cards
    stop_grace: timedelta
    max_run: timedelta | None
    display_name: str = ""
    code: Code = Code()
    mounts: tuple[Mount, ...] = ()
    checkpoint_dir: str = ""  # inside the pod; '' = the cluster has no storage for it
    results_dir: str = ""
    env_secrets: tuple[str, ...] = ()  # names of the team's secrets on the cluster whose values become variables
    pull_secrets: tuple[str, ...] = ()  # names of the team's registry credentials on the cluster
    as_root: bool = True  # False: the team's programs must not run as root
    avoid_nodes: tuple[str, ...] = ()  # sorted names of nodes on which no pod of it is placed

    @property
    def cards(self) -> int:
        return self.pods * self.cards_per_pod


@dataclass(frozen=True, slots=True)
class WorkloadRef:
    """Names one attempt's object. ``uid`` is None until the cluster has given one."""

    job_ulid: str
    attempt: int
    space: str
    object_name: str
    uid: str | None = None
    kind: str = "training"
