"""What the builders must know of a cluster, as the caller read it, and the checks of what reaches them. Pure.

The builders of this package, all pure functions of their arguments:

- :func:`manifests.job_manifest`, :func:`manifests.pod_group_manifest`, :func:`manifests.service_manifest`,
  :func:`manifests.secret_manifest`
- :func:`inference.deployment_manifest`
- :func:`quota_objects.quota_objects` and :func:`quota_order.decreases_first`
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from clusters.backends.kueue_volcano import names
from clusters.contract import (
    GIT_ADDRESS,
    GIT_REVISION,
    POD_ROOT,
    Code,
    CodeKind,
    Mount,
    Rejected,
    SharingMode,
    WorkloadSpec,
)

Manifest = dict[str, Any]

HOME = f"{POD_ROOT}/home"
HOSTS_FOLDER = f"{POD_ROOT}/hosts"
GIT_FOLDER = f"{POD_ROOT}/code"


@dataclass(frozen=True, slots=True)
class GroupShape:
    """A node group: what its cards are called, where they are, and how large a node is."""

    resource: str
    selector: tuple[tuple[str, str], ...]
    cards_per_node: int
    cpu_millis_per_node: int  # allocatable; 0 = not known, then pods ask for none
    memory_bytes_per_node: int  # allocatable; 0 = not known
    rdma_resource: str = ""  # each pod with cards asks for one
    sharing: SharingMode | None = None  # None: however its cards are shared


@dataclass(frozen=True, slots=True)
class ClusterShape:
    """A cluster as the builders see it."""

    installation: str  # value of the installation's label
    groups: Mapping[str, GroupShape]  # by slug; those that jobs and quota may be given to
    topology_aware: bool = True
    topology_levels: tuple[str, ...] = (names.HOSTNAME,)  # node labels, widest first
    has_volcano: bool = True
    git_image: str = ""  # '' = no code from git addresses
    ceiling: timedelta | None = None  # the longest run the policy allows anybody
    asides: Mapping[str, GroupShape] = field(default_factory=dict)  # claim nodes, and get nothing
    proposed: Mapping[str, GroupShape] = field(default_factory=dict)  # as of the newest look, so that they keep a name

    def group(self, slug: str) -> GroupShape:
        """Raises Rejected("unknown_node_group")."""
        try:
            return self.groups[slug]
        except KeyError as error:
            raise Rejected("unknown_node_group", slug) from error

    def chooses_nodes(self, slug: str) -> bool:
        """Whether the gate places pods of this group itself. It needs a label to find the group's nodes by."""
        return self.topology_aware and bool(self.group(slug).selector)


_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_CLAIM = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_ULID = re.compile(r"[0-9A-Za-z]{26}")
_HASH = re.compile(r"[0-9a-z]{1,64}")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_spec(spec: WorkloadSpec) -> None:
    """Refuse a spec whose words could mean something else to a cluster. Raises Rejected("spec_refused").

    The services have checked what people typed; this is the second lock on the door, where a name becomes part
    of an object. Texts that stay values (image, command, environment, display name) need no lock.
    """
    words = (
        (_LABEL, (spec.object_name, spec.space, spec.queue, spec.local_queue)),
        (_ULID, (spec.job_ulid,)),
        (_HASH, (spec.spec_hash,)),
        (_CLAIM, (*spec.env_secrets, *spec.pull_secrets, *(mount.volume for mount in mounts_of(spec)))),
        (_ENV_NAME, tuple(name for name, _value in spec.env)),
    )
    for pattern, values in words:
        for value in values:
            _ensure(pattern.fullmatch(value) is not None, value)
    _ensure(spec.attempt >= 1 and spec.pods >= 1 and spec.cards_per_pod >= 0, "shape")
    _ensure((spec.node_group is None) == (spec.cards_per_pod == 0), "node group")
    _ensure(spec.priority in names.PRIORITY_VALUES, f"priority {spec.priority}")
    _ensure(spec.kind in names.POD_PRIORITIES, spec.kind)
    _check_code(spec.code)
    mounts = mounts_of(spec)
    for mount in mounts:
        _check_mount(mount)
    paths = [mount.path for mount in mounts]
    taken = {HOME, HOSTS_FOLDER} | ({GIT_FOLDER} if spec.code.kind is CodeKind.GIT else set())
    _ensure(len(paths) == len({*paths, *taken}) - len(taken), "two mounts at one path")
    for path in (spec.checkpoint_dir, spec.results_dir):
        _ensure(not path or path in paths, path)


def mounts_of(spec: WorkloadSpec) -> tuple[Mount, ...]:
    """Every folder of a volume that the pods see, an uploaded archive among them."""
    code = spec.code
    return spec.mounts + ((code.mount,) if code.kind is CodeKind.ARCHIVE and code.mount is not None else ())


def _check_mount(mount: Mount) -> None:
    _ensure(mount.path.startswith(f"{POD_ROOT}/") and posixpath.normpath(mount.path) == mount.path, mount.path)
    _ensure(":" not in mount.path and mount.path.isprintable(), mount.path)
    if mount.folder:
        parts = mount.folder.split("/")
        _ensure(not any(part in ("", ".", "..") for part in parts) and mount.folder.isprintable(), mount.folder)


def _check_code(code: Code) -> None:
    if code.kind is CodeKind.GIT:
        _ensure(re.fullmatch(GIT_ADDRESS, code.address) is not None, code.address)
        _ensure(not code.revision or re.fullmatch(GIT_REVISION, code.revision) is not None, code.revision)
    if code.kind is CodeKind.ARCHIVE:
        _ensure(code.mount is not None, "archive without a folder")


def _ensure(holds: bool, what: str) -> None:
    if not holds:
        raise Rejected("spec_refused", what)
