"""The words of demo jobs: believable, valid, and always the same for the same occasion."""

from __future__ import annotations

from itertools import product

import pytest

from clusters.backends.sandbox.facts import from_ms
from clusters.simulation import behaviour
from clusters.simulation.commands import Submit
from clusters.simulation.world import Workload
from common.names import clean_display_name
from console.demo.layout import A100, ASCEND, H100, PEOPLE, SLICES, TEAMS
from console.demo.played import PlayedJob
from console.demo.repertoire import FAILING, Part, compose, planned_run_ms
from console.demo.situation import Request
from jobs.domain.images import image_problem
from jobs.domain.shape import Shape
from jobs.domain.words import Framework, Kind
from tests.demo.house import BEGIN_MS

SEED = 1
PARTS = [
    *(Part(team, group, cards, (10, 90)) for team, group, cards in product(TEAMS, (H100, A100, ASCEND), (1, 2, 4, 8))),
    *(Part(team, SLICES, 2, (10, 90), kind=Kind.DEVELOPMENT) for team in TEAMS),
    *(Part(team, None, 0, (10, 90)) for team in TEAMS),
    Part("vision", H100, 3, None, kind=Kind.DEVELOPMENT),
]
REQUESTS = [compose(SEED, part, occasion) for part in PARTS for occasion in range(40)]


def workload(request: Request) -> Workload:
    """The object that the sandbox would make of it."""
    job = PlayedJob("0" * 26, request, Shape(1, request.cards), "", "slu-x", from_ms(BEGIN_MS))
    job.submit()
    command = Submit.of(BEGIN_MS, job.spec())
    return Workload(command.name, command.spec, command.plan, BEGIN_MS, 1, BEGIN_MS)


def test_the_same_occasion_gives_the_same_job_and_another_one_another() -> None:
    part = PARTS[0]
    assert compose(SEED, part, 7) == compose(SEED, part, 7)
    assert len({compose(SEED, part, occasion).name for occasion in range(40)}) > 20


def test_names_are_kept_as_they_are_and_mix_two_languages() -> None:
    names = {request.name for request in REQUESTS}
    assert all(clean_display_name(name) == name for name in names)
    assert any(name.isascii() for name in names)
    assert any(not name.isascii() for name in names)


def test_images_are_valid_and_belong_to_no_real_registry() -> None:
    images = {request.image for request in REQUESTS}
    assert all(image_problem(image) is None and behaviour.image_problem(image) is None for image in images)
    assert all(image.startswith("registry.example/") for image in images)


def test_a_job_runs_as_long_as_its_command_says() -> None:
    for request in REQUESTS:
        assert behaviour.run_time_ms(SEED, workload(request)) == planned_run_ms(request.command)
    assert {planned_run_ms(request.command) is None for request in REQUESTS} == {True, False}


def test_some_programs_fail_and_a_few_of_those_try_again() -> None:
    failing = [request for request in REQUESTS if behaviour.exit_code(workload(request))]
    assert FAILING / 2 < len(failing) / len(REQUESTS) < FAILING * 2
    assert any(request.retry_limit for request in failing)
    assert all(not request.retry_limit for request in REQUESTS if request not in failing)


def test_mindspore_is_used_on_ascend_and_nowhere_else() -> None:
    """A person's next PyTorch job follows the vendor of their last one: the demo must not lead it astray."""
    for request in REQUESTS:
        assert (request.framework == Framework.MINDSPORE.value) == (request.group == ASCEND)


@pytest.mark.parametrize("team", sorted(TEAMS))
def test_owners_are_people_of_the_team(team: str) -> None:
    members = {person.username for person in PEOPLE if person.team == team}
    assert {request.owner for request in REQUESTS if request.team == team} == members


def test_only_priorities_of_everybody_are_used() -> None:
    assert {request.priority.value for request in REQUESTS} <= {"low", "normal"}
