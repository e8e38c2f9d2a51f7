"""How the ranks of a gang find each other: variables, host files and the start of each framework. Pure.

Every rank has a stable name, `<object>-<rank>.<service>` in the team's space; a gang of one pod is `localhost`, so
that it needs no name service. What each framework makes of it:

- PyTorch: `torchrun train.py` reads the PET_* variables and starts a process per card. A program that is started
  without it finds RANK and WORLD_SIZE only where a pod is one process, that is with at most one card a pod.
- TensorFlow: TF_CONFIG, one worker per pod.
- MindSpore: `msrun` with MS_WORKER_NUM and MS_SCHED_HOST; the scheduler's address must be a number, so our start
  looks it up first.
- MPI: rank 0 runs the command and the others the image's ssh server, which the image must bring, with keys, such that
  it runs without privileges. Host files of both launcher families are there. Without a command every pod runs the
  image's own, which then tells ranks apart itself.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.shape import HOSTS_FOLDER
from clusters.contract import WorkloadSpec

RANK = "SLUICE_RANK"
TORCH_PORT = 29500
TENSORFLOW_PORT = 2222
MINDSPORE_PORT = 8118
SHELL = "/bin/sh"

_OTHERS_SERVE = f"""\
if [ "${RANK}" = 0 ]; then exec {SHELL} -c "$1"; fi
exec /usr/sbin/sshd -De
"""
_LOOK_UP_SCHEDULER = f"""\
tries=0
while [ "$tries" -lt 120 ]; do
  found=$(getent hosts "$MS_SCHED_HOST" | cut -d " " -f 1)
  if [ -n "$found" ]; then MS_SCHED_HOST=$found; export MS_SCHED_HOST; break; fi
  tries=$((tries + 1)); sleep 1
done
exec {SHELL} -c "$1"
"""


@dataclass(frozen=True, slots=True)
class Start:
    """How the container of each rank begins."""

    variables: tuple[tuple[str, str], ...] = ()  # values may refer to earlier ones as $(NAME)
    argv: tuple[str, ...] = ()  # empty: the image's own command
    hostfile: str = ""  # MPI only
    machinefile: str = ""


def verbatim(text: str) -> str:
    """``text`` such that a cluster, which replaces $(NAME) and $$ in commands and values, leaves it as it is."""
    return text.replace("$", "$$")


def rank_host(spec: WorkloadSpec, rank: int) -> str:
    return "localhost" if spec.pods == 1 else f"{spec.object_name}-{rank}.{names.SERVICE}"


def is_launched_by_rank_0(spec: WorkloadSpec) -> bool:
    """The job has succeeded as soon as rank 0 has, whatever the others do."""
    return spec.framework == "mpi" and spec.pods > 1


def start_of(spec: WorkloadSpec) -> Start:
    """Variables, files and argument vector of a gang. Unknown frameworks are plain commands."""
    build = {"pytorch": _pytorch, "tensorflow": _tensorflow, "mindspore": _mindspore, "mpi": _mpi}.get(spec.framework)
    return build(spec) if build is not None else Start(argv=command_argv(spec))


def command_argv(spec: WorkloadSpec, script: str = "") -> tuple[str, ...]:
    """The person's command as one argument of a shell, or as the argument of a script of ours."""
    if not spec.command.strip():
        return ()
    command = verbatim(spec.command)
    return (SHELL, "-c", verbatim(script), SHELL, command) if script else (SHELL, "-c", command)


def _processes_per_pod(spec: WorkloadSpec) -> int:
    return max(1, spec.cards_per_pod)


def _pytorch(spec: WorkloadSpec) -> Start:
    variables = [
        ("MASTER_ADDR", rank_host(spec, 0)),
        ("MASTER_PORT", str(TORCH_PORT)),
        ("NODE_RANK", f"$({RANK})"),
        ("PET_NNODES", str(spec.pods)),
        ("PET_NODE_RANK", f"$({RANK})"),
        ("PET_NPROC_PER_NODE", str(_processes_per_pod(spec))),
        ("PET_MASTER_ADDR", rank_host(spec, 0)),
        ("PET_MASTER_PORT", str(TORCH_PORT)),
    ]
    if spec.cards_per_pod <= 1:
        variables += [("RANK", f"$({RANK})"), ("WORLD_SIZE", str(spec.pods)), ("LOCAL_RANK", "0")]
    return Start(tuple(variables), command_argv(spec))


def _tensorflow(spec: WorkloadSpec) -> Start:
    workers = [f"{rank_host(spec, rank)}:{TENSORFLOW_PORT}" for rank in range(spec.pods)]
    cluster = json.dumps({"worker": workers}, separators=(",", ":"))
    task = f'{{"type":"worker","index":$({RANK})}}'  # a number, so it cannot be put in by json.dumps
    return Start((("TF_CONFIG", f'{{"cluster":{cluster},"task":{task}}}'),), command_argv(spec))


def _mindspore(spec: WorkloadSpec) -> Start:
    variables = (
        ("MS_WORKER_NUM", str(spec.pods * _processes_per_pod(spec))),
        ("MS_LOCAL_WORKER_NUM", str(_processes_per_pod(spec))),
        ("MS_SCHED_HOST", "127.0.0.1" if spec.pods == 1 else rank_host(spec, 0)),
        ("MS_SCHED_PORT", str(MINDSPORE_PORT)),
        ("MS_NODE_RANK", f"$({RANK})"),
    )
    return Start(variables, command_argv(spec, _LOOK_UP_SCHEDULER if spec.pods > 1 else ""))


def _mpi(spec: WorkloadSpec) -> Start:
    hostfile, machinefile = f"{HOSTS_FOLDER}/hostfile", f"{HOSTS_FOLDER}/machinefile"
    variables = [
        ("SLUICE_HOSTFILE", hostfile),
        ("OMPI_MCA_orte_default_hostfile", hostfile),
        ("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
        ("PRTE_MCA_prte_default_hostfile", hostfile),
        ("I_MPI_HYDRA_HOST_FILE", machinefile),
        ("HYDRA_HOST_FILE", machinefile),
    ]
    if spec.as_root:
        variables += [("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]
    hosts = [rank_host(spec, rank) for rank in range(spec.pods)]
    slots = _processes_per_pod(spec)
    return Start(
        tuple(variables),
        command_argv(spec, _OTHERS_SERVE if is_launched_by_rank_0(spec) else ""),
        hostfile="".join(f"{host} slots={slots}\n" for host in hosts),
        machinefile="".join(f"{host}:{slots}\n" for host in hosts),
    )
