"""R30: the whole of it in an order that a seed decides, with everything that may go wrong; thousands of seeds.

SLUICE_SEEDS plays others: ``17``, or ``2000-11999``. A seed that fails says how to play it again.
"""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Iterator

import pytest
import time_machine

from clusters.backends.sandbox.facts import to_ms
from tests.faults.recorder import call_witness
from tests.faults.seeds.play import BEGIN, play_seed
from tests.faults.seeds.scene import Scene, build_scene

pytestmark = pytest.mark.timeout(900)

SEEDS = 2_000
CHUNK = 50
"""Seeds of one test, so that the tests of a parallel run can be spread."""


def _seeds() -> range:
    first, _, last = os.environ.get("SLUICE_SEEDS", f"0-{SEEDS - 1}").partition("-")
    return range(int(first), int(last or first) + 1)


def _chunks() -> list[range]:
    seeds = _seeds()
    return [seeds[at : at + CHUNK] for at in range(0, len(seeds), CHUNK)]


@pytest.fixture
def scene(db: None) -> Iterator[Scene]:
    """Set up once for all seeds of a test; what they log is what they are made to go through."""
    call_witness()
    with time_machine.travel(BEGIN, tick=False):
        scene = build_scene(to_ms(BEGIN))
    logging.disable(logging.CRITICAL)
    gc.collect()
    gc.freeze()  # what is there now is no garbage, and need not be looked through for every seed
    try:
        yield scene
    finally:
        gc.unfreeze()
        logging.disable(logging.NOTSET)


@pytest.mark.parametrize("seeds", _chunks(), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_whatever_happens_in_whatever_order_all_invariants_hold_at_rest(scene: Scene, seeds: range) -> None:
    """R30: I1 to I11 after each seed, judged by raw rows and by what the cluster itself has noted."""
    failed = []
    for seed in seeds:
        result = play_seed(scene, seed)
        if result.problems:
            replay = f"SLUICE_SEEDS={seed} pytest tests/faults/test_seeds.py"
            failed.append("\n  ".join([replay, *result.problems, *result.trace]))
    assert not failed, "\n".join([f"{len(failed)} of {len(seeds)} seeds", *failed[:3]])


def test_a_seed_plays_the_same_each_time(scene: Scene) -> None:
    """R30: a failing seed can be looked at as often as it takes."""
    for seed in (3, 11, 29):
        first, second = play_seed(scene, seed), play_seed(scene, seed)
        assert first.trace == second.trace
        assert first.digest == second.digest and len(first.trace) > 5
