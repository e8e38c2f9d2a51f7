"""A job row → what a backend is asked to create. No queries: the row comes with its relations loaded.

Folders of a job in its team's volume: `jobs/<id>/checkpoints` and `jobs/<id>/results`, the same for every attempt, and
`work`, which the team's jobs share. In a pod they lie side by side below :data:`clusters.contract.POD_ROOT`.
"""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta

from clusters.archives import archive_folder
from clusters.contract import POD_ROOT, Code, CodeKind, Mount, WorkloadRef, WorkloadSpec
from clusters.supplies import Supplies
from jobs.domain.words import Kind, Priority, priority_value
from jobs.models import Attempt, Job

CHECKPOINTS = f"{POD_ROOT}/checkpoints"
RESULTS = f"{POD_ROOT}/results"
WORK = f"{POD_ROOT}/work"
CODE = f"{POD_ROOT}/code"
DATASETS = f"{POD_ROOT}/datasets"


def spec_hash(job: Job, number: int) -> str:
    """Fingerprint of everything that makes attempt ``number`` what it is; its priority may change while it lives."""
    content = [
        job.public_id, number, job.framework, job.image, job.command, sorted(job.env.items()), job.kind,
        job.pods, job.cards_per_pod, job.cpu_millis, job.memory_bytes, job.stop_grace_seconds,
        sorted(job.code.items()), job.datasets,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]


def workload_spec(job: Job, attempt: Attempt, supplies: Supplies, avoid_nodes: tuple[str, ...] = ()) -> WorkloadSpec:
    """Needs ``team``, ``local_queue__queue`` and ``group`` loaded; ``supplies`` of the job's cluster and team."""
    has_storage = bool(supplies.volume)
    return WorkloadSpec(
        job_ulid=job.public_id,
        attempt=attempt.number,
        object_name=attempt.object_name,
        spec_hash=attempt.spec_hash,
        space=job.team.space,
        queue=job.local_queue.queue.slug,
        local_queue=job.local_queue.slug,
        node_group=job.group.slug if job.group else None,
        priority=priority_value(Priority(job.priority), Kind(job.kind)),
        kind=job.kind,
        framework=job.framework,
        image=job.image,
        command=job.command,
        env=tuple(sorted(job.env.items())),
        pods=job.pods,
        cards_per_pod=job.cards_per_pod,
        cpu_millis=job.cpu_millis,
        memory_bytes=job.memory_bytes,
        stop_grace=timedelta(seconds=job.stop_grace_seconds),
        max_run=timedelta(seconds=job.max_run_seconds) if job.max_run_seconds else None,
        display_name=job.display_name,
        code=_code(job, supplies),
        mounts=_mounts(job, supplies),
        checkpoint_dir=CHECKPOINTS if has_storage else "",
        results_dir=RESULTS if has_storage else "",
        env_secrets=supplies.env_secrets,
        pull_secrets=supplies.pull_secrets,
        as_root=job.team.runs_as_root,
        avoid_nodes=avoid_nodes,
    )


def _code(job: Job, supplies: Supplies) -> Code:
    """An archive whose storage was taken away has no place; the backend refuses it."""
    kind = CodeKind(job.code.get("kind", CodeKind.IMAGE))
    if kind is CodeKind.GIT:
        return Code(kind, address=job.code["address"], revision=job.code["revision"])
    if kind is CodeKind.ARCHIVE and supplies.volume:
        folder = archive_folder(job.code["archive"])
        return Code(kind, mount=Mount(supplies.volume, folder, CODE, read_only=True))
    return Code(kind)


def _mounts(job: Job, supplies: Supplies) -> tuple[Mount, ...]:
    mounts = []
    if supplies.volume:
        own = f"jobs/{job.public_id}"
        mounts += [
            Mount(supplies.volume, f"{own}/checkpoints", CHECKPOINTS),
            Mount(supplies.volume, f"{own}/results", RESULTS),
            Mount(supplies.volume, "work", WORK),
        ]
    for name in job.datasets:
        if (place := supplies.datasets.get(name)) is not None:  # never: removed ones stay known
            mounts.append(Mount(*place, f"{DATASETS}/{name}", read_only=True))
    return tuple(mounts)


def workload_ref(job: Job, attempt: Attempt) -> WorkloadRef:
    """Names an attempt's object. Needs ``team`` loaded."""
    return WorkloadRef(
        job_ulid=job.public_id,
        attempt=attempt.number,
        space=job.team.space,
        object_name=attempt.object_name,
        uid=attempt.uid or None,
        kind=job.kind,
    )
