"""R1 on the real schedulers: a process may die between any two steps of a submission or a cancel.

Steps are told by the product itself (`common.faults`). The lists below are what is expected of it: a new step shows up
as a difference, and is died at as soon as it is written down.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import pytest
from django.utils import timezone

from clusters.backends.kueue_volcano import names
from common import faults
from jobs.models import Job, JobSync
from jobs.reconcile.loop import reconcile_jobs
from tests.controlplane.audit import Call
from tests.controlplane.console import BODY, Console
from tests.faults.points import REAL

pytestmark = pytest.mark.django_db(transaction=True)

CLAIMED = ("claim.before", "claim.after")
WRITTEN = ("writeback.before", "writeback.commit.before", "writeback.commit.after")
LOOKED = ("sync.observe.before", "sync.observe.after", "sync.commit.before", "sync.commit.after")
SUBMISSION = {
    "ask": ("submit.commit.before", "submit.commit.after"),
    "send": (
        *CLAIMED,
        "submit.call.before",
        "jobs.create.before",
        "jobs.create.after",
        "podgroups.create.before",
        "podgroups.create.after",
        "submit.call.after",
        *WRITTEN,
    ),
    "look": LOOKED,
    "tell": (*CLAIMED, *WRITTEN),
}
CANCEL = {
    "ask": ("cancel.commit.before", "cancel.commit.after"),
    "send": (*CLAIMED, "stop.call.before", "jobs.delete.before", "jobs.delete.after", "stop.call.after", *WRITTEN),
    "look": LOOKED,
    "tell": (*CLAIMED, *WRITTEN),
}
Points = Mapping[str, tuple[str, ...]]


class Died(BaseException):
    """The process is gone; nothing after the point was done."""


@contextmanager
def death_at(point: str) -> Iterator[None]:
    """Whoever reaches the point in the block is gone. Fails if nobody does."""
    died = []

    def reach(reached: str) -> None:
        if reached == point and not died:
            died.append(point)
            raise Died(point)

    with faults.handler(reach), suppress(Died):
        yield
    assert died, f"nobody came to {point}"


@dataclass
class Life:
    """One job of one card, step by step, each step in a process of its own."""

    console: Console
    name: str
    died_at: list[str] = field(default_factory=list)

    @property
    def job(self) -> Job:
        return Job.objects.get(display_name=self.name)

    def ask(self) -> None:
        """The same request with the same key, however often."""
        body = {**BODY, "cards": 1, "name": self.name}
        answer = self.console.api("eng-vision-1").post(
            "/api/v1/jobs", body, format="json", headers={"Idempotency-Key": self.name}
        )
        assert answer.status_code in (200, 201), answer.content

    def ask_to_cancel(self) -> None:
        self.console.operate(self.job, "cancel", "eng-vision-1")

    def work(self) -> None:
        """What the hint of an act asks of a worker."""
        reconcile_jobs([self.job.pk])

    def look(self) -> None:
        self.console.look()

    def wait_for_pods(self) -> None:
        self.console.wait_for_pods(self.job)

    def wait_for_nothing(self) -> None:
        plane = self.console.plane
        plane.wait_for(lambda: not self.console.objects(self.job) and not self.console.pods(self.job), "all is gone")


Step = tuple[str, Callable[[Life], None]]
SUBMITTING: tuple[Step, ...] = (
    ("ask", Life.ask),
    ("send", Life.work),
    ("", Life.wait_for_pods),
    ("look", Life.look),
    ("tell", Life.work),
)
CANCELLING: tuple[Step, ...] = (
    ("ask", Life.ask_to_cancel),
    ("send", Life.work),
    ("", Life.wait_for_nothing),
    ("look", Life.look),
    ("tell", Life.work),
)


def points_of(life: Life, steps: tuple[Step, ...]) -> dict[str, tuple[str, ...]]:
    """Play the steps undisturbed; the points that each of them reaches."""
    reached: dict[str, tuple[str, ...]] = {}
    for name, do in steps:
        seen: list[str] = []
        with faults.handler(seen.append):
            do(life)
        if name:
            reached[name] = tuple(seen)
    return reached


def play_with_a_death(life: Life, steps: tuple[Step, ...], at: str, point: str) -> None:
    """Play the steps up to the death; the claim of the dead runs out, and the next process does the step anew.

    It knows nothing: nobody has looked at the cluster in between.
    """
    for name, do in steps:
        if name != at:
            do(life)
            continue
        with death_at(point):
            do(life)
        life.died_at.append(f"{at}: {point}")
        JobSync.objects.exclude(token="").update(lease_until=timezone.now())
        do(life)
        return


def lives(console: Console, points: Points) -> list[tuple[Life, str, str]]:
    return [(Life(console, f"{step} {point}"), step, point) for step, reached in points.items() for point in reached]


def calls_that_worked(console: Console, mark: int) -> Counter[tuple[str, str, str]]:
    """How often each object was made or removed by the console, by verb, kind and name."""
    calls = console.plane.audit.calls(mark, user=console.plane.user_of("runtime"))
    return Counter(
        (call.verb, call.resource, call.name) for call in calls if call.verb in ("create", "delete") and _worked(call)
    )


def _worked(call: Call) -> bool:
    return call.status < 300


def problems_of(life: Life, made: Counter[tuple[str, str, str]], *, ends: str) -> list[str]:
    """What is wrong with the life of one job: lost, twice, or not ended as it should."""
    job = life.job
    (attempt,) = job.attempts.all()
    events = Counter(job.events.values_list("code", flat=True))
    facts = {
        "state": job.state == ends,
        "one Job made": made["create", "jobs", attempt.object_name] == 1,
        "one PodGroup made": made["create", "podgroups", attempt.object_name] == 1,
        "one Job removed": made["delete", "jobs", attempt.object_name] <= 1,
        "one run": attempt.runs.count() == 1,
        "told once": events["submitted"] == events["running"] == 1,
        "no error left": JobSync.objects.get(job=job).last_error == "",
        "no claim left": JobSync.objects.get(job=job).token == "",
    }
    return [f"{life.died_at}: not {what} ({life.console.shown(job)})" for what, holds in facts.items() if not holds]


def test_a_death_at_any_step_of_a_submission_loses_nothing_and_makes_nothing_twice(console: Console) -> None:
    whole = Life(console, "nobody dies")
    mark = console.plane.audit.mark()
    assert points_of(whole, SUBMITTING) == SUBMISSION
    assert sum(map(len, SUBMISSION.values())) >= 14
    console.exit_pods(whole.job)
    played = lives(console, SUBMISSION)
    for life, step, point in played:
        play_with_a_death(life, SUBMITTING, step, point)
        console.until(life.job, "running")
        console.exit_pods(life.job)
    console.until_true(lambda: not Job.objects.exclude(state="succeeded").exists(), "all jobs have ended")
    made = calls_that_worked(console, mark)
    problems = [text for life, _, _ in played for text in problems_of(life, made, ends="succeeded")]
    assert not problems, "\n".join(problems)
    assert Job.objects.count() == len(played) + 1
    console.until_free()


def test_a_death_at_any_step_of_a_cancel_ends_the_job_once(console: Console) -> None:
    mark = console.plane.audit.mark()
    whole = Life(console, "nobody dies")
    played = lives(console, CANCEL)
    for life in (whole, *(life for life, _, _ in played)):
        life.ask()
    console.until_true(lambda: not Job.objects.exclude(state="running").exists(), "all jobs run")
    assert points_of(whole, CANCELLING) == CANCEL
    for life, step, point in played:
        play_with_a_death(life, CANCELLING, step, point)
        console.until(life.job, "cancelled", "cancelled_by_person")
    made = calls_that_worked(console, mark)
    problems = [text for life, _, _ in played for text in problems_of(life, made, ends="cancelled")]
    assert not problems, "\n".join(problems)
    assert not any(console.objects(life.job) or console.pods(life.job) for life, _, _ in played)
    console.until_free()


def test_every_step_that_the_backend_names_is_died_at() -> None:
    """Also one on a way that neither a submission nor a cancel takes would be named here."""
    kinds = rf"^({names.JOBS.plural}|{names.POD_GROUPS.plural})\b"
    paths = (reached for points in (SUBMISSION, CANCEL) for reached in points.values())
    died_at = {re.sub(kinds, "{kind.plural}", point) for reached in paths for point in reached}
    sources = "".join(file.read_text() for file in REAL.glob("*.py"))
    named = set(re.findall(r"\breach\(f?\"([^\"]+)\"\)", sources))
    assert named and named <= died_at
