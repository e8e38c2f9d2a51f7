"""Cards held against quota: what each queue may still take, with and without limits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clusters.simulation.quota import Ledger
from clusters.simulation.world import Limits, Queue

GROUP = "h100"

cards = st.integers(0, 12)
limits = st.none() | cards


@st.composite
def ledgers(draw: st.DrawFn) -> tuple[Ledger, dict[str, Queue], int]:
    queues = {
        name: Queue(name, quotas={GROUP: draw(cards)}, limits={GROUP: Limits(draw(limits), draw(limits))})
        for name in draw(st.lists(st.sampled_from("abc"), min_size=1, unique=True))
    }
    pool = draw(cards)
    ledger = Ledger()
    ledger.set_quotas(queues, {GROUP: pool})
    return ledger, queues, pool


def own_of(queue: Queue) -> int:
    lend = queue.limits[GROUP].lend
    return 0 if lend is None else max(0, queue.quotas[GROUP] - lend)


@given(ledgers(), st.data())
def test_who_takes_only_what_is_available_never_passes_a_limit(
    made: tuple[Ledger, dict[str, Queue], int], data: st.DataObject
) -> None:
    ledger, queues, pool = made
    everything = pool + sum(queue.quotas[GROUP] for queue in queues.values())
    for _step in range(data.draw(st.integers(0, 12))):
        name = data.draw(st.sampled_from(sorted(queues)))
        room = ledger.available(name, GROUP)
        if room > 0 and data.draw(st.booleans()):
            ledger.hold(name, GROUP, data.draw(st.integers(1, room)))
        elif (used := ledger.used(name, GROUP)) > 0:
            ledger.hold(name, GROUP, -data.draw(st.integers(1, used)))
        assert sum(ledger.used(each, GROUP) for each in queues) <= everything
        for each, queue in queues.items():
            used, nominal, limit = ledger.used(each, GROUP), queue.quotas[GROUP], queue.limits[GROUP]
            assert used <= ledger.capacity(each, GROUP) <= everything
            assert limit.borrow is None or used <= nominal + limit.borrow
            assert ledger.available(each, GROUP) >= own_of(queue) - used  # what is not lent is there
            lent = sum(max(0, ledger.used(o, GROUP) - q.quotas[GROUP]) for o, q in queues.items() if o != each)
            assert limit.lend is None or lent <= pool + sum(
                q.quotas[GROUP] for o, q in queues.items() if o != each
            ) + min(limit.lend, nominal)


@given(ledgers())
def test_an_idle_cohort_offers_each_queue_all_that_it_could_ever_hold(
    made: tuple[Ledger, dict[str, Queue], int],
) -> None:
    ledger, queues, _pool = made
    for name in queues:
        assert ledger.available(name, GROUP) == ledger.capacity(name, GROUP)


def test_new_quotas_count_what_is_held_anew() -> None:
    ledger = Ledger()
    queues = {"a": Queue("a", quotas={GROUP: 8}), "b": Queue("b", quotas={GROUP: 8})}
    ledger.set_quotas(queues, {})
    ledger.hold("a", GROUP, 12)
    assert ledger.available("b", GROUP) == 4
    queues["b"].limits = {GROUP: Limits(lend=0)}
    ledger.set_quotas(queues, {})
    assert ledger.available("b", GROUP) == 8 - 4  # its own 8, and a holds 4 of nobody's
    assert ledger.available("a", GROUP) == -4
    ledger.hold("a", GROUP, -12)
    assert (ledger.available("a", GROUP), ledger.available("b", GROUP)) == (8, 16)
