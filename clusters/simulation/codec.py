"""World objects to JSON-ready dicts and back. One dict per object, as a store keeps one row per object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import Enum
from functools import cache
from typing import Any

from clusters.contract import EvictionCause, FailureCode, Outcome, PodPhase, WaitCode
from clusters.simulation.world import (
    Fault,
    Group,
    Hold,
    Latencies,
    Node,
    Note,
    Plan,
    Pod,
    Queue,
    Reclaim,
    Run,
    Shape,
    ShapeState,
    Spec,
    Stage,
    Strategy,
    Workload,
    World,
)

JsonDict = dict[str, Any]

_OBJECTS = ("nodes", "queues", "workloads")


@cache
def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind))


def plain(value: Any) -> Any:
    """A value of the world as JSON knows it."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return {name: plain(getattr(value, name)) for name in _names(value.__class__)}


def _optional(convert: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else convert(value)


def header_to_dict(world: World) -> JsonDict:
    """Everything of the world but its nodes, queues and workloads."""
    return {name: plain(getattr(world, name)) for name in _names(World) if name not in _OBJECTS}


def header_from_dict(data: Mapping[str, Any]) -> World:
    """A world without objects yet."""
    values = dict(data)
    values["latencies"] = Latencies(**values["latencies"])
    values["groups"] = {name: Group(**group) for name, group in values["groups"].items()}
    values["pool"] = dict(values["pool"])
    return World(**values)


def node_to_dict(node: Node) -> JsonDict:
    return plain(node)


def node_from_dict(data: Mapping[str, Any]) -> Node:
    values = dict(data)
    values["images"] = dict(values["images"])
    return Node(**values)


def queue_to_dict(queue: Queue) -> JsonDict:
    data = {name: plain(getattr(queue, name)) for name in _names(Queue) if name != "shapes"}
    data["shapes"] = [
        {"shape": list(shape), "note": plain(state.note), "parked": state.parked}
        for shape, state in queue.shapes.items()
    ]
    return data


def queue_from_dict(data: Mapping[str, Any]) -> Queue:
    values = dict(data)
    values["quotas"] = dict(values["quotas"])
    values["local_queues"] = tuple(values["local_queues"])
    values["strategy"] = Strategy(values["strategy"])
    values["reclaim"] = Reclaim(values["reclaim"])
    values["hold"] = Hold(values["hold"])
    values["shapes"] = {
        Shape(*entry["shape"]): ShapeState(_note(entry["note"]), entry["parked"]) for entry in values["shapes"]
    }
    return Queue(**values)


def _note(data: Mapping[str, Any]) -> Note:
    return Note(**{**data, "code": WaitCode(data["code"])})


def workload_to_dict(workload: Workload) -> JsonDict:
    return plain(workload)


def workload_from_dict(data: Mapping[str, Any]) -> Workload:
    values = dict(data)
    values["spec"] = Spec(**values["spec"])
    values["plan"] = Plan(**values["plan"])
    values["stage"] = Stage(values["stage"])
    values["runs"] = [_run(run) for run in values["runs"]]
    values["outcome"] = _optional(Outcome, values["outcome"])
    values["fault"] = _optional(_fault, values["fault"])
    return Workload(**values)


def _run(data: Mapping[str, Any]) -> Run:
    values = dict(data)
    values["nodes"] = list(values["nodes"])
    values["cause"] = _optional(EvictionCause, values["cause"])
    values["pods"] = [_pod(pod) for pod in values["pods"]]
    return Run(**values)


def _pod(data: Mapping[str, Any]) -> Pod:
    values = dict(data)
    values["phase"] = PodPhase(values["phase"])
    values["problem"] = _optional(FailureCode, values["problem"])
    return Pod(**values)


def _fault(data: Mapping[str, Any]) -> Fault:
    return Fault(**{**data, "code": FailureCode(data["code"])})


def world_to_dict(world: World) -> JsonDict:
    """The whole world in one dict."""
    data = header_to_dict(world)
    data["nodes"] = [node_to_dict(node) for node in world.nodes.values()]
    data["queues"] = [queue_to_dict(queue) for queue in world.queues.values()]
    data["workloads"] = [workload_to_dict(workload) for workload in world.workloads.values()]
    return data


def world_from_dict(data: Mapping[str, Any]) -> World:
    world = header_from_dict({key: value for key, value in data.items() if key not in _OBJECTS})
    world.nodes = {node.name: node for node in map(node_from_dict, data["nodes"])}
    world.queues = {queue.name: queue for queue in map(queue_from_dict, data["queues"])}
    world.workloads = {workload.name: workload for workload in map(workload_from_dict, data["workloads"])}
    return world
