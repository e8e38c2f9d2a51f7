"""Quotas set from outside: told, left as they are until an admin decides, then taken over or adopted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from accounts.models import AuditEvent
from clusters.backends.sandbox.backend import SandboxBackend
from clusters.contract import DriftField, QuotaChange, QuotaDrift, QuotaPlan, QuotaSyncReport, Retryable
from clusters.models import Notice
from common.errors import DomainError, InvalidInput, NotAllowed
from quotas.drift import adoption_preview, drift_adopt, drift_take_over
from quotas.models import QuotaVersion, Share
from quotas.plans.errors import ChangedMeanwhile
from quotas.plans.store import stored
from quotas.services import quotas_apply
from tests.cast import Cast

N = DriftField.NOMINAL
AT = datetime(2026, 11, 30, 10, tzinfo=UTC)


class Outside:
    """A cluster on which somebody else sets quotas: ``found`` stays until a plan takes over."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str], int] = {}
        self.written: list[QuotaPlan] = []
        self.error: Exception | None = None
        self.failed: tuple[tuple[str, str], ...] = ()

    def apply(self, plan: QuotaPlan) -> QuotaSyncReport:
        if self.error is not None:
            raise self.error
        planned = {(queue.queue, each.node_group): each.nominal for queue in plan.queues for each in queue.quotas}
        changes = tuple(
            QuotaChange(queue, group, N, planned[queue, group], cards)
            for (queue, group), cards in self.found.items()
            if planned[queue, group] != cards
        )
        if changes and not plan.takes_over:
            return QuotaSyncReport(failed=self.failed, drift=QuotaDrift(changes, ("kubectl-edit",), AT))
        if self.failed:
            return QuotaSyncReport(failed=self.failed)
        self.found = {}
        self.written.append(plan)
        return QuotaSyncReport()


@pytest.fixture
def outside(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> Outside:
    found = Outside()
    monkeypatch.setattr(SandboxBackend, "apply_quotas", lambda _, plan: found.apply(plan))
    return found


def nominal(cast: Cast, team: str, group: str = "h100") -> int:
    return Share.objects.get(queue=cast.queues[team], group=cast.groups[group]).nominal


def newest(cast: Cast) -> int:
    return stored(cast.cluster).number


def notice() -> dict[str, Any]:
    facts: dict[str, Any] = Notice.objects.get(source="drift", closed_at=None).facts
    return facts


def test_what_was_set_outside_is_told_and_left_alone(cast: Cast, outside: Outside) -> None:
    planned = nominal(cast, "vision")
    outside.found = {("vision", "h100"): planned - 1}
    for _ in range(2):
        quotas_apply(cast.cluster)
    assert outside.written == []
    assert notice() == {
        "changes": [
            {"queue": "vision", "node_group": "h100", "field": "nominal", "planned": planned, "found": planned - 1}
        ],
        "by": ["kubectl-edit"],
        "at": AT.isoformat(),
        "decided": "",
    }
    outside.found = {}
    quotas_apply(cast.cluster)
    assert Notice.objects.get().closed_at is not None and len(outside.written) == 1


def test_it_is_told_also_where_something_else_could_not_be_written(cast: Cast, outside: Outside) -> None:
    outside.found, outside.failed = {("vision", "h100"): 1}, (("slu-hosts", "conflict"),)
    quotas_apply(cast.cluster)
    assert notice()["changes"][0]["found"] == 1


def test_taken_over_the_plan_is_written_again(cast: Cast, outside: Outside) -> None:
    outside.found = {("vision", "h100"): 1}
    quotas_apply(cast.cluster)
    drift_take_over(actor=cast.actor("admin"), cluster=cast.cluster)
    assert notice()["decided"] == "take_over"
    version = QuotaVersion.objects.count()
    quotas_apply(cast.cluster)
    assert Notice.objects.get().closed_at is not None
    assert len(outside.written) == 1 and QuotaVersion.objects.count() == version
    entry = AuditEvent.objects.get(action="quota.take_over")
    assert (entry.actor, entry.detail["by"]) == (cast.users["admin"], ["kubectl-edit"])


def test_a_decision_outlives_a_cluster_that_does_not_answer_or_refuses(cast: Cast, outside: Outside) -> None:
    outside.found = {("vision", "h100"): 1}
    quotas_apply(cast.cluster)
    drift_take_over(actor=cast.actor("admin"), cluster=cast.cluster)
    outside.error = Retryable("silent")
    with pytest.raises(Retryable):
        quotas_apply(cast.cluster)
    outside.error, outside.failed = None, (("vision", "conflict"),)
    quotas_apply(cast.cluster)
    assert notice()["decided"] == "take_over"
    outside.failed = ()
    quotas_apply(cast.cluster)
    assert Notice.objects.get().closed_at is not None and outside.found == {}


def test_adopted_it_is_a_version_of_the_plan(cast: Cast, outside: Outside) -> None:
    found = {("vision", "h100"): nominal(cast, "vision") - 2, ("robotics", "h100"): nominal(cast, "robotics") + 2}
    others = nominal(cast, "language")
    outside.found = dict(found)
    quotas_apply(cast.cluster)
    version = drift_adopt(
        actor=cast.actor("admin"), cluster=cast.cluster, expected_version=newest(cast), reason="An emergency at night"
    )
    assert version is not None
    assert (version.cause, version.reason, version.author_name) == ("adopt", "An emergency at night", "admin")
    assert {team: nominal(cast, team) for team, _ in found} == {team: cards for (team, _), cards in found.items()}
    assert nominal(cast, "language") == others
    quotas_apply(cast.cluster)
    assert Notice.objects.get().closed_at is not None
    (written,) = outside.written
    parts = {queue.queue: {each.node_group: each.nominal for each in queue.quotas} for queue in written.queues}
    assert {(team, "h100"): parts[team]["h100"] for team, _ in found} == found


@pytest.mark.parametrize("cards", [1_000, 10**9])
def test_more_than_there_is_can_only_be_taken_over(cast: Cast, outside: Outside, cards: int) -> None:
    outside.found = {("vision", "h100"): cards}
    quotas_apply(cast.cluster)
    before = (QuotaVersion.objects.count(), nominal(cast, "vision"))
    with pytest.raises(DomainError) as refused:
        drift_adopt(actor=cast.actor("admin"), cluster=cast.cluster, expected_version=newest(cast))
    assert refused.value.code == "not_adoptable"
    assert (QuotaVersion.objects.count(), nominal(cast, "vision")) == before and notice()["decided"] == ""


@pytest.mark.parametrize(
    "decide",
    [
        lambda actor, cluster: drift_take_over(actor=actor, cluster=cluster),
        lambda actor, cluster: drift_adopt(actor=actor, cluster=cluster, expected_version=stored(cluster).number),
    ],
    ids=["take over", "adopt"],
)
def test_there_is_nothing_to_decide_without_drift_and_nobody_but_admins_decides(
    cast: Cast, outside: Outside, decide: Callable[..., object]
) -> None:
    with pytest.raises(DomainError) as refused:
        decide(cast.actor("admin"), cast.cluster)
    assert refused.value.code == "no_drift"
    outside.found = {("vision", "h100"): 1}
    quotas_apply(cast.cluster)
    for username in ("eng-vision-1", "lead-vision"):
        with pytest.raises(NotAllowed):
            decide(cast.actor(username), cast.cluster)
    assert notice()["decided"] == ""


def test_a_plan_that_somebody_saved_meanwhile_is_not_adopted_over(cast: Cast, outside: Outside) -> None:
    outside.found = {("vision", "h100"): 1}
    quotas_apply(cast.cluster)
    with pytest.raises(ChangedMeanwhile):
        drift_adopt(actor=cast.actor("admin"), cluster=cast.cluster, expected_version=newest(cast) - 1)
    assert notice()["decided"] == "" and nominal(cast, "vision") != 1


def test_a_reason_that_is_too_long_is_refused(cast: Cast, outside: Outside) -> None:
    outside.found = {("vision", "h100"): 1}
    quotas_apply(cast.cluster)
    with pytest.raises(InvalidInput):
        drift_adopt(actor=cast.actor("admin"), cluster=cast.cluster, expected_version=newest(cast), reason="x" * 301)


def test_the_plan_of_an_adoption_can_be_seen_before(cast: Cast, outside: Outside) -> None:
    outside.found = {("vision", "h100"): 1}
    quotas_apply(cast.cluster)
    preview = adoption_preview(viewer=cast.actor("admin"), cluster=cast.cluster)
    (row,) = preview.rows
    assert (row.change.queue, row.change.group, row.change.cards_after.nominal) == ("vision", "h100", 1)
    assert QuotaVersion.objects.filter(cause="adopt", author=cast.users["admin"]).count() == 0


def test_a_plan_that_comes_to_what_was_found_ends_the_drift(cast: Cast, outside: Outside) -> None:
    outside.found = {("vision", "h100"): nominal(cast, "vision") - 1}
    quotas_apply(cast.cluster)
    outside.found = {("vision", "h100"): nominal(cast, "vision")}
    quotas_apply(cast.cluster)
    assert Notice.objects.get().closed_at is not None
