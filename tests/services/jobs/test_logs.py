"""The log archive: each line once and in order, as it was written, whatever it holds (cases C-54, C-56, C-57)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from clusters.backends.sandbox.backend import SandboxBackend
from clusters.contract import LogChunk as Chunk
from clusters.contract import LogLine, Retryable, WorkloadRef
from jobs.logs import LINES_MAX, collect_attempt, collect_logs, last_lines, raw_log, read_logs, shown
from jobs.models import Attempt, Job, LogChunk
from tests.cast import Cast
from tests.services.jobs.situations import fill, until, until_state
from tests.stage import Stage

AT = datetime(2026, 1, 1, tzinfo=UTC)


def _attempt(job: Job) -> Attempt:
    return Attempt.objects.select_related("job__team", "job__cluster").get(job=job, number=1)


def _kept(attempt: Attempt) -> list[tuple[int, int, str]]:
    found, after = [], -1
    while True:
        page = read_logs(attempt, after=after, limit=7)
        found += [(line.seq, line.rank, line.text) for line in page.lines]
        if not page.lines:
            return found
        after = page.next


def test_every_pods_lines_are_kept_once_and_in_order(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit(cards=16, command="sleep 60; exit 0")
        until(stage, job, lambda now: _attempt(job).log_complete, seconds=240)
    lines = _kept(_attempt(job))
    assert {rank for _seq, rank, _text in lines} == {0, 1}
    assert all(earlier < later for (earlier, *_), (later, *_) in pairwise(lines))
    assert b"".join(raw_log(_attempt(job))).decode().splitlines() == [text for *_, text in lines]
    for rank in (0, 1):
        page = read_logs(_attempt(job), rank=rank)
        assert [line.text for line in page.lines] == [text for _seq, r, text in lines if r == rank]
        assert page.complete and {line.pod for line in page.lines} == {f"{_attempt(job).object_name}-{rank}"}


def test_the_last_lines_are_the_newest_in_order(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit(command="sleep 120; exit 0")
        until(stage, job, lambda now: _attempt(job).log_complete, seconds=300)
    everything = _kept(_attempt(job))
    assert [line.seq for line in last_lines(_attempt(job), limit=5).lines] == [seq for seq, *_ in everything[-5:]]
    assert last_lines(_attempt(job)).next == everything[-1][0]


def test_the_log_of_a_failed_job_is_whole_before_its_object_goes(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(command="sleep 3; exit 9"), "failed")
        until(stage, job, lambda now: _attempt(job).log_complete)
    assert _attempt(job).released_at is None or _kept(_attempt(job))
    assert any("9" in text for *_, text in _kept(_attempt(job))[-4:])


def test_logs_of_what_never_ran_are_not_asked_for(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    original = SandboxBackend.tail_logs

    def tail_logs(backend: SandboxBackend, ref: WorkloadRef, cursor: str) -> Any:
        asked.append(ref.object_name)
        return original(backend, ref, cursor)

    monkeypatch.setattr(SandboxBackend, "tail_logs", tail_logs)
    with Stage(cast) as stage:
        running = fill(stage)
        waiting = stage.submit(card_model="h100", command="sleep 60")
        stage.run(20)
        assert stage.job(waiting).state == "queued"
    assert set(asked) == {_attempt(running).object_name}


def test_a_log_that_cannot_be_read_is_put_off_and_stops_no_other(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    original = SandboxBackend.tail_logs
    with Stage(cast) as stage:
        sick, odd, well = (until_state(stage, stage.submit(cards=1, command="sleep 600"), "running") for _ in range(3))
        errors = {_attempt(sick).object_name: Retryable("timeout"), _attempt(odd).object_name: ValueError("odd")}

        def tail_logs(backend: SandboxBackend, ref: WorkloadRef, cursor: str) -> Any:
            if ref.object_name in errors:
                raise errors[ref.object_name]
            return original(backend, ref, cursor)

        monkeypatch.setattr(SandboxBackend, "tail_logs", tail_logs)
        before = {job.pk: len(_kept(_attempt(job))) for job in (sick, odd, well)}
        stage.run(120, 10)
        grown = {job.pk: len(_kept(_attempt(job))) - before[job.pk] for job in (sick, odd, well)}
    assert grown[sick.pk] == grown[odd.pk] == 0 < grown[well.pk]


def test_lines_read_twice_are_kept_once(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(command="sleep 600"), "running")
        stage.run(60, 20)
        stale = _attempt(job)
        stage.run(60, 60)
        before = _kept(stale)
        collect_attempt(stale)  # a reader that stalled with an old cursor
        assert _kept(stale) == before
        assert collect_logs() >= 1


# --------------------------------------------------------------------------- awkward bytes

HOSTILE = [
    b"plain",
    b"",
    b"\x00nul\x00",
    b"\xff\xfe not utf-8 \xe4\xb8",
    "训练 🚀".encode(),
    b"10%\r50%\r100%",
    b"\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07",
    b"<script>alert(1)</script>",
    b"x" * 100_000,
    b"two\nlines",
    b"\xe2\x80\xae reversed",
    b"tab\there",
]


def _serve(monkeypatch: pytest.MonkeyPatch, lines: list[bytes]) -> None:
    def tail_logs(backend: SandboxBackend, ref: WorkloadRef, cursor: str) -> Chunk:
        first = int(cursor or 0)
        found = [
            LogLine(number, AT + timedelta(seconds=number), f"{ref.object_name}-0", 0, data)
            for number, data in enumerate(lines[first : first + LINES_MAX], start=first)
        ]
        return Chunk(tuple(found), str(first + len(found)), complete=not found)

    monkeypatch.setattr(SandboxBackend, "tail_logs", tail_logs)


def test_hostile_bytes_are_archived_exactly_and_shown_harmlessly(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    _serve(monkeypatch, HOSTILE)
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(command="sleep 600"), "running")
        stage.settle()
    lines = read_logs(_attempt(job)).lines
    assert len(lines) == len(HOSTILE)
    texts = [line.text for line in lines]
    assert texts[5] == "100%" and texts[6] == "red link" and "训练 🚀" in texts
    assert all(ch.isprintable() or ch in "\t\ufffd" for text in texts for ch in text)
    assert max(map(len, texts)) < 4_100
    kept = b"".join(raw_log(_attempt(job)))
    assert all(line.replace(b"\n", b" ") in kept for line in HOSTILE)


def test_ten_thousand_lines_are_read_in_pages_without_gaps(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    _serve(monkeypatch, [b"line %d" % number for number in range(10_000)])
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(command="sleep 600"), "running")
        stage.run(30, 2)
    seen, after = [], -1
    while (page := read_logs(_attempt(job), after=after)).lines:
        assert len(page.lines) <= LINES_MAX
        seen += [line.text for line in page.lines]
        after = page.next
    assert seen == [f"line {number}" for number in range(10_000)]
    assert max(chunk.last_seq - chunk.first_seq for chunk in LogChunk.objects.all()) < LINES_MAX


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"\r", ""),
        (b"a\r", "a"),
        (b"a\rb\r", "b"),
        (b"\x1b", ""),
        (b"\x1b[", ""),
        (b"\x1b[1;31mx", "x"),
        (b"\x1b]0;title\x07x", "x"),
        (b"\x1b]0;title\x1b\\x", "x"),
        (b"\x7f\x08x", "x"),
        (b"\x00", "\ufffd"),
    ],
)
def test_a_line_is_shown_as_text(data: bytes, text: str) -> None:
    assert shown(data) == text
