"""What admins decide about groups of shared card slices, and what it does to submits and run times (decision 26)."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import AuditEvent
from clusters.models import NodeGroup
from common.errors import DomainError, InvalidInput, NotAllowed, NotFound
from jobs.domain.words import JobState
from jobs.services.preview import Verdict, job_preview
from jobs.services.submit import job_submit
from quotas.selectors.sharing import shared_group, sharing_view, slowdowns
from quotas.services import quotas_bring
from quotas.sharing import SharingChangedMeanwhile, SharingDecision, sharing_save
from quotas.sharing_models import SharingPolicy, TrainingPermit
from tests.cast import Cast, build_cast
from tests.slices import add_slices
from tests.stage import BODY, Stage

pytestmark = pytest.mark.django_db

ON_SLICES = {**BODY, "cards": 2, "card_model": "slices"}


@pytest.fixture
def cast() -> Cast:
    return build_cast()


@pytest.fixture
def slices(cast: Cast) -> NodeGroup:
    return add_slices(cast)


def decide(cast: Cast, group: NodeGroup, version: int = 0, **decision: Any) -> SharingPolicy:
    """The admin's decision; a why stands there unless told otherwise."""
    said = SharingDecision(**{"why": "Notebooks need little.", **decision})
    return sharing_save(actor=cast.actor("admin"), group=group, expected_version=version, decision=said)


def problems_of(cast: Cast, **body: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidInput) as caught:
        job_submit(actor=cast.actor("eng-vision-1"), data={**ON_SLICES, **body})
    return [(problem.attr, problem.code) for problem in caught.value.problems]


# --- who may train there


def test_training_on_slices_is_refused_with_what_to_do_and_other_kinds_are_not(cast: Cast, slices: NodeGroup) -> None:
    assert problems_of(cast) == [("card_model", "shared_pool")]
    answer = job_preview(actor=cast.actor("eng-vision-1"), data=ON_SLICES)
    assert answer.verdict is Verdict.NEVER
    assert "take no training of your team" in str(answer.problems[0].message)
    for body in ({"kind": "development"}, {"kind": "inference", "replicas": 2, "cards": 1}):
        job = job_submit(actor=cast.actor("eng-vision-1"), data={**ON_SLICES, **body}).job
        assert job.group == slices


def test_only_a_named_team_may_train_there_and_only_while_it_is_named(cast: Cast, slices: NodeGroup) -> None:
    with Stage(cast) as stage:
        decide(cast, slices, training={"vision": "Their models are small."})
        job = stage.submit(**{**ON_SLICES, "command": "sleep infinity"})
        with pytest.raises(InvalidInput):
            job_submit(actor=cast.actor("eng-language-1"), data=ON_SLICES)
        stage.run(30)
        decide(cast, slices, version=1)
        assert problems_of(cast) == [("card_model", "shared_pool")]
        stage.run(60)
        assert stage.job(job).state == JobState.RUNNING


@pytest.mark.parametrize("kind", ["training", "development"])
def test_slices_are_never_chosen_for_anybody(cast: Cast, slices: NodeGroup, kind: str) -> None:
    decide(cast, slices, training={"vision": "Their models are small."})
    whole = job_submit(actor=cast.actor("eng-vision-1"), data={**BODY, "kind": kind}).job
    assert whole.group != slices
    NodeGroup.objects.exclude(pk=slices.pk).update(sharing="mig", unit="slice")
    assert problems_of(cast, card_model="", kind=kind) == [("card_model", "only_shared")]


# --- the slow-down


def run_seconds(stage: Stage, **body: Any) -> float:
    """From the start of the work to its end."""
    job = stage.submit(**{**ON_SLICES, "kind": "development", "command": "sleep 100", **body})
    stage.run(400, step=5)
    job = stage.job(job)
    assert job.state == JobState.SUCCEEDED
    assert job.started_at is not None
    assert job.ended_at is not None
    return (job.ended_at - job.started_at).total_seconds()


def test_the_run_time_of_the_sandbox_follows_the_slow_down(cast: Cast, slices: NodeGroup) -> None:
    with Stage(cast) as stage:
        assert run_seconds(stage) == pytest.approx(130, abs=6), "1.3 where nobody decided anything"
        decide(cast, slices, slowdown=2_000)
        quotas_bring(cast.cluster)
        assert run_seconds(stage) == pytest.approx(200, abs=6)
        assert run_seconds(stage, card_model="h100") == pytest.approx(100, abs=6)


def test_the_answer_while_typing_tells_the_slow_down(cast: Cast, slices: NodeGroup) -> None:
    typed = {**ON_SLICES, "kind": "development"}
    viewer = cast.actor("eng-vision-1")
    assert job_preview(actor=viewer, data=typed).slowdown == 1_300
    decide(cast, slices, slowdown=1_500)
    assert job_preview(actor=viewer, data=typed).slowdown == 1_500
    assert job_preview(actor=viewer, data={**typed, "card_model": "h100"}).slowdown == 1_000
    assert slowdowns(cast.cluster) == (("slices", 1_500),)


# --- saving


def test_a_decision_is_kept_with_its_author_and_told_in_the_audit_trail(cast: Cast, slices: NodeGroup) -> None:
    assert sharing_view(slices).version == 0
    end = timezone.localdate() + timedelta(days=30)
    decide(cast, slices, is_transitional=True, until=end, training={"vision": " Small models. "})
    view = sharing_view(slices)
    assert view.policy is not None
    assert (view.policy.why, view.policy.until, view.slowdown) == ("Notebooks need little.", end, 1_300)
    assert view.policy.changed_by_name == "admin"
    assert [(p.team.slug, p.reason, p.given_by_name) for p in view.permits] == [("vision", "Small models.", "admin")]
    assert (view.is_overdue(end), view.is_overdue(end + timedelta(days=1))) == (False, True)
    event = AuditEvent.objects.get(action="sharing.save")
    assert event.target_id == "slices"
    assert event.detail["cluster"] == "sandbox"
    assert event.detail["changes"]["training"] == [None, {"vision": "Small models."}]


def test_saving_the_same_again_changes_nothing(cast: Cast, slices: NodeGroup) -> None:
    decide(cast, slices, training={"vision": "Small models."})
    decide(cast, slices, version=1, training={"vision": "Small models."})
    assert SharingPolicy.objects.get().version == 1
    assert AuditEvent.objects.filter(action="sharing.save").count() == 1


def test_a_permit_that_stays_keeps_who_gave_it_and_when(cast: Cast, slices: NodeGroup) -> None:
    decide(cast, slices, training={"vision": "Small models.", "language": "A trial."})
    before = TrainingPermit.objects.get(team__slug="vision").given_at
    decide(cast, slices, version=1, slowdown=2_000, training={"vision": "Small models.", "language": "A longer trial."})
    kept, changed = (TrainingPermit.objects.get(team__slug=team).given_at for team in ("vision", "language"))
    assert (kept == before, changed > before) == (True, True)


def test_the_second_of_two_admins_is_told_and_nothing_is_overwritten(cast: Cast, slices: NodeGroup) -> None:
    decide(cast, slices, slowdown=1_500)
    with pytest.raises(SharingChangedMeanwhile) as caught:
        decide(cast, slices, slowdown=2_000)
    assert "admin saved this meanwhile" in str(caught.value.message)
    assert sharing_view(slices).slowdown == 1_500


@pytest.mark.parametrize(
    ("decision", "attr", "code"),
    [
        ({"why": "  "}, "why", "required"),
        ({"why": "x" * 501}, "why", "too_long"),
        ({"slowdown": 999}, "slowdown", "out_of_range"),
        ({"slowdown": 10_001}, "slowdown", "out_of_range"),
        ({"until": date(2999, 1, 1)}, "until", "not_transitional"),
        ({"is_transitional": True, "until": date(2000, 1, 1)}, "until", "in_the_past"),
        ({"training": {"nobody": "because"}}, "training.nobody", "unknown_team"),
        ({"training": {"vision": ""}}, "training.vision", "required"),
    ],
)
def test_a_wrong_decision_is_refused_at_its_field(
    cast: Cast, slices: NodeGroup, decision: dict[str, Any], attr: str, code: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        decide(cast, slices, **decision)
    assert [(problem.attr, problem.code) for problem in caught.value.problems] == [(attr, code)]
    assert not SharingPolicy.objects.exists()


def test_whole_cards_have_no_sharing_policy_and_only_admins_decide(cast: Cast, slices: NodeGroup) -> None:
    with pytest.raises(DomainError) as caught:
        decide(cast, cast.groups["h100"])
    assert caught.value.code == "not_shared"
    with pytest.raises(NotFound):
        shared_group(viewer=cast.actor("admin"), cluster=cast.cluster, slug="h100")
    with pytest.raises(NotAllowed):
        shared_group(viewer=cast.actor("lead-vision"), cluster=cast.cluster, slug="slices")
    with pytest.raises(NotAllowed):
        said = SharingDecision("why")
        sharing_save(actor=cast.actor("lead-vision"), group=slices, expected_version=0, decision=said)
