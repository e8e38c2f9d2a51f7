"""The log archive: written once by a claimed sweep with a cursor per attempt, read by everybody (decision 32).

Lines are kept as the bytes that were written; whoever shows them decodes them without ever failing (C-54).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from clusters.contract import BackendError
from clusters.contract import LogChunk as BackendChunk
from clusters.services import backend, cluster_failed, is_silence, resting_clusters
from common.faults import reach
from common.locks import LockSpace, try_session_lock
from jobs.domain.words import TERMINAL_STATES
from jobs.models import Attempt, LogChunk, Run
from jobs.specs import workload_ref

logger = logging.getLogger(__name__)

SWEEP_ATTEMPTS = 200
SWEEP_SECONDS = 20
LINES_MAX = 1_000
SHOWN_LINE_MAX = 4_000
"""Bytes of one line that a page or the API shows; the archive keeps all."""

_CUT = "…"
_ESCAPES = re.compile(
    r"\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # strings for the terminal: titles, links
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # colours and movements of the cursor
    r"|\x1b[ -/]*[0-~]"  # short ones, such as the choice of a character set
)
_HIDDEN = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Control characters but the tab, line separators, and marks that turn the direction of reading."""


# --------------------------------------------------------------------------- writing


def collect_logs() -> int:
    """Bring new lines of every attempt that may have some into the archive; returns how many attempts were read."""
    with try_session_lock(LockSpace.LOG_COLLECT, 0) as taken:
        if not taken:
            return 0
        until = timezone.now() + timedelta(seconds=SWEEP_SECONDS)
        has_run = Exists(Run.objects.filter(attempt=OuterRef("pk"), started_at__isnull=False))
        resting = set(resting_clusters(timezone.now()))
        waiting = (
            Attempt.objects.filter(has_run | ~Q(end=""), log_complete=False, seen_at__isnull=False)
            .exclude(job__cluster__in=resting)
            .select_related("job__team", "job__cluster")
            .order_by(F("log_checked_at").asc(nulls_first=True))[:SWEEP_ATTEMPTS]
        )
        done = 0
        for attempt in waiting:
            if timezone.now() > until:
                break
            if attempt.job.cluster_id in resting:
                continue
            try:
                collect_attempt(attempt)
            except BackendError as error:
                _put_off(attempt, error.code)
                if is_silence(error):  # its other logs would wait for it in vain, and those of others with them
                    cluster_failed(attempt.job.cluster, error)
                    resting.add(attempt.job.cluster_id)
            except Exception:  # one log that cannot be kept must not stop the others
                logger.exception("logs of %s cannot be kept", attempt.object_name)
                _put_off(attempt, "internal_error")
            done += 1
        return done


def _put_off(attempt: Attempt, code: str) -> None:
    """Others first; this one comes again with the next round."""
    logger.warning("logs of %s: %s", attempt.object_name, code)
    Attempt.objects.filter(pk=attempt.pk).update(log_checked_at=timezone.now())


def collect_attempt(attempt: Attempt) -> None:
    """One read and one transaction. The cursor guards it: the same lines are never stored twice."""
    reach("logs.read.before")
    chunk = backend(attempt.job.cluster).tail_logs(workload_ref(attempt.job, attempt), attempt.log_cursor)
    reach("logs.read.after")
    now = timezone.now()
    with transaction.atomic():
        moved = Attempt.objects.filter(pk=attempt.pk, log_cursor=attempt.log_cursor, log_complete=False).update(
            log_cursor=chunk.cursor,
            log_complete=_is_complete(attempt, chunk),
            log_checked_at=now,
        )
        if moved and chunk.lines:
            LogChunk.objects.create(
                attempt=attempt,
                first_seq=chunk.lines[0].seq,
                last_seq=chunk.lines[-1].seq,
                index=[[line.seq, int(line.at.timestamp() * 1000), line.rank] for line in chunk.lines],
                payload=b"\n".join(line.data.replace(b"\n", b" ") for line in chunk.lines),
            )
        reach("logs.commit.before")
    reach("logs.commit.after")


def _is_complete(attempt: Attempt, chunk: BackendChunk) -> bool:
    """A backend may say complete for an object it does not know yet; ours must have ended as well."""
    ended = bool(attempt.end) or attempt.job.state in TERMINAL_STATES
    return chunk.complete and not chunk.lines and ended


# --------------------------------------------------------------------------- reading


@dataclass(frozen=True, slots=True)
class Line:
    """One line as people see it. ``seq`` is the cursor after it."""

    seq: int
    at: datetime
    rank: int
    pod: str
    text: str


@dataclass(frozen=True, slots=True)
class LogPage:
    """Lines after a cursor; ``next`` is the cursor to go on from; ``complete`` = nothing more will come."""

    lines: tuple[Line, ...]
    next: int
    complete: bool


def read_logs(attempt: Attempt, *, after: int = -1, rank: int | None = None, limit: int = LINES_MAX) -> LogPage:
    """Lines of one attempt after ``after``, of one rank or of all. Reads the archive only."""
    lines: list[Line] = []
    chunks = attempt.log_chunks.filter(last_seq__gt=after).order_by("first_seq")
    newest = after
    for chunk in chunks.iterator(chunk_size=20):
        for line in _lines_of(attempt, chunk):
            if line.seq <= after:
                continue
            newest = line.seq
            if rank is None or line.rank == rank:
                lines.append(line)
                if len(lines) >= limit:
                    return LogPage(tuple(lines), newest, complete=False)
    return LogPage(tuple(lines), newest, complete=attempt.log_complete)


def last_lines(attempt: Attempt, *, rank: int | None = None, limit: int = 200) -> LogPage:
    """The newest lines, oldest of them first, for a page's first view."""
    kept: list[Line] = []
    newest = -1
    for chunk in attempt.log_chunks.order_by("-first_seq")[:50]:
        found = [line for line in _lines_of(attempt, chunk) if rank is None or line.rank == rank]
        newest = max(newest, chunk.last_seq)
        kept = found + kept
        if len(kept) >= limit:
            break
    return LogPage(tuple(kept[-limit:]), newest, complete=attempt.log_complete)


def raw_log(attempt: Attempt) -> Iterator[bytes]:
    """The archive as written, for a download: exact bytes, one line each."""
    for chunk in attempt.log_chunks.order_by("first_seq").iterator(chunk_size=20):
        yield bytes(chunk.payload) + b"\n"


def _lines_of(attempt: Attempt, chunk: LogChunk) -> Sequence[Line]:
    return [
        Line(
            seq=seq,
            at=datetime.fromtimestamp(at_ms / 1000, UTC),
            rank=rank,
            pod=f"{attempt.object_name}-{rank}",
            text=shown(data),
        )
        for (seq, at_ms, rank), data in zip(chunk.index, bytes(chunk.payload).split(b"\n"), strict=True)
    ]


def shown(data: bytes) -> str:
    """One line as text: never an exception, nothing that acts on the page or hides what is written.

    U+FFFD stands for what is not UTF-8 (C-54); of a line with carriage returns only the last part is left
    (C-56); escape sequences are dropped, marks of direction are spelt out (C-57); a long line is cut with an
    ellipsis (C-58).
    """
    line = data.rstrip(b"\r")
    part = line[line.rfind(b"\r") + 1 :]
    text = part[:SHOWN_LINE_MAX].decode("utf-8", "replace")
    is_cut = len(part) > SHOWN_LINE_MAX
    if is_cut:
        text = text.removesuffix("\ufffd")  # half a character at the cut
    text = _HIDDEN.sub(_spelt_out, _ESCAPES.sub("", text))
    return text + _CUT if is_cut else text


def _spelt_out(match: re.Match[str]) -> str:
    char = match[0]
    if char == "\x00":
        return "\ufffd"
    if char < "\u2000":
        return ""
    return " " if char <= "\u2029" else f"[U+{ord(char):04X}]"
