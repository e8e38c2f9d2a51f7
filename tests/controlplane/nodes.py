"""Fake nodes: what kwok plays as machines with cards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LOST = "sluice.test/lost"
INTERCONNECT = "sluice.test/interconnect"
NODES = "/api/v1/nodes"


@dataclass(frozen=True)
class NodeGroup:
    """``count`` equal nodes named ``<name>-1`` and so on; ``labels`` come on top of those of the product and host."""

    name: str
    count: int = 4
    cards: int = 8
    product: str = "NVIDIA-H100-80GB-HBM3"
    interconnect: str = "nvlink"
    resource: str = "nvidia.com/gpu"
    cpu: str = "128"
    memory: str = "1Ti"
    labels: Mapping[str, str] = field(default_factory=dict)

    def manifests(self, kubelet_port: int) -> dict[str, dict[str, Any]]:
        """The nodes by name."""
        names = [f"{self.name}-{number}" for number in range(1, self.count + 1)]
        return {name: self._manifest(name, kubelet_port) for name in names}

    def _manifest(self, name: str, kubelet_port: int) -> dict[str, Any]:
        room = {"cpu": self.cpu, "memory": self.memory, "pods": "110"}
        if self.cards:
            room[self.resource] = str(self.cards)
        labels = {
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            # Kubernetes adds these to the two above; without them a node would not stay as it was wanted.
            "beta.kubernetes.io/os": "linux",
            "beta.kubernetes.io/arch": "amd64",
            "nvidia.com/gpu.product": self.product,
            INTERCONNECT: self.interconnect,
            **self.labels,
        }
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "status": {
                "capacity": room,
                "allocatable": room,
                "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet_port}},
            },
        }


def is_as_wanted(node: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a node is what its manifest says, schedulable, healthy, and without anything a test put on it."""
    metadata = node["metadata"]
    return (
        metadata.get("deletionTimestamp") is None
        and metadata["labels"] == wanted["metadata"]["labels"]
        and LOST not in metadata.get("annotations", {})
        and node["status"].get("allocatable") == wanted["status"]["allocatable"]
        and is_schedulable(node)
    )


def is_schedulable(node: Mapping[str, Any]) -> bool:
    conditions = {condition["type"]: condition["status"] for condition in node["status"].get("conditions", [])}
    return (
        conditions.get("Ready") == "True" and not node["spec"].get("taints") and not node["spec"].get("unschedulable")
    )
