"""Logs of pods, read through the real API server and kept once."""

from __future__ import annotations

from collections import Counter

import pytest

from clusters.backends.kueue_volcano import logs
from jobs.logs import read_logs
from jobs.models import Attempt, Job, LogChunk
from tests.controlplane.console import Console

pytestmark = pytest.mark.django_db(transaction=True)

FIRST = ["first line", "second line", "last line"]
"""What every pod has written."""
SPACE = "slu-vision-000000"


def running(console: Console, cards: int = 16) -> Job:
    job = console.submit(cards=cards)
    return console.until(job, "running")


def texts(job: Job, rank: int | None = None) -> list[str]:
    return [line.text for line in read_logs(Attempt.objects.get(job=job), rank=rank).lines]


def names_of_pods(console: Console, job: Job) -> list[str]:
    return [pod["metadata"]["name"] for pod in console.plane.pods(SPACE, console.attempts(job)[0].object_name)]


def collect(console: Console, rounds: int = 3) -> None:
    for _ in range(rounds):
        console.collect_logs()


def test_each_line_of_each_rank_is_kept_once_and_in_its_order(console: Console) -> None:
    job = running(console)
    collect(console)
    assert texts(job, rank=0) == texts(job, rank=1) == FIRST
    zero, one = names_of_pods(console, job)
    console.plane.write_log(SPACE, zero, ["fourth of zero", "fifth of zero"])
    console.plane.write_log(SPACE, one, ["fourth of one"])
    collect(console)
    console.plane.write_log(SPACE, zero, ["sixth of zero"])
    collect(console)
    assert texts(job, rank=0) == [*FIRST, "fourth of zero", "fifth of zero", "sixth of zero"]
    assert texts(job, rank=1) == [*FIRST, "fourth of one"]
    page = read_logs(Attempt.objects.get(job=job))
    assert [line.seq for line in page.lines] == list(range(10))
    assert read_logs(Attempt.objects.get(job=job), after=7).lines == page.lines[8:]


def test_the_log_of_a_failed_pod_is_read_after_its_end_and_before_it_goes(console: Console) -> None:
    job = running(console)
    zero, one = names_of_pods(console, job)
    console.plane.write_log(SPACE, one, ["cannot open the data"])
    console.exit_pods(job, code=3, rank=1)
    console.until(job, "failed", "app_exit")
    assert console.objects(job)  # it stays for its log
    console.until_true(
        lambda: console.collect_logs() or Attempt.objects.get(job=job).log_complete, "the log is read to its end"
    )
    assert texts(job, rank=1) == [*FIRST, "cannot open the data"]
    console.until_true(lambda: not console.objects(job), "the object goes when its log is read")
    assert zero != one and Counter(texts(job)) == Counter([*FIRST, *FIRST, "cannot open the data"])


def test_a_pod_that_is_gone_ends_its_log_quietly(console: Console) -> None:
    job = running(console, cards=8)
    collect(console)
    console.operate(job, "cancel", "eng-vision-1")
    console.until(job, "cancelled")
    collect(console)
    assert texts(job) == FIRST
    assert Attempt.objects.get(job=job).log_complete


def test_a_long_log_comes_in_bounded_pieces(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "LINES_MAX", 50)
    monkeypatch.setattr(logs, "BYTES_FIRST", 4096)
    job = running(console, cards=8)
    (pod,) = names_of_pods(console, job)
    written = [f"line {number}" for number in range(240)]
    console.plane.write_log(SPACE, pod, written)
    collect(console, rounds=12)
    assert texts(job) == [*FIRST, *written]
    sizes = [chunk.last_seq - chunk.first_seq + 1 for chunk in LogChunk.objects.order_by("first_seq")]
    assert max(sizes) <= 50 and sum(sizes) == 243


def test_reading_logs_lists_nothing(console: Console) -> None:
    job = running(console)
    mark = console.plane.audit.mark()
    collect(console)
    calls = console.plane.audit.calls(mark, user=console.plane.user_of("runtime"))
    assert Counter((call.verb, call.kind) for call in calls) == {("get", "pods/log"): 6}
    assert len(texts(job)) == 6
