"""What a good submit stores: the intent whole, a valid object name for any typed name, group and shape by rule."""

from __future__ import annotations

import re

import pytest

from accounts.models import AuditEvent
from clusters.models import SandboxObject
from jobs.models import Attempt, Job, JobEvent, JobSync
from quotas.models import Demand
from quotas.selectors import quota_groups
from quotas.services import shares_set
from tests.cast import Cast
from tests.services.support import row_counts
from tests.stage import Stage

OBJECT_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


@pytest.fixture
def cast(standing_cast: Cast) -> Cast:
    return standing_cast


NAMES = [
    "ResNet_50",
    "训练-第3次",
    "clang++ bench",
    "-exp-",
    "a..b",
    "🚀",
    "a" * 300,
    "3d-unet",
    "7b-sft",
    "2024-10-01",
    "Übung ß",
    "---",
    "x-" * 20,
    "<b>bold</b>",
    "j-abc-1",
    "tab\tinside",
]
"""Cases C-01 and C-03: names that people type."""


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_typed_name_is_kept_and_gets_a_valid_object_name(cast: Cast, name: str) -> None:
    with Stage(cast) as stage:
        jobs = [stage.submit(name=name, cards=1), stage.submit(name=name, cards=1)]
        stage.run(4)
    assert {job.display_name for job in jobs} == {name.replace("\t", "")}
    objects = [Attempt.objects.get(job=job).object_name for job in jobs]
    assert len(set(objects)) == 2
    for object_name in objects:
        assert OBJECT_NAME.fullmatch(object_name) and len(object_name) <= 40
        assert "--" not in object_name
    assert SandboxObject.objects.filter(kind="workload", name__in=objects).count() == 2


def test_blanks_around_a_name_and_control_characters_in_it_are_not_kept(cast: Cast) -> None:
    with Stage(cast) as stage:
        assert stage.submit(name="  my\x07 run\x00\u200b ").display_name == "my run"


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("registry.example:5000/team/bert:1.0", "bert"),
        ("bert", "bert"),
        ("team/bert@sha256:" + "a" * 64, "bert"),
    ],
)
def test_a_job_without_a_name_is_named_after_its_image(cast: Cast, image: str, name: str) -> None:
    with Stage(cast) as stage:
        assert stage.submit(image=image).display_name == name


def test_a_submit_stores_intent_attempt_demand_event_and_audit_row_together(cast: Cast) -> None:
    before = row_counts()
    with Stage(cast) as stage:
        job = stage.submit(
            "lead-vision",
            name="big",
            cards=16,
            card_model="a100",
            priority="urgent",
            priority_reason="paper",
            command="python train.py",
            env={"A": "1", "B": ""},
            max_run_seconds=3600,
            retry_limit=2,
        )
    after = row_counts()
    assert {table: after[table] - before[table] for table in after if after[table] != before[table]} == {
        "jobs_job": 1,
        "jobs_attempt": 1,
        "jobs_jobsync": 1,
        "jobs_jobevent": 1,
        "quotas_demand": 1,
        "accounts_auditevent": 1,
    }
    job = Job.objects.get(pk=job.pk)
    assert (job.state, job.reason_code, job.flags) == ("queued", "submitted", [])
    assert (job.cards, job.pods, job.cards_per_pod) == (16, 2, 8)
    assert (job.team, job.owner, job.group) == (
        cast.teams["vision"],
        cast.users["lead-vision"],
        cast.groups["a100"],
    )
    assert (job.env, job.max_run_seconds, job.retry_limit) == ({"A": "1", "B": ""}, 3600, 2)
    assert (job.cpu_millis, job.memory_bytes) == (0, 0)
    assert JobSync.objects.get(job=job).due_at == job.submitted_at
    demand = Demand.objects.get(job_ulid=job.public_id)
    assert (demand.cards, demand.attempt_no, demand.held, demand.group) == (16, 1, False, cast.groups["a100"])
    assert JobEvent.objects.get(job=job).actor == cast.users["lead-vision"]
    audit = AuditEvent.objects.get(target_id=job.public_id)
    assert (audit.action, audit.actor_name, audit.team) == ("job.submit", "lead-vision", cast.teams["vision"])
    assert audit.detail == {"cards": 16, "priority": "urgent", "reason": "paper"}
    assert "train.py" not in str(audit.detail)


# --------------------------------------------------------------------------- C-06: no cards


def test_a_job_without_cards_has_no_group_and_touches_no_quota(cast: Cast) -> None:
    before = [row for group in quota_groups(level="local") for row in group.rows]
    with Stage(cast) as stage:
        _fill_everything(stage)
        full = [row for group in quota_groups(level="local") for row in group.rows]
        job = stage.submit(cards=0, cpu="500m", memory="1.5Gi", command="sleep 10; exit 0")
        assert (job.group, job.pods, job.cards_per_pod) == (None, 1, 0)
        assert (job.cpu_millis, job.memory_bytes) == (500, 3 * 2**29)
        stage.run(40)
        assert stage.job(job).state == "succeeded"
        assert [row for group in quota_groups(level="local") for row in group.rows] == full != before
        node_cards = [holder for node in cast.cluster.nodes.all() for holder in node.holders]
        assert job.public_id not in {holder["job_ulid"] for holder in node_cards}


def _fill_everything(stage: Stage) -> None:
    for group, cards in (("h100", 32), ("a100", 32), ("ascend-910b", 16)):
        stage.submit("eng-language-1", card_model=group, cards=cards, command="sleep infinity")
    stage.run(40, step=10)
    assert {job.state for job in Job.objects.all()} == {"running"}


@pytest.mark.parametrize(("typed", "millis"), [("250m", 250), ("0.5", 500), ("4", 4_000), (8, 8_000)])
def test_cpu_of_a_job_without_cards_is_exact(cast: Cast, typed: str | int, millis: int) -> None:
    with Stage(cast) as stage:
        assert stage.submit(cards=0, cpu=typed).cpu_millis == millis


@pytest.mark.parametrize(
    ("typed", "size"), [("128M", 128 * 10**6), ("128Mi", 128 * 2**20), ("1.5Gi", 3 * 2**29), ("1T", 10**12)]
)
def test_memory_of_a_job_without_cards_is_exact(cast: Cast, typed: str, size: int) -> None:
    with Stage(cast) as stage:
        assert stage.submit(cards=0, memory=typed).memory_bytes == size


def test_a_job_without_cards_gets_four_cores_and_16_gib(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit(cards=0)
    assert (job.cpu_millis, job.memory_bytes) == (4_000, 16 * 2**30)


# --------------------------------------------------------------------------- decision 13: which group


def test_any_model_is_a_group_of_nvidia_that_starts_now(cast: Cast) -> None:
    with Stage(cast) as stage:
        assert stage.submit(cards=8).group == cast.groups["h100"]
        stage.submit("eng-language-1", card_model="h100", cards=32, command="sleep infinity")
        stage.run(30, step=10)
        assert stage.submit("eng-vision-2", cards=8).group == cast.groups["a100"]


def test_mindspore_goes_to_ascend_even_when_it_has_to_wait_there(cast: Cast) -> None:
    with Stage(cast) as stage:
        stage.submit("eng-language-1", card_model="ascend-910b", cards=16, command="sleep infinity")
        stage.run(30, step=10)
        assert stage.submit(framework="mindspore", cards=8).group == cast.groups["ascend-910b"]


def test_the_vendor_of_the_last_job_of_a_framework_is_kept(cast: Cast) -> None:
    with Stage(cast) as stage:
        stage.submit(card_model="ascend-910b", cards=8)
        stage.run(2)
        assert stage.submit(cards=8).group == cast.groups["ascend-910b"]
        assert stage.submit(framework="tensorflow", cards=8).group.vendor == "nvidia"
        assert stage.submit("eng-vision-2", cards=8).group.vendor == "nvidia"


def test_never_another_vendor_silently(cast: Cast) -> None:
    """All NVIDIA cards are taken, Ascend is idle: the job still waits for NVIDIA."""
    with Stage(cast) as stage:
        for group in ("h100", "a100"):
            stage.submit("eng-language-1", card_model=group, cards=32, command="sleep infinity")
        stage.run(30, step=10)
        job = stage.submit(cards=8)
        assert job.group is not None and job.group.vendor == "nvidia"


def test_of_groups_that_cannot_start_it_the_one_with_most_free_quota_is_taken(cast: Cast) -> None:
    queues = cast.queues
    with Stage(cast) as stage:
        shares = {queues["language"].pk: 0, queues["vision"].pk: 6_000}
        shares_set(actor=None, group=cast.groups["a100"], basis_points=shares)
        for group in ("h100", "a100"):
            stage.submit("eng-language-1", card_model=group, cards=32, command="sleep infinity")
        stage.run(30, step=10)
        assert stage.submit(cards=8).group == cast.groups["a100"]


def test_a_group_whose_free_cards_lie_apart_is_passed_over(cast: Cast) -> None:
    """Nine cards of H100 are free, three on each of three nodes; eight together are free on A100 only."""
    with Stage(cast) as stage:
        for cards in (8, 5, 5, 5):
            stage.submit("eng-language-1", card_model="h100", cards=cards, command="sleep infinity")
        stage.run(40, step=10)
        free = [8 - sum(holder["cards"] for holder in node.holders) for node in cast.groups["h100"].nodes.all()]
        assert sorted(free) == [0, 3, 3, 3]
        assert stage.submit(cards=8).group == cast.groups["a100"]


def test_a_named_model_is_never_exchanged(cast: Cast) -> None:
    with Stage(cast) as stage:
        stage.submit("eng-language-1", card_model="a100", cards=32, command="sleep infinity")
        stage.run(30, step=10)
        assert stage.submit(card_model="a100", cards=8).group == cast.groups["a100"]
