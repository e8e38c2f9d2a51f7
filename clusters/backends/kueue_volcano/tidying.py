"""What a cluster left behind of ours: leftovers without an owner go, a PodGroup that is missing is made again.

A snapshot is several lists of slightly different moments, so nothing is done on its word alone: whatever it points
at is read again first, and deletes name the exact object.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.client import Missing
from clusters.backends.kueue_volcano.manifests import pod_group
from clusters.backends.kueue_volcano.objects import Objects, head_of
from clusters.backends.kueue_volcano.shape import ClusterShape
from clusters.backends.kueue_volcano.snapshot import Snapshot
from clusters.contract import Rejected, TidyReport

logger = logging.getLogger(__name__)

OLD_ENOUGH = timedelta(minutes=2)
"""Younger leftovers are the cluster's own garbage collection's business."""
AT_ONCE = 50


def tidy(objects: Objects, snapshot: Snapshot, shape: ClusterShape) -> TidyReport:
    """What was removed and made again."""
    removed = 0
    gathered: list[tuple[str, int]] = []
    now = datetime.now(UTC)
    for orphan in snapshot.orphans()[:AT_ONCE]:
        if now - orphan.created_at >= OLD_ENOUGH and _has_no_owner(objects, orphan.space, orphan.owner):
            logger.warning("removing %s %s/%s: its owner is gone", orphan.kind.kind, orphan.space, orphan.name)
            removed += objects.remove(orphan.kind, orphan.space, orphan.name, orphan.uid)
    if shape.has_volcano:
        for job in snapshot.without_pod_group()[:AT_ONCE]:
            gathered += _gather_again(objects, job.space, job.name, job.uid)
    return TidyReport(removed, tuple(gathered))


def _has_no_owner(objects: Objects, space: str, owner: tuple[names.Kind, str, str] | None) -> bool:
    """The owner named in the leftover is not there, or is another object of that name."""
    if owner is None:
        return False
    kind, name, uid = owner
    try:
        return head_of(objects.client.get(kind.path(space, name))).uid != uid
    except Missing:
        return True


def _gather_again(objects: Objects, space: str, name: str, uid: str) -> list[tuple[str, int]]:
    """The attempt whose PodGroup was made again; empty if none was."""
    try:
        body = objects.client.get(names.JOBS.path(space, name))
    except Missing:
        return []
    job = head_of(body)
    if job.uid != uid:
        return []
    manifest = pod_group(
        space,
        name,
        labels={key: value for key, value in job.labels.items() if key.startswith(names.DOMAIN)},
        pods=int(job.annotations.get(names.PODS, "1")),
        priority_class=names.POD_PRIORITIES["training"],
        job_uid=uid,
    )
    try:
        objects.make_owned(names.POD_GROUPS, manifest, uid)
    except Rejected as error:
        logger.warning("the pods of %s/%s cannot be gathered: %s", space, name, error.detail)
        return []
    return [(job.labels[names.JOB].upper(), int(job.labels[names.ATTEMPT]))]
