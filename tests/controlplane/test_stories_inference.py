"""Stories of inference services beside training. They are asked of the backend, as no form offers them yet."""

from __future__ import annotations

import pytest

from clusters.backends.kueue_volcano.backend import KueueVolcanoBackend
from clusters.contract import WorkloadFacts, WorkloadRef, WorkloadSpec
from clusters.facts_codec import facts_from_json
from clusters.models import Cluster, ObservedWorkload
from jobs.models import Job
from tests.backends.contract_stage import ref_of, spec_of
from tests.controlplane.console import Console

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.every_kueue]


class Service:
    """An inference service of the language team, eight cards a replica."""

    def __init__(self, console: Console, replicas: int = 1) -> None:
        self._console = console
        self.spec: WorkloadSpec = spec_of(
            kind="inference",
            priority=250,
            pods=replicas,
            space="slu-language-000000",
            queue="language",
            node_group=console.group.slug,
        )
        self._backend.submit(self.spec)

    @property
    def _backend(self) -> KueueVolcanoBackend:
        return KueueVolcanoBackend(Cluster.objects.get(pk=self._console.cluster.pk))

    @property
    def _ref(self) -> WorkloadRef:
        ref = ref_of(self.spec)
        return WorkloadRef(ref.job_ulid, ref.attempt, ref.space, ref.object_name, kind="inference")

    def scale(self, replicas: int) -> None:
        self._backend.scale(self._ref, replicas)

    def hold(self, held: bool) -> None:
        self._backend.set_held(self._ref, held)

    def stop(self) -> None:
        self._backend.stop(self._ref, self.spec.stop_grace)

    @property
    def facts(self) -> WorkloadFacts | None:
        """As last looked at; None when it is gone."""
        row = ObservedWorkload.objects.filter(job_ulid=self.spec.job_ulid, gone=False).first()
        return facts_from_json(row.facts) if row is not None else None

    def until_ready(self, replicas: int) -> WorkloadFacts:
        def check() -> WorkloadFacts | None:
            facts = self.facts
            is_so = facts is not None and facts.ready_at is not None and len(facts.pods) == replicas
            return facts if is_so else None

        return self._console.until_true(check, lambda: f"{replicas} ready replicas, but it is {self.facts}")


def test_a_service_takes_its_cards_back_from_a_borrowing_gang(console: Console) -> None:
    gang = console.submit(cards=32)
    console.until(gang, "running")
    service = Service(console)
    facts = service.until_ready(1)
    assert (facts.cards, facts.evictions, facts.wait) == (8, 0, None)
    victim = console.until(gang, "queued", "preempted_quota_reclaimed")
    assert console.runs(victim)[0].end_cause == "quota_reclaimed"
    console.wait_for_quota(vision=0, language=8)
    service.stop()
    console.until_true(lambda: service.facts is None, "the service is gone")
    console.until(gang, "running")
    assert Job.objects.get(pk=gang.pk).attempt_no == 1 and len(console.runs(gang)) == 2


def test_a_service_grows_shrinks_pauses_and_stops(console: Console) -> None:
    console.until(console.submit(cards=16), "running")
    service = Service(console)
    service.until_ready(1)
    service.scale(2)
    service.until_ready(2)
    console.wait_for_quota(language=16)
    service.scale(3)
    facts = console.until_true(
        lambda: found if (found := service.facts) is not None and found.wait is not None else None, "a replica waits"
    )
    assert (facts.wanted_pods, facts.ready_at) == (3, None)
    assert facts.wait.asked == 8
    service.scale(1)
    service.until_ready(1)
    console.wait_for_quota(language=8)
    service.hold(True)
    console.until_true(lambda: (found := service.facts) is not None and not found.active and not found.pods, "it rests")
    console.wait_for_quota(language=0)
    service.hold(False)
    service.until_ready(1)
    service.stop()
    console.until_true(lambda: service.facts is None, "the service is gone")
    console.wait_for_quota(language=0)
