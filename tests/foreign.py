"""A cluster that others divided before us: their queues, a pool, flavors and nodes, as an API server lists them."""

from __future__ import annotations

import json
from typing import Any

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.credentials import Account
from clusters.backends.kueue_volcano.lists import FOLLOWED
from clusters.models import Cluster, NodeGroup
from tests.api_server import ApiServer, kubeconfig_of
from tests.backends.kueue.objects import RESOURCE, node

INSTALLATION = "01kzzzzzzzzzzzzzzzzzzzzzzz"
H100 = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
A100 = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}

Object = dict[str, Any]


def queue(
    name: str, *, cohort: str = "research", held: dict[str, int] | None = None, mine: str = "", **cards: int
) -> Object:
    """A queue with so many cards by flavor; a flavor is written with _ for -."""
    labels = {names.INSTALLATION: mine} if mine else {}
    used = [
        {"name": flavor, "resources": [{"name": RESOURCE, "total": str(count)}]}
        for flavor, count in (held or {}).items()
    ]
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels, "resourceVersion": "1"},
        "spec": {"cohortName": cohort, "resourceGroups": [_resource_group(cards)], "namespaceSelector": {}},
        "status": {"flavorsReservation": used, "admittedWorkloads": len(used), "pendingWorkloads": 2 if used else 0},
    }


def _resource_group(cards: dict[str, int]) -> Object:
    return {
        "coveredResources": ["cpu", RESOURCE],
        "flavors": [
            {
                "name": flavor.replace("_", "-"),
                "resources": [
                    {"name": "cpu", "nominalQuota": "100"},
                    {"name": RESOURCE, "nominalQuota": str(count)},
                ],
            }
            for flavor, count in cards.items()
        ],
    }


def objects() -> dict[str, list[Object]]:
    """By plural: what is not here, the cluster does not have. 48 cards on six nodes of two kinds."""
    nodes = [node(f"h100-{number}", labels=H100) for number in range(4)]
    nodes += [node(f"a100-{number}", labels=A100) for number in range(2)]
    pool = queue("research", research_h100=8)
    return {
        "nodes": nodes,
        "clusterqueues": [
            queue("vision-cq", held={"research-h100": 8}, research_h100=16, research_a100=4),
            queue("shared", cohort="", held={"any": 3}, any=6),
            queue("slu-vision", cohort="slu", mine=INSTALLATION, slu_h100=4),
        ],
        "localqueues": [
            {
                "metadata": {"name": "main", "namespace": "vision-lab", "uid": "lq-1", "labels": {}},
                "spec": {"clusterQueue": "vision-cq"},
                "status": {"admittedWorkloads": 1, "pendingWorkloads": 2},
            }
        ],
        "cohorts": [
            pool,
            {"metadata": {"name": "empty", "labels": {}}, "spec": {}},
            queue("slu", mine=INSTALLATION, slu_h100=9),
        ],
        "resourceflavors": [
            {"metadata": {"name": "research-h100", "labels": {}}, "spec": {"nodeLabels": H100}},
            {"metadata": {"name": "research-a100", "labels": {}}, "spec": {"nodeLabels": A100}},
            {"metadata": {"name": "any", "labels": {}}, "spec": {}},
        ],
    }


def confirm_groups(cluster: Cluster) -> None:
    """The two node groups of the cluster, as an admin would confirm them."""
    for position, (slug, labels) in enumerate((("h100", H100), ("a100", A100))):
        NodeGroup.objects.create(
            cluster=cluster, slug=slug, title=slug.upper(), vendor="nvidia", card_model=slug.upper(), unit="card",
            sharing="exclusive", cards_per_node=8, resource=RESOURCE, selector=labels, position=position,
        )  # fmt: skip


def kubeconfig(server: ApiServer, account: Account) -> bytes:
    """Of one of the three accounts."""
    return kubeconfig_of(server, account)


def writes(server: ApiServer) -> list[tuple[str, str]]:
    """Everything that was asked and would have changed an object. Who am I and what may I do are questions."""
    return [
        (method, path)
        for method, path, _host in server.asked
        if method != "GET" and not path.startswith(("/apis/authentication.k8s.io/", "/apis/authorization.k8s.io/"))
    ]


def serve(server: ApiServer, **changed: list[Object]) -> None:
    """Let the API server list these objects without those of ours, and nothing of other kinds that are looked at."""
    listed = {followed.kind.plural: [] for followed in FOLLOWED} | objects() | changed
    kinds = [followed.kind for followed in FOLLOWED] + [names.COHORTS, names.FLAVORS]
    for kind in kinds:
        items = [each for each in listed[kind.plural] if names.INSTALLATION not in each["metadata"]["labels"]]
        body = json.dumps({"metadata": {"resourceVersion": "9"}, "items": items}).encode()
        server.answers[kind.path()] = 200, {"Content-Type": "application/json"}, body
