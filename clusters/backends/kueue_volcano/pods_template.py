"""The pods of a job: one container of the person's image, and everything the platform puts around it. Pure.

Built from an allow-list (decision 34): every key is written here, and what a person typed only ever becomes a value.
Nothing here reaches the host, another space or a service account.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.frameworks import (
    RANK,
    SHELL,
    Start,
    command_argv,
    start_of,
    verbatim,
)
from clusters.backends.kueue_volcano.shape import (
    GIT_FOLDER,
    HOME,
    HOSTS_FOLDER,
    ClusterShape,
    GroupShape,
    Manifest,
    mounts_of,
)
from clusters.backends.kueue_volcano.steering import elsewhere
from clusters.contract import DEVICE_VARIABLES, Code, CodeKind, Mount, Rejected, WorkloadSpec

MAIN = "main"
NOBODY = 65534

_CLONE = """\
set -eu
umask 0
git init -q "$3"
cd "$3"
git remote add origin "$1"
if ! git fetch -q --depth 1 origin "$2"; then
  git fetch -q origin
  git checkout -q --detach "$2" --
else
  git checkout -q --detach FETCH_HEAD --
fi
"""


@dataclass(frozen=True, slots=True)
class Size:
    """What one pod asks for. 0 = it says nothing about it."""

    cpu_millis: int
    memory_bytes: int


def pod_template(spec: WorkloadSpec, shape: ClusterShape, *, ranked: bool) -> Manifest:
    """Metadata and spec of a job's pods. ``ranked`` pods form a gang; others are replicas that stand alone."""
    group = shape.group(spec.node_group) if spec.node_group is not None else None
    start = start_of(spec) if ranked else Start(argv=command_argv(spec))
    size = size_of(spec, group)
    annotations: dict[str, str] = {}
    if spec.node_group is not None and shape.chooses_nodes(spec.node_group):
        annotations.update(topology_request(shape))
    if start.hostfile:
        annotations.update({names.HOSTFILE: start.hostfile, names.MACHINEFILE: start.machinefile})
    containers: Manifest = {"containers": [_main_container(spec, group, size, start, ranked=ranked)]}
    if spec.code.kind is CodeKind.GIT:
        containers = {"initContainers": [_clone_container(spec, shape, size)], **containers}
    pod: Manifest = {
        "restartPolicy": "Never" if ranked else "Always",
        "schedulerName": names.VOLCANO_SCHEDULER if ranked and shape.has_volcano else names.DEFAULT_SCHEDULER,
        "priorityClassName": names.POD_PRIORITIES[spec.kind],
        "terminationGracePeriodSeconds": int(spec.stop_grace.total_seconds()),
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": _pod_security(spec),
        **({"nodeSelector": dict(group.selector)} if group is not None and group.selector else {}),
        **({"tolerations": [_own_taint(group)]} if group is not None else {}),
        **({"affinity": elsewhere(spec.avoid_nodes)} if spec.avoid_nodes else {}),
        **({"imagePullSecrets": [{"name": name} for name in spec.pull_secrets]} if spec.pull_secrets else {}),
        **containers,
        "volumes": _volumes(spec, size, start),
    }
    return {
        "metadata": {"labels": object_labels(spec, shape), **({"annotations": annotations} if annotations else {})},
        "spec": pod,
    }


def _own_taint(group: GroupShape) -> Manifest:
    """Nodes with cards are often kept for pods that ask for such cards, by a taint of the cards' own name."""
    return {"key": group.resource, "operator": "Exists", "effect": "NoSchedule"}


def object_labels(spec: WorkloadSpec, shape: ClusterShape) -> dict[str, str]:
    """The labels by which objects of an attempt are found again."""
    labels = {
        names.INSTALLATION: shape.installation,
        names.JOB: spec.job_ulid.lower(),
        names.ATTEMPT: str(spec.attempt),
    }
    return labels | ({names.GROUP: spec.node_group} if spec.node_group is not None else {})


def topology_request(shape: ClusterShape) -> dict[str, str]:
    """Always explicit (decision 14): on any hosts, and where there are wider levels together in the narrowest."""
    if len(shape.topology_levels) > 1:
        return {names.TOPOLOGY_PREFERRED: shape.topology_levels[-2]}
    return {names.TOPOLOGY_UNCONSTRAINED: "true"}


def size_of(spec: WorkloadSpec, group: GroupShape | None) -> Size:
    """CPU and memory of a pod: as the spec says, else nine tenths of the node in proportion to its cards."""
    cpu, memory = spec.cpu_millis, spec.memory_bytes
    if group is not None:
        tenths = 10 * max(1, group.cards_per_node)
        cpu = cpu or 9 * group.cpu_millis_per_node * spec.cards_per_pod // tenths
        memory = memory or 9 * group.memory_bytes_per_node * spec.cards_per_pod // tenths
    return Size(cpu, memory)


# --------------------------------------------------------------------------- containers


def _main_container(
    spec: WorkloadSpec, group: GroupShape | None, size: Size, start: Start, *, ranked: bool
) -> Manifest:
    secrets = [{"secretRef": {"name": name, "optional": False}} for name in spec.env_secrets]
    return {
        "name": MAIN,
        "image": spec.image,
        **({"command": list(start.argv)} if start.argv else {}),
        **({"workingDir": folder} if (folder := _code_folder(spec.code)) else {}),
        **({"envFrom": secrets} if secrets else {}),
        "env": _environment(spec, start, ranked=ranked),
        "resources": _resources(spec, group, size),
        "securityContext": _container_security(rdma=group is not None and bool(group.rdma_resource)),
        "volumeMounts": _volume_mounts(spec, start),
    }


def _clone_container(spec: WorkloadSpec, shape: ClusterShape, size: Size) -> Manifest:
    """Fetches the revision before the person's program starts; sees neither its secrets nor its folders.

    It is nobody, whoever the program will be, and leaves files that everybody may write.
    """
    if not shape.git_image:
        raise Rejected("no_git_image", spec.code.address)
    argv = (_CLONE, "clone", spec.code.address, spec.code.revision or "HEAD", GIT_FOLDER)
    asked = _quantities(size)
    return {
        "name": "code",
        "image": shape.git_image,
        "command": [SHELL, "-c", *(verbatim(part) for part in argv)],
        "env": [
            {"name": "HOME", "value": "/tmp"},
            {"name": "GIT_ALLOW_PROTOCOL", "value": "https"},
            {"name": "GIT_TERMINAL_PROMPT", "value": "0"},
        ],
        "resources": {"requests": asked, "limits": asked} if asked else {},
        "securityContext": {**_container_security(rdma=False), "runAsNonRoot": True, "runAsUser": NOBODY},
        "volumeMounts": [{"name": "code", "mountPath": GIT_FOLDER}],
    }


def _environment(spec: WorkloadSpec, start: Start, *, ranked: bool) -> list[Manifest]:
    """Comforts, which the person's own replace; then the person's; then the platform's, which nothing replaces."""
    platform = dict(_platform_variables(spec, ranked=ranked) + start.variables)
    forbidden = platform.keys() | DEVICE_VARIABLES | {RANK}
    own = {name: verbatim(value) for name, value in spec.env if name not in forbidden}
    comforts = {
        "HOME": HOME,
        "USER": "job",
        "LOGNAME": "job",
        "XDG_CACHE_HOME": f"{HOME}/.cache",
        "PYTHONUNBUFFERED": "1",
    }
    before = [{"name": name, "value": value} for name, value in (comforts | own).items() if name not in platform]
    rank = {"name": RANK, "valueFrom": {"fieldRef": {"fieldPath": f"metadata.annotations['{names.COMPLETION_INDEX}']"}}}
    return [*before, *([rank] if ranked else []), *({"name": name, "value": value} for name, value in platform.items())]


def _platform_variables(spec: WorkloadSpec, *, ranked: bool) -> tuple[tuple[str, str], ...]:
    variables = [
        ("SLUICE_JOB_ID", spec.job_ulid),
        ("SLUICE_ATTEMPT", str(spec.attempt)),
        ("SLUICE_CARDS", str(spec.cards)),
        ("SLUICE_CARDS_PER_POD", str(spec.cards_per_pod)),
    ]
    if ranked:
        variables.append(("SLUICE_WORLD_SIZE", str(spec.pods)))
    if spec.checkpoint_dir:
        variables += [("SLUICE_CHECKPOINT_DIR", spec.checkpoint_dir), ("SLUICE_RESUME", "auto")]
    if spec.results_dir:
        variables.append(("SLUICE_RESULTS_DIR", spec.results_dir))
    if folder := _code_folder(spec.code):
        variables.append(("SLUICE_CODE_DIR", folder))
    if spec.cards_per_pod == 0:
        variables += [(name, "void") for name in sorted(DEVICE_VARIABLES)]
    return tuple(variables)


def _resources(spec: WorkloadSpec, group: GroupShape | None, size: Size) -> Manifest:
    """Cards, memory and RDMA are asked for and limited alike; a pod with cards may use more CPU while it is idle."""
    asked = _quantities(size)
    devices: dict[str, str] = {}
    if group is not None:
        devices[group.resource] = str(spec.cards_per_pod)
        if group.rdma_resource:
            devices[group.rdma_resource] = "1"
    limits = {name: value for name, value in asked.items() if name != "cpu" or group is None}
    return {"requests": asked | devices, "limits": limits | devices} if asked or devices else {}


def _quantities(size: Size) -> dict[str, str]:
    cpu = {"cpu": f"{size.cpu_millis}m"} if size.cpu_millis else {}
    memory = {"memory": str(size.memory_bytes)} if size.memory_bytes else {}
    return cpu | memory


def _pod_security(spec: WorkloadSpec) -> Manifest:
    return {"seccompProfile": {"type": "RuntimeDefault"}, **({} if spec.as_root else {"runAsNonRoot": True})}


def _container_security(*, rdma: bool) -> Manifest:
    """RDMA needs to pin memory; no other capability is ever given."""
    capabilities = {"drop": ["ALL"], **({"add": ["IPC_LOCK"]} if rdma else {})}
    return {"allowPrivilegeEscalation": False, "capabilities": capabilities}


# --------------------------------------------------------------------------- folders


def _code_folder(code: Code) -> str:
    if code.kind is CodeKind.GIT:
        return GIT_FOLDER
    return code.mount.path if code.kind is CodeKind.ARCHIVE and code.mount is not None else ""


def _claims(mounts: Iterable[Mount]) -> dict[str, str]:
    """Claim → the pod's name for it; every claim appears once, however many of its folders are mounted."""
    return {claim: f"claim-{number}" for number, claim in enumerate(dict.fromkeys(mount.volume for mount in mounts))}


def _volumes(spec: WorkloadSpec, size: Size, start: Start) -> list[Manifest]:
    shared_memory: Manifest = {"medium": "Memory"}
    if size.memory_bytes:
        shared_memory["sizeLimit"] = str(size.memory_bytes // 2)  # counts as memory of the pod, so it must leave some
    volumes: list[Manifest] = [
        {"name": "shm", "emptyDir": shared_memory},
        {"name": "home", "emptyDir": {}},
    ]
    if spec.code.kind is CodeKind.GIT:
        volumes.append({"name": "code", "emptyDir": {}})
    if start.hostfile:
        items = [
            {"path": path, "fieldRef": {"fieldPath": f"metadata.annotations['{key}']"}}
            for path, key in (("hostfile", names.HOSTFILE), ("machinefile", names.MACHINEFILE))
        ]
        volumes.append({"name": "hosts", "downwardAPI": {"items": items}})
    claims = _claims(mounts_of(spec)).items()
    volumes += [{"name": name, "persistentVolumeClaim": {"claimName": claim}} for claim, name in claims]
    return volumes


def _volume_mounts(spec: WorkloadSpec, start: Start) -> list[Manifest]:
    mounts: list[Manifest] = [{"name": "shm", "mountPath": "/dev/shm"}, {"name": "home", "mountPath": HOME}]
    if spec.code.kind is CodeKind.GIT:
        mounts.append({"name": "code", "mountPath": GIT_FOLDER})
    if start.hostfile:
        mounts.append({"name": "hosts", "mountPath": HOSTS_FOLDER, "readOnly": True})
    claims = _claims(mounts_of(spec))
    for mount in mounts_of(spec):
        mounts.append(
            {
                "name": claims[mount.volume],
                "mountPath": mount.path,
                **({"subPath": mount.folder} if mount.folder else {}),
                **({"readOnly": True} if mount.read_only else {}),
            }
        )
    return mounts
