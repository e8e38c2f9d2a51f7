"""World objects to JSON-ready dicts and back. One dict per object, as a store keeps one row per object.

Reading raises ``msgspec.ValidationError`` for a dict that does not have the form of this version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import msgspec

from clusters.simulation.world import Node, Queue, Shape, ShapeState, Workload, World

JsonDict = dict[str, Any]

_OBJECTS = ("nodes", "queues", "workloads")
_HEADER = tuple(item.name for item in fields(World) if item.name not in _OBJECTS)
_QUEUE = tuple(item.name for item in fields(Queue) if item.name != "shapes")


def plain(value: Any) -> Any:
    """A value of the world as JSON knows it."""
    return msgspec.to_builtins(value)


def header_to_dict(world: World) -> JsonDict:
    """Everything of the world but its nodes, queues and workloads."""
    return {name: plain(getattr(world, name)) for name in _HEADER}


def header_from_dict(data: Mapping[str, Any]) -> World:
    """A world without objects yet."""
    return msgspec.convert({name: value for name, value in data.items() if name not in _OBJECTS}, World)


def node_to_dict(node: Node) -> JsonDict:
    data: JsonDict = plain(node)
    return data


def node_from_dict(data: Mapping[str, Any]) -> Node:
    return msgspec.convert(data, Node)


def queue_to_dict(queue: Queue) -> JsonDict:
    data = {name: plain(getattr(queue, name)) for name in _QUEUE}
    # A shape is no JSON key: pairs.
    data["shapes"] = [[plain(shape), plain(state)] for shape, state in queue.shapes.items()]
    return data


def queue_from_dict(data: Mapping[str, Any]) -> Queue:
    queue = msgspec.convert(
        {name: data[name] for name in _QUEUE if name in data}, Queue
    )  # a newer field has its default
    queue.shapes = dict(msgspec.convert(data["shapes"], list[tuple[Shape, ShapeState]]))
    return queue


def workload_to_dict(workload: Workload) -> JsonDict:
    data: JsonDict = plain(workload)
    return data


def workload_from_dict(data: Mapping[str, Any]) -> Workload:
    return msgspec.convert(data, Workload)


def world_to_dict(world: World) -> JsonDict:
    """The whole world in one dict."""
    data = header_to_dict(world)
    data["nodes"] = [node_to_dict(node) for node in world.nodes.values()]
    data["queues"] = [queue_to_dict(queue) for queue in world.queues.values()]
    data["workloads"] = [workload_to_dict(workload) for workload in world.workloads.values()]
    return data


def world_from_dict(data: Mapping[str, Any]) -> World:
    world = header_from_dict(data)
    world.nodes = {node.name: node for node in map(node_from_dict, data["nodes"])}
    world.queues = {queue.name: queue for queue in map(queue_from_dict, data["queues"])}
    world.workloads = {workload.name: workload for workload in map(workload_from_dict, data["workloads"])}
    return world
