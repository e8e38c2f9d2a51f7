"""A job row → what a backend is asked to create. No queries: the row comes with its relations loaded."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta

from clusters.contract import WorkloadRef, WorkloadSpec
from jobs.domain.words import Kind, Priority, priority_value
from jobs.models import Attempt, Job


def spec_hash(job: Job, number: int) -> str:
    """Fingerprint of everything that makes attempt ``number`` what it is; its priority may change while it lives."""
    content = [
        job.public_id, number, job.framework, job.image, job.command, sorted(job.env.items()), job.kind,
        job.pods, job.cards_per_pod, job.cpu_millis, job.memory_bytes, job.stop_grace_seconds,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]


def workload_spec(job: Job, attempt: Attempt) -> WorkloadSpec:
    """Needs ``team``, ``local_queue__queue`` and ``group`` loaded."""
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
    )


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
