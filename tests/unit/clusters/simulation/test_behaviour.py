"""What commands and image names mean to the simulated cluster."""

from __future__ import annotations

import pytest

from clusters.contract import FailureCode, PodPhase
from clusters.simulation.behaviour import exit_code, image_problem, run_time_ms
from clusters.simulation.world import Plan
from tests.unit.clusters.simulation.lab import Lab


def planned(command: str, plan: Plan | None = None) -> tuple[int | None, int]:
    lab = Lab()
    lab.submit("job", command=command, plan=plan)
    return run_time_ms(1, lab["job"]), exit_code(lab["job"])


@pytest.mark.parametrize(
    ("command", "run_ms", "code"),
    [
        ("sleep 5; exit 3", 5_000, 3),
        ("bash -c 'echo hi && sleep 2.5 ; exit 0'", 2_500, 0),
        ("sleep 0", 0, 0),
        ("sleep 2m; exit 300", 120_000, 44),
        ("sleep infinity", None, 0),
        ("exit 7; sleep 3", 3_000, 7),
        ("python -c 'import time'; sleep 0.001", 1, 0),
    ],
)
def test_a_command_tells_run_time_and_exit_code(command: str, run_ms: int | None, code: int) -> None:
    assert planned(command) == (run_ms, code)


@pytest.mark.parametrize("command", ["", "torchrun train.py", "asleep 5", "sleep now", "sleep 5x", "exit 2"])
def test_without_a_sleep_the_run_time_is_one_to_three_minutes(command: str) -> None:
    run_ms, code = planned(command)
    assert run_ms is not None
    assert 60_000 <= run_ms <= 180_000
    assert code == (2 if command == "exit 2" else 0)


def test_a_plan_wins_over_the_command() -> None:
    assert planned("sleep 5; exit 3", Plan(run_ms=1, exit_code=0)) == (1, 0)


@pytest.mark.parametrize(
    "image",
    ["pytorch", "pytorch/pytorch:2.4.1-cuda12", "registry.example:5000/team_a/x--y:V1", f"a/b@sha256:{'0' * 64}"],
)
def test_a_good_image_name_is_pulled(image: str) -> None:
    assert image_problem(image) is None


@pytest.mark.parametrize("image", ["", "PyTorch", "a b", "a/:x", "a:", "a@sha256:12", "图像:1", "-x", "a" * 600])
def test_a_broken_image_name_is_refused(image: str) -> None:
    assert image_problem(image) is FailureCode.IMAGE_NAME_INVALID


def test_an_image_that_does_not_exist_is_reported_and_keeps_its_cards() -> None:
    lab = Lab()
    lab.submit("missing", image="sandbox.invalid/missing:1", pods=2, cards=4)
    lab.pass_ms(1_000)
    assert [pod.phase for pod in lab.facts("missing").pods] == [PodPhase.PULLING] * 2
    assert lab.facts("missing").pods[0].image_problem is None
    lab.pass_ms(3_600_000)
    facts = lab.facts("missing")
    assert {pod.image_problem for pod in facts.pods} == {FailureCode.IMAGE_NOT_FOUND}
    assert facts.pods[0].image_problem_since is not None
    assert facts.outcome is None
    assert lab.admitted() == {"missing"}


def test_a_broken_image_name_shows_as_soon_as_there_is_a_node() -> None:
    lab = Lab()
    lab.submit("broken", image="No Image")
    lab.pass_ms(400)
    assert lab.facts("broken").pods[0].image_problem is FailureCode.IMAGE_NAME_INVALID


def test_pulling_takes_seconds_once_and_is_fast_from_then_on() -> None:
    lab = Lab({"a": 32}, nodes=(8,))
    lab.submit("first", cards=4)
    lab.pass_ms(20_000)
    lab.submit("second", cards=4)
    lab.pass_ms(20_000)
    first, second = lab["first"].run, lab["second"].run
    assert first.ready_ms is not None
    assert second.ready_ms is not None
    assert 3_000 <= first.ready_ms - (first.scheduled_ms or 0) <= 15_000
    assert second.ready_ms - (second.scheduled_ms or 0) == 500


def test_a_node_forgets_the_images_it_has_not_pulled_for_longest() -> None:
    lab = Lab({"a": 32}, nodes=(8,))
    for number in range(20):
        lab.submit(f"job{number}", cards=1, image=f"registry.example/image:{number}", command="sleep 1")
        lab.settle()
    images = lab.world.nodes["n1"].images
    assert len(images) == 16
    assert "registry.example/image:19" in images
    assert "registry.example/image:0" not in images
