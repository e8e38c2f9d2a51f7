"""Every object survives its trip through JSON."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from clusters.contract import FailureCode
from clusters.simulation import codec
from clusters.simulation.commands import (
    Command,
    Cordon,
    Delete,
    EvictPod,
    ExitPod,
    HoldQueue,
    NodeDef,
    NodePower,
    QueueDef,
    SetActive,
    SetNodes,
    SetQuotas,
    Sicken,
    Submit,
    command_from_dict,
    command_to_dict,
)
from clusters.simulation.world import Group, Hold, Plan, Reclaim, Spec, Strategy
from tests.unit.clusters.simulation.lab import HIGH, LOW, Lab


def stored(data: Any) -> Any:
    """As a JSON column gives it back: keys in another order."""
    return json.loads(json.dumps(data, sort_keys=True))


@pytest.fixture
def busy() -> Lab:
    """A world in which something of everything happens."""
    lab = Lab({"a": 16, "b": 8, "c": 8})
    lab.submit("low", priority=LOW, pods=2)
    lab.submit("fails", "b", command="sleep 1; exit 2")
    lab.submit("missing", "c", cards=1, image="sandbox.invalid/missing:1")
    lab.settle()
    lab.do(Sicken(0, "n4", 2))
    lab.do(NodePower(0, "n3", up=False))
    lab.submit("high", priority=HIGH, pods=2)
    lab.submit("waits", "b", pods=5)
    lab.pass_ms(200)
    return lab


def test_header_nodes_queues_and_workloads_round_trip_one_by_one(busy: Lab) -> None:
    world = busy.world
    header = codec.header_from_dict(stored(codec.header_to_dict(world)))
    assert (header.nodes, header.queues, header.workloads) == ({}, {}, {})
    header.nodes, header.queues, header.workloads = world.nodes, world.queues, world.workloads
    assert header == world
    for node in world.nodes.values():
        assert codec.node_from_dict(stored(codec.node_to_dict(node))) == node
    for queue in world.queues.values():
        assert codec.queue_from_dict(stored(codec.queue_to_dict(queue))) == queue
    assert any(queue.shapes for queue in world.queues.values())
    for workload in world.workloads.values():
        assert codec.workload_from_dict(stored(codec.workload_to_dict(workload))) == workload


def test_a_world_round_trips_as_a_whole(busy: Lab) -> None:
    assert codec.world_from_dict(stored(codec.world_to_dict(busy.world))) == busy.world


def test_a_row_of_another_form_is_refused(busy: Lab) -> None:
    data = codec.workload_to_dict(busy["low"])
    data["stage"] = "dreaming"
    with pytest.raises(msgspec.ValidationError):
        codec.workload_from_dict(data)


SPEC = Spec("J", 1, "a", "main", None, 200, "training", "mpi", "image", "", 1, 0, 4000, 1, 30_000)


@pytest.mark.parametrize(
    "command",
    [
        Submit(1, "job", SPEC, Plan(run_ms=5, failing_rank=1, resumes=True)),
        Delete(1, "job", 100),
        SetActive(1, "job", False),
        SetQuotas(
            1,
            (QueueDef("a", (("g", 3),), "space", ("main",), Strategy.STRICT, Reclaim.NEVER, True, 100),),
            (("g", 1),),
        ),
        SetNodes(1, (NodeDef("n", None, 0),), (Group("g", "Title", "vendor"),)),
        Cordon(1, "n"),
        NodePower(1, "n", False),
        Sicken(1, "n", 2),
        ExitPod(1, "job", 0, 137, FailureCode.OUT_OF_MEMORY),
        EvictPod(1, "job", 0),
        HoldQueue(1, "a", Hold.HOLD_AND_DRAIN),
    ],
    ids=lambda command: command.kind,
)
def test_a_command_round_trips(command: Command) -> None:
    assert command_from_dict(stored(command_to_dict(command))) == command


def test_an_unknown_command_is_an_error() -> None:
    with pytest.raises(KeyError):
        command_from_dict({"kind": "explode", "at_ms": 1})
