"""What every backend promises (`clusters.contract`), as one suite: subclass it and give it a stage to play on.

The suite knows no cluster: the stage owns time, and can put an object of somebody else in the way.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from clusters.contract import (
    BackendError,
    Capability,
    Holdable,
    LogLine,
    Outcome,
    Rejected,
    Retryable,
    SchedulerBackend,
    Scope,
    Unauthorized,
    WorkloadSpec,
)
from clusters.facts_codec import facts_from_json, facts_to_json
from clusters.observed import held_cards
from tests.backends.contract_nodes import NodesContract
from tests.backends.contract_priority import PriorityContract
from tests.backends.contract_quotas import QuotasContract
from tests.backends.contract_services import ServicesContract
from tests.backends.contract_stage import (
    BETA,
    GRACE,
    Stage,
    is_running,
    plan,
    ref_of,
    spec_of,
)


class BackendContract(QuotasContract, ServicesContract, PriorityContract, NodesContract):
    """Inherit, and override the fixture ``stage``."""

    # ----------------------------------------------------------------------- announcing oneself

    def test_it_names_its_kind_and_what_it_can_do(self, stage: Stage) -> None:
        backend = stage.backend()
        assert backend.kind and backend.kind == type(backend).kind
        assert all(isinstance(capability, Capability) for capability in backend.capabilities)
        assert (Capability.HOLD in backend.capabilities) == isinstance(backend, Holdable)

    # ----------------------------------------------------------------------- submit

    def test_the_same_spec_twice_is_one_object_and_one_ref(self, ready: Stage) -> None:
        spec = spec_of()
        refs = [ready.backend().submit(spec) for _ in range(2)]
        row = self.until(ready, spec, is_running)
        refs.append(ready.backend().submit(spec))
        ready.wait(5)
        rows = ready.backend().observe(Scope()).objects
        assert [(r.job_ulid, r.attempt) for r in rows] == [(spec.job_ulid, 1)]
        assert {(r.job_ulid, r.attempt, r.space, r.object_name) for r in refs} == {
            (spec.job_ulid, 1, spec.space, spec.object_name)
        }
        assert {ref.uid for ref in refs} <= {None, row.uid} and refs[-1].uid == row.uid
        assert self.look(ready, spec)[0] == row

    def test_attempts_of_one_job_are_objects_of_their_own(self, ready: Stage) -> None:
        first, second = spec_of(), spec_of(attempt=2, object_name="j-job-0000000001-2")
        for spec in (first, second):
            ready.backend().submit(spec)
        ready.wait(2)
        rows = self.look(ready, first, second)
        assert all(rows) and len({row.uid for row in rows if row}) == 2

    def test_a_name_of_somebody_else_is_refused_for_good_and_left_alone(self, ready: Stage) -> None:
        spec = spec_of()
        ready.occupy(spec)
        for _ in range(2):
            with pytest.raises(Rejected) as caught:
                ready.backend().submit(spec)
            assert caught.value.code == "name_taken"
        foreign_before = self._foreign(ready, spec)
        ready.backend().stop(ref_of(spec), GRACE)
        backend = ready.backend()
        if isinstance(backend, Holdable):
            backend.set_held(ref_of(spec), True)
        ready.wait(60)
        assert self.look(ready, spec) == [None]
        assert self._foreign(ready, spec) == foreign_before

    def _foreign(self, stage: Stage, spec: WorkloadSpec) -> list[tuple[str, bool]]:
        """What is seen of objects that are not the spec's: backends may leave foreign ones out."""
        rows = stage.backend().observe(Scope()).objects
        return [(row.uid, row.facts.active) for row in rows if row.job_ulid != spec.job_ulid]

    @pytest.mark.parametrize(
        "changes",
        [
            {"pods": 2},
            {"pods": 4, "cards_per_pod": 2},
            {"cards_per_pod": 0, "node_group": None, "cpu_millis": 500, "memory_bytes": 2**28},
            {"framework": "mpi", "pods": 2},
            {"kind": "development", "cards_per_pod": 1},
        ],
        ids=["two pods", "four pods", "no cards", "mpi", "development"],
    )
    def test_facts_tell_pods_and_cards_as_they_were_asked_for(self, ready: Stage, changes: dict[str, Any]) -> None:
        spec = spec_of(**changes)
        facts = self.running(ready, spec).facts
        assert (facts.wanted_pods, facts.cards) == (spec.pods, spec.cards)
        assert sorted(pod.rank for pod in facts.pods) == list(range(spec.pods))
        assert {pod.cards for pod in facts.pods} == {spec.cards_per_pod}
        assert all(pod.node for pod in facts.pods)

    # ----------------------------------------------------------------------- facts

    def test_times_of_an_admission_are_in_order_and_never_ahead(self, ready: Stage) -> None:
        spec = spec_of(pods=2, command="sleep 5; exit 0")
        ready.backend().submit(spec)
        row = self.until(ready, spec, lambda row: row.facts.outcome is not None)
        facts = row.facts
        told = [
            facts.created_at,
            facts.queued_at,
            facts.reserved_at,
            facts.admitted_at,
            facts.scheduled_at,
            facts.ready_at,
            facts.ended_at,
        ]
        times = [at for at in told if at is not None]
        assert len(times) == len(told) and times == sorted(times)
        assert all(at.tzinfo is not None for at in times)
        assert times[-1] <= ready.backend().observe(Scope()).read_at
        assert facts.outcome is Outcome.SUCCEEDED and (times[-1] - times[-2]).total_seconds() >= 5

    def test_a_failed_program_names_rank_and_exit_code(self, ready: Stage) -> None:
        spec = spec_of(pods=2, command="sleep 1; exit 7")
        ready.backend().submit(spec)
        facts = self.until(ready, spec, lambda row: row.facts.outcome is not None).facts
        assert facts.outcome is Outcome.FAILED and facts.failure is not None
        assert (facts.failure.code.value, facts.failure.exit_code) == ("app_exit", 7)
        assert facts.failure.rank in (0, 1)

    def test_facts_survive_a_store(self, ready: Stage) -> None:
        spec = spec_of(pods=2)
        ready.backend().submit(spec)
        for _ in range(20):
            (row,) = self.look(ready, spec)
            if row is not None:
                assert facts_from_json(facts_to_json(row.facts)) == row.facts
            ready.wait(1)

    def test_a_revision_changes_exactly_with_the_facts(self, ready: Stage) -> None:
        spec = spec_of(command="sleep 5; exit 0")
        ready.backend().submit(spec)
        seen = []
        for _ in range(40):
            (row,) = self.look(ready, spec)
            if row is not None:
                seen.append(row)
            ready.wait(1)
        assert len({row.uid for row in seen}) == 1
        for earlier, later in pairwise(seen):
            assert (earlier.revision == later.revision) == (earlier.facts == later.facts)
        assert len({row.revision for row in seen}) >= 3

    # ----------------------------------------------------------------------- observe

    def test_a_whole_look_is_complete_and_one_at_a_space_is_not(self, ready: Stage) -> None:
        mine, other = spec_of(1), spec_of(2, space=BETA, queue="beta")
        for spec in (mine, other):
            ready.backend().submit(spec)
        ready.wait(3)
        whole = ready.backend().observe(Scope())
        part = ready.backend().observe(Scope(frozenset({BETA})))
        assert whole.complete and not part.complete
        assert {row.job_ulid for row in whole.objects} == {mine.job_ulid, other.job_ulid}
        assert {row.job_ulid for row in part.objects} == {other.job_ulid}
        nothing = ready.backend().observe(Scope(frozenset({"slu-nobody-000000"})))
        assert not nothing.objects and not nothing.complete

    def test_what_is_gone_is_absent_from_the_next_whole_look(self, ready: Stage) -> None:
        spec = spec_of()
        self.running(ready, spec)
        ready.backend().stop(ref_of(spec), timedelta(0))
        ready.wait(20)
        whole = ready.backend().observe(Scope())
        assert whole.complete and not whole.objects

    def test_looks_never_go_back_in_time(self, ready: Stage) -> None:
        times = []
        for _ in range(5):
            times.append(ready.backend().observe(Scope()).read_at)
            ready.wait(1)
        assert times == sorted(times) and times[0] < times[-1]

    # ----------------------------------------------------------------------- stop

    def test_stopping_what_is_not_there_is_success(self, ready: Stage) -> None:
        for _ in range(2):
            ready.backend().stop(ref_of(spec_of()), GRACE)
        ready.wait(3)
        assert not ready.backend().observe(Scope()).objects

    def test_stopping_frees_the_quota_at_once_and_the_pods_end_within_their_grace(self, ready: Stage) -> None:
        spec, heir = spec_of(1, pods=4), spec_of(2, pods=4)
        self.running(ready, spec)
        ready.backend().submit(heir)
        ready.wait(3)
        for _ in range(3):
            ready.backend().stop(ref_of(spec), GRACE)
        ready.wait(2)
        (row,) = self.look(ready, spec)
        if row is not None:
            assert row.facts.ending and held_cards(row.facts)[1] == 0
        self.until(ready, heir, is_running)
        ready.wait(GRACE.total_seconds())
        assert self.look(ready, spec) == [None]

    def test_a_stop_right_after_the_submit_leaves_nothing(self, ready: Stage) -> None:
        spec = spec_of()
        ready.backend().submit(spec)
        ready.backend().stop(ref_of(spec), GRACE)
        ready.wait(GRACE.total_seconds() + 10)
        assert self.look(ready, spec) == [None]

    def test_a_finished_object_stays_until_it_is_stopped(self, ready: Stage) -> None:
        spec = spec_of(command="sleep 1; exit 0")
        ready.backend().submit(spec)
        self.until(ready, spec, lambda row: row.facts.outcome is not None)
        ready.wait(120)
        assert self.look(ready, spec)[0] is not None
        ready.backend().stop(ref_of(spec), timedelta(0))
        ready.wait(5)
        assert self.look(ready, spec) == [None]

    # ----------------------------------------------------------------------- hold

    def test_holding_twice_is_holding_once_and_frees_the_quota(self, ready: Stage) -> None:
        backend = ready.backend()
        if not isinstance(backend, Holdable):
            pytest.skip("this backend cannot hold")
        spec = spec_of()
        self.running(ready, spec)
        for _ in range(2):
            backend.set_held(ref_of(spec), True)
        ready.wait(20)
        (row,) = self.look(ready, spec)
        assert row is not None and not row.facts.active
        assert held_cards(row.facts) == (0, 0, 0)
        assert row.facts.evictions == 1
        for _ in range(2):
            backend.set_held(ref_of(spec), False)
        again = self.until(ready, spec, is_running)
        assert again.facts.active and again.facts.evictions == 1
        assert again.uid == row.uid

    def test_a_held_object_keeps_its_place(self, ready: Stage) -> None:
        backend = ready.backend()
        if not isinstance(backend, Holdable):
            pytest.skip("this backend cannot hold")
        blocker, first, second = (spec_of(number, pods=4) for number in (1, 2, 3))
        self.running(ready, blocker)
        for spec in (first, second):
            backend.submit(spec)
            ready.wait(2)
        backend.set_held(ref_of(first), True)
        ready.wait(5)
        backend.set_held(ref_of(first), False)
        ready.wait(5)
        backend.stop(ref_of(blocker), timedelta(0))
        self.until(ready, first, is_running)
        (row,) = self.look(ready, second)
        assert row is not None and row.facts.admitted_at is None

    def test_holding_what_is_not_there_is_success(self, ready: Stage) -> None:
        backend = ready.backend()
        if isinstance(backend, Holdable):
            for held in (True, False):
                backend.set_held(ref_of(spec_of()), held)
            ready.wait(3)
            assert not backend.observe(Scope()).objects

    # ----------------------------------------------------------------------- logs

    def test_logs_read_bit_by_bit_are_the_logs_read_at_once(self, ready: Stage) -> None:
        spec = spec_of(pods=2, command="sleep 90; exit 0")
        ready.backend().submit(spec)
        self.until(ready, spec, is_running)
        ref, cursor = ref_of(spec), ""
        kept: list[LogLine] = []
        for _ in range(200):
            chunk = ready.backend().tail_logs(ref, cursor)
            assert len(chunk.lines) <= 1_000
            assert not (chunk.complete and (row := self.look(ready, spec)[0]) and row.facts.outcome is None)
            kept += chunk.lines
            cursor = chunk.cursor
            if kept and chunk.complete and not chunk.lines:
                break
            ready.wait(3)
        whole, cursor = [], ""
        while lines := (chunk := ready.backend().tail_logs(ref, cursor)).lines:
            whole += lines
            cursor = chunk.cursor
        for rank in (0, 1):  # each pod writes a log of its own: between two of them there is no order
            assert [_text(line) for line in kept if line.rank == rank] == [
                _text(line) for line in whole if line.rank == rank
            ]
        assert len(kept) == len(whole) > 4
        assert all(earlier.seq < later.seq for lines in (kept, whole) for earlier, later in pairwise(lines))
        assert {line.rank for line in kept} == {0, 1}
        assert all(isinstance(line.data, bytes) and b"\n" not in line.data for line in kept)
        times = {rank: [line.at for line in kept if line.rank == rank] for rank in (0, 1)}
        assert all(at == sorted(at) for at in times.values())

    def test_the_same_cursor_gives_the_same_lines(self, ready: Stage) -> None:
        spec = spec_of()
        self.running(ready, spec)
        ready.wait(60)
        first = ready.backend().tail_logs(ref_of(spec), "")
        again = ready.backend().tail_logs(ref_of(spec), "")
        assert first.lines and again.lines[: len(first.lines)] == first.lines
        assert not first.complete

    def test_logs_of_what_is_not_there_are_empty_and_complete(self, ready: Stage) -> None:
        chunk = ready.backend().tail_logs(ref_of(spec_of()), "")
        assert chunk.lines == () and chunk.complete

    # ----------------------------------------------------------------------- errors

    @pytest.mark.parametrize("cursor", ["x", "-7", "9" * 5_000, "\x00", "1.5"], ids=range(5))
    def test_a_cursor_of_somebody_else_is_no_surprise(self, ready: Stage, cursor: str) -> None:
        spec = spec_of()
        self.running(ready, spec)
        try:
            ready.backend().tail_logs(ref_of(spec), cursor)
        except BackendError as error:
            assert isinstance(error, Retryable | Rejected | Unauthorized) and error.code

    def test_a_cluster_that_cannot_answer_is_one_of_three_errors(self, stage: Stage) -> None:
        def calls(backend: SchedulerBackend) -> list[Callable[[], Any]]:
            return [
                lambda: backend.observe(Scope()),
                backend.inventory,
                lambda: backend.submit(spec_of()),
                lambda: backend.stop(ref_of(spec_of()), GRACE),
                lambda: backend.apply_quotas(plan(16, 16)),
                lambda: backend.tail_logs(ref_of(spec_of()), ""),
            ]

        failed = 0
        for call in calls(stage.broken()):
            try:
                call()
            except BackendError as error:
                assert isinstance(error, Retryable | Unauthorized) and error.code
                failed += 1
        assert failed >= 2


def _text(line: LogLine) -> tuple[object, ...]:
    return line.at, line.pod, line.rank, line.data
