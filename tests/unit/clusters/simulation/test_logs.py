"""Log lines: believable, bounded, and a function of stored times only."""

from __future__ import annotations

import json

import pytest

from clusters.contract import FailureCode
from clusters.simulation.codec import world_from_dict, world_to_dict
from clusters.simulation.commands import EvictPod, ExitPod, NodePower
from clusters.simulation.logs import Line, tail
from clusters.simulation.world import Plan
from tests.unit.clusters.simulation.lab import Lab


def lines_of(lab: Lab, name: str) -> list[Line]:
    return list(tail(lab.world, [lab[name]], "", limit=100_000).lines)


def texts(lab: Lab, name: str, rank: int = 0) -> list[str]:
    return [line.data.decode() for line in lines_of(lab, name) if line.rank == rank]


def test_the_first_line_says_that_images_are_not_executed() -> None:
    lab = Lab()
    lab.submit("gang", pods=2, cards=8, command="sleep 60")
    lab.settle()
    for rank in (0, 1):
        first, second, *_ = texts(lab, "gang", rank)
        assert "does not execute images" in first
        assert f"pod {rank + 1} of 2 on n{rank + 1}, 8 cards, image registry.example/train:1" in second


@pytest.mark.parametrize(
    ("framework", "words"),
    [
        ("pytorch", ("step ", "loss ", "samples/s")),
        ("tensorflow", ("Epoch ", "loss: ")),
        ("mindspore", ("epoch: ", "loss is ")),
        ("mpi", ("iteration ", "residual ")),
        ("command", ("working, ",)),
    ],
)
def test_every_framework_speaks_its_own_way(framework: str, words: tuple[str, ...]) -> None:
    lab = Lab()
    lab.submit("job", framework=framework, command="sleep 600")
    lab.pass_ms(300_000)
    work = [text for text in texts(lab, "job") if not text.startswith("[sandbox]")]
    assert len(work) > 10
    assert all(word in text for word in words for text in work)


def test_a_rank_prints_a_line_every_five_to_twenty_seconds() -> None:
    lab = Lab()
    lab.submit("gang", pods=4, cards=8, command="sleep 3600")
    lab.pass_ms(3_700_000)
    for rank in range(4):
        count = len(texts(lab, "gang", rank))
        assert 3_600 / 20 - 2 <= count <= 3_600 / 5 + 6


def test_the_loss_falls() -> None:
    lab = Lab()
    lab.submit("job", command="sleep 3600")
    lab.pass_ms(3_000_000)
    losses = [float(text.split("loss ")[1].split()[0]) for text in texts(lab, "job") if "loss " in text]
    assert losses[0] > 2 * losses[-1] > 0


def test_reading_in_small_steps_gives_the_same_lines_as_reading_at_once() -> None:
    lab = Lab()
    lab.submit("gang", pods=3, cards=8, command="sleep 100; exit 1", plan=Plan(failing_rank=2))
    read: list[Line] = []
    cursor = ""
    complete = False
    while not complete:
        chunk = tail(lab.world, [lab["gang"]], cursor, limit=7)
        assert len(chunk.lines) <= 7
        read.extend(chunk.lines)
        cursor, complete = chunk.cursor, chunk.complete
        if not chunk.lines:
            lab.pass_ms(3_333)
    assert read == lines_of(lab, "gang")
    numbers = [line.seq for line in read]
    assert numbers == sorted(set(numbers))
    assert [line.at_ms for line in read] == sorted(line.at_ms for line in read)


def test_lines_already_read_never_change_whatever_happens_later() -> None:
    lab = Lab()
    lab.submit("job", command="sleep 1000", plan=Plan(resumes=True))
    lab.pass_ms(100_000)
    before = lines_of(lab, "job")
    lab.hold("job")
    assert lines_of(lab, "job") == before
    lab.settle()
    lab.resume("job")
    lab.pass_ms(100_000)
    lab.do(ExitPod(0, "job", 0, 137, FailureCode.OUT_OF_MEMORY))
    lab.settle()
    world = world_from_dict(json.loads(json.dumps(world_to_dict(lab.world), sort_keys=True)))
    after = list(tail(world, [world.workloads["job"]], "", limit=100_000).lines)
    assert after[: len(before)] == before
    said = [line.data.decode() for line in after]
    assert sum("SIGTERM: stopping within 30 s" in text for text in said) == 1
    saved = next(text for text in said if "checkpoint saved at step" in text)
    assert any(text.endswith(f"resuming from the checkpoint of step {saved.split()[-1]}") for text in said)
    assert said[-1] == "[sandbox] out of memory: the container was killed"


def test_a_job_that_does_not_resume_saves_no_checkpoint() -> None:
    lab = Lab()
    lab.submit("job")
    lab.settle()
    lab.hold("job")
    lab.settle()
    assert not any("checkpoint" in text for text in texts(lab, "job"))
    assert texts(lab, "job")[-1] == "[sandbox] exit code 143"


def test_the_last_line_tells_how_it_ended() -> None:
    lab = Lab()
    lab.submit("fine", command="sleep 5")
    lab.submit("disrupted", "b", pods=2, cards=4)
    lab.submit("lost", "c")
    lab.settle()
    lab.do(EvictPod(0, "disrupted", 1))
    lab.do(NodePower(0, lab.nodes_of("lost")[0], up=False))
    lab.settle()
    assert texts(lab, "fine")[-1] == "[sandbox] exit code 0"
    assert texts(lab, "disrupted", 1)[-1] == "[sandbox] the pod was evicted by the cluster"
    assert "[sandbox] SIGTERM: another pod of this job failed" in texts(lab, "disrupted", 0)
    assert texts(lab, "lost")[-1] == f"[sandbox] node {lab.nodes_of('lost')[0]} stopped answering"


def test_a_job_whose_pods_never_ran_has_no_lines_and_completes_when_it_is_over() -> None:
    lab = Lab()
    lab.submit("missing", image="sandbox.invalid/missing:1")
    lab.settle()
    chunk = tail(lab.world, [lab["missing"]], "")
    assert (chunk.lines, chunk.cursor, chunk.complete) == ((), "", False)


@pytest.mark.parametrize("cursor", ["x", "-5", "1.5"])
def test_a_foreign_cursor_is_an_error(cursor: str) -> None:
    lab = Lab()
    lab.submit("job")
    with pytest.raises(ValueError):
        tail(lab.world, [lab["job"]], cursor)
