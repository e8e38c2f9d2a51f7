"""Claims: a job's row is taken with a token and a lease, worked on outside any transaction, and given back
by an update that only succeeds while the token is still ours. Whoever lost the claim drops what it did.

A lease or a due time further ahead than any is ever given was written before the clock was put back: it is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection

from clusters.services import resting_clusters
from common.faults import reach
from common.ids import new_ulid

DUE_WITHIN = timedelta(minutes=10)
"""A job that waits for a time is looked at this often at least."""

_CLAIM = """
UPDATE jobs_jobsync AS s
   SET token = %(token)s, lease_until = %(until)s
  FROM (SELECT job_id FROM jobs_jobsync
         WHERE (lease_until IS NULL OR lease_until < %(now)s OR lease_until > %(no_lease)s) AND {which}
         ORDER BY due_at NULLS LAST
         LIMIT %(limit)s
           FOR UPDATE SKIP LOCKED) AS due
 WHERE s.job_id = due.job_id
RETURNING s.job_id
"""

_DUE = """(
    due_at <= %(now)s OR due_at > %(no_due)s
    OR job_ulid IN (SELECT w.job_ulid FROM clusters_observedworkload w
                      JOIN jobs_jobsync b ON b.job_ulid = w.job_ulid
                     WHERE w.version > b.seen_version)
)"""

_NOT_RESTING = " AND job_id NOT IN (SELECT id FROM jobs_job WHERE cluster_id = ANY(%(resting)s))"


_GIVE_BACK = """
UPDATE jobs_jobsync AS s
   SET token = '', lease_until = NULL, due_at = %(due_at)s, failures = s.failures + 1, last_error = %(error)s,
       seen_version = GREATEST(s.seen_version, COALESCE(
           (SELECT max(w.version) FROM clusters_observedworkload w WHERE w.job_ulid = s.job_ulid), 0))
 WHERE s.job_id = %(job)s AND s.token = %(token)s
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """Jobs taken under one token until ``until``."""

    token: str
    until: datetime
    job_ids: tuple[int, ...]


def claim_due(now: datetime, limit: int) -> Claim:
    """Take up to ``limit`` jobs that are due or have something new to see; perhaps none.

    Jobs of a cluster that rests wait for it: their calls would only fail and hold up those of others.
    """
    resting = resting_clusters(now)
    if not resting:
        return _claim(_DUE, now, limit, {})
    return _claim(_DUE + _NOT_RESTING, now, limit, {"resting": resting})


def claim_jobs(job_ids: Sequence[int], now: datetime) -> Claim:
    """Take these jobs, due or not; those that somebody else has are left out."""
    return _claim("job_id = ANY(%(ids)s)", now, len(job_ids), {"ids": list(job_ids)})


def _claim(which: str, now: datetime, limit: int, values: dict[str, list[int]]) -> Claim:
    token = new_ulid()
    lease = timedelta(seconds=settings.SLUICE["LEASE_SECONDS"])
    until = now + lease
    times = {"now": now, "until": until, "no_lease": until + lease, "no_due": now + DUE_WITHIN + lease}
    reach("claim.before")
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM.format(which=which), {"token": token, "limit": limit, **times, **values})
        ids = tuple(row[0] for row in cursor.fetchall())
    reach("claim.after")
    return Claim(token, until, ids)


def give_back(claim: Claim, job_id: int, *, error: str, due_at: datetime) -> None:
    """Let go of a job that could not be worked on. It rests until ``due_at``, also when it has something new to see."""
    with connection.cursor() as cursor:
        cursor.execute(_GIVE_BACK, {"job": job_id, "token": claim.token, "error": error[:200], "due_at": due_at})
