"""What must hold once everything has come to rest, whoever died on the way (invariants I1 to I11).

Reads raw rows and the witness's notes only; the one exception is the log, which is computed anew from the
object as it was when it was deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from clusters.simulation.codec import header_from_dict
from clusters.simulation.logs import tail
from clusters.simulation.world import Workload
from tests.faults.truth import TERMINAL, quota_problems, rows

DELETES_PER_ATTEMPT = 3
"""A stop, one repetition, and one after an answer that was lost."""


@dataclass
class Acknowledged:
    """What people were told: the jobs they have, how each shall end, and every act that was answered."""

    jobs: dict[str, set[str]] = field(default_factory=dict)  # ULID -> states it may end in
    acts: dict[tuple[str, str], int] = field(default_factory=dict)  # (ULID, action) -> how often

    def act(self, ulid: str, action: str) -> None:
        self.acts[ulid, action] = self.acts.get((ulid, action), 0) + 1


def violations(told: Acknowledged, *, faults: int) -> list[str]:
    """Everything that is wrong at rest; empty when all invariants hold."""
    return [
        *_jobs_are_kept(told),
        *_objects_are_single_and_gone(),
        *_histories_are_legal(),
        *_acts_are_recorded_once(told),
        *quota_problems(),
        *_nothing_is_left_to_do(),
        *_calls_are_few(faults),
        *_logs_are_whole(),
    ]


def at_rest() -> bool:
    """No job is live or due, no claim stands, no object is left."""
    return not list(_nothing_is_left_to_do())


def _jobs_are_kept(told: Acknowledged) -> Iterator[str]:
    """I1, and the end that was asked for."""
    states = dict(rows("SELECT public_id, state FROM jobs_job"))
    for ulid, ends in told.jobs.items():
        if ulid not in states:
            yield f"I1: job {ulid} is lost"
        elif states[ulid] not in ends:
            yield f"I1: job {ulid} ended as {states[ulid]}, not as {sorted(ends)}"
    for ulid in states.keys() - told.jobs.keys():
        yield f"I1: nobody knows of job {ulid}"
    for ulid, newest, numbers in rows(
        """SELECT j.public_id, j.attempt_no, array_agg(a.number ORDER BY a.number)
             FROM jobs_job j LEFT JOIN jobs_attempt a ON a.job_id = j.id GROUP BY 1, 2"""
    ):
        if numbers != list(range(1, newest + 1)):
            yield f"I1: job {ulid} is at attempt {newest} and has {numbers}"
    if rows("SELECT 1 FROM jobs_job j LEFT JOIN jobs_jobsync s ON s.job_id = j.id WHERE s.job_id IS NULL"):
        yield "I1: a job that nobody reconciles"


def _objects_are_single_and_gone() -> Iterator[str]:
    """I2 and I3: at most one object per attempt, ever, and one that counts per job; none without a job, none left."""
    for name, beside in rows("SELECT name, beside FROM seen_birth WHERE beside IS NOT NULL"):
        yield f"I2: object {name} was made while {beside} held or could get cards"
    for ulid, attempt, names in rows(
        "SELECT ulid, attempt_no, array_agg(name) FROM seen_birth GROUP BY 1, 2 HAVING count(DISTINCT name) > 1"
    ):
        yield f"I2: attempt {attempt} of {ulid} had several objects: {names}"
    for name, ulid in rows(
        "SELECT b.name, b.ulid FROM seen_birth b LEFT JOIN jobs_job j ON j.public_id = b.ulid WHERE j.id IS NULL"
    ):
        yield f"I3: object {name} belongs to no job ({ulid})"
    for (name,) in rows("SELECT name FROM clusters_sandboxobject WHERE kind = 'workload'"):
        yield f"I3: object {name} is left"


def _histories_are_legal() -> Iterator[str]:
    """I4 and I6: an end is the end of its attempt; nothing ran that was not seen to run."""
    for job, attempt, before, after in rows("SELECT job_id, attempt_no, before, after FROM seen_state"):
        if before in TERMINAL and after != before:
            yield f"I4: job {job} went from {before} to {after} in attempt {attempt}"
    for job, attempt in rows(
        """SELECT s.job_id, s.attempt_no FROM seen_state s
            WHERE s.after = 'running' AND NOT EXISTS (
                  SELECT 1 FROM jobs_run r JOIN jobs_attempt a ON a.id = r.attempt_id
                   WHERE a.job_id = s.job_id AND a.number = s.attempt_no AND r.started_at IS NOT NULL)"""
    ):
        yield f"I6: job {job} was shown running in attempt {attempt}, and no run of it ever started"
    for unfinished in (
        "jobs_attempt WHERE \"end\" = '' OR ended_at IS NULL OR released_at IS NULL",
        "jobs_run WHERE ended_at IS NULL OR (admitted_at IS NOT NULL AND released_at IS NULL)",
        "jobs_run WHERE admitted_at < queued_at OR started_at < admitted_at OR ended_at < started_at",
        "jobs_run WHERE released_at < ended_at",
    ):
        for (row,) in rows(f"SELECT id FROM {unfinished}"):
            yield f"I4: row {row} of {unfinished}"


def _acts_are_recorded_once(told: Acknowledged) -> Iterator[str]:
    """I7: one audit row and one entry of the story for each act that was answered, and no other."""
    acts = rows(
        """SELECT target_id, action, count(*) FROM accounts_auditevent
            WHERE target_type = 'job' AND actor_id IS NOT NULL GROUP BY 1, 2"""
    )
    audit = {(ulid, action): count for ulid, action, count in acts}
    if audit != told.acts:
        yield f"I7: {audit} in the audit trail instead of {told.acts}"
    events = rows(
        """SELECT j.public_id, e.code, count(*) FROM jobs_jobevent e JOIN jobs_job j ON j.id = e.job_id
            WHERE e.actor_id IS NOT NULL GROUP BY 1, 2"""
    )
    story = {(ulid, _action_of(code)): count for ulid, code, count in events}
    if story != told.acts:
        yield f"I7: {story} in the jobs' stories instead of {told.acts}"


def _action_of(code: str) -> str:
    return "job.submit" if code == "submitted" else f"job.{code.removeprefix('asked_')}"


def _nothing_is_left_to_do() -> Iterator[str]:
    """I10: everybody rests, and what the console mirrors is what the cluster has: nothing."""
    for ulid, state in rows("SELECT public_id, state FROM jobs_job"):
        if state not in TERMINAL:
            yield f"I10: job {ulid} is still {state}"
    left = {
        "a job is due or claimed": "jobs_jobsync WHERE due_at IS NOT NULL OR token <> '' OR lease_until IS NOT NULL",
        "something was seen and not looked at": "jobs_jobsync s JOIN clusters_observedworkload w"
        " ON w.job_ulid = s.job_ulid WHERE w.version > s.seen_version",
        "a wish was not looked at": "jobs_jobsync s JOIN jobs_job j ON j.id = s.job_id"
        " WHERE j.generation > s.observed_generation",
        "the mirror shows an object": "clusters_observedworkload WHERE NOT gone OR cards_held + cards_ending > 0",
        "the cluster has an object": "clusters_sandboxobject WHERE kind = 'workload'",
        "a command waits": "clusters_sandboxcommand",
        "a demand is left": "quotas_demand",
        "a node holds cards": "clusters_node WHERE holders <> '[]'::jsonb",
        "a log is not read": "jobs_attempt WHERE NOT log_complete",
        "a job shows a flag": "jobs_job WHERE is_held OR is_stopping OR is_degraded",
        "a job still gives way": "jobs_job WHERE rests_until IS NOT NULL OR rests_for_id IS NOT NULL",
    }
    for text, where in left.items():
        if rows(f"SELECT 1 FROM {where} LIMIT 1"):
            yield f"I10: {text}"


def _calls_are_few(faults: int) -> Iterator[str]:
    """I11: no hot loop against the cluster."""
    bounds = {
        "submit": 1 + faults,
        "delete": DELETES_PER_ATTEMPT + faults,
        "set_active": 2 + faults,
        "set_priority": 1 + faults,
        "scale": 2 + faults,
        "steer": 1 + faults,
    }
    for kind, most in bounds.items():
        for name, count in rows(
            "SELECT name, count(*) FROM seen_command WHERE kind = %s GROUP BY 1 HAVING count(*) > %s", kind, most
        ):
            yield f"I11: {count} times {kind} of {name}"


def _logs_are_whole() -> Iterator[str]:
    """The archive holds each line once and in order: all where it ended by itself and nobody asked to stop it."""
    (header,) = rows("SELECT header::text::json FROM clusters_sandboxworld")[0]
    world = header_from_dict(header)
    ended = {
        name
        for (name,) in rows(
            """SELECT a.object_name FROM jobs_attempt a WHERE a."end" IN ('succeeded', 'failed') AND NOT EXISTS (
                  SELECT 1 FROM jobs_jobevent e WHERE e.job_id = a.job_id AND e.attempt_no = a.number
                     AND e.code IN ('asked_cancel', 'asked_requeue'))"""
        )
    }
    for name, data in rows("SELECT DISTINCT ON (name) name, data::text::json FROM seen_death ORDER BY name, id DESC"):
        workload = msgspec.convert(data, Workload)
        written = _all_lines(world, workload)
        kept = [
            (seq, line)
            for index, payload in rows(
                """SELECT c.index::text::json, c.payload FROM jobs_logchunk c JOIN jobs_attempt a ON a.id = c.attempt_id
                    WHERE a.object_name = %s ORDER BY c.first_seq""",
                name,
            )
            for (seq, *_), line in zip(index, bytes(payload).split(b"\n"), strict=True)
        ]
        if kept != written[: len(kept)]:
            yield f"the log of {name} has gaps, doubles or another order"
        elif workload.outcome is not None and name in ended and len(kept) != len(written):
            yield f"the log of {name} lacks {len(written) - len(kept)} of {len(written)} lines"


def _all_lines(world: object, workload: Workload) -> list[tuple[int, bytes]]:
    cursor, found = "", []
    while True:
        part = tail(world, [workload], cursor)  # type: ignore[arg-type]
        found += [(line.seq, line.data) for line in part.lines]
        if not part.lines:
            return found
        cursor = part.cursor
