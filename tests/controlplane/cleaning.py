"""Brings a control plane back to what it was after its start, quickly, so that tests share one and stay independent."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.controlplane.api import ApiError, Client
from tests.controlplane.processes import PlaneError

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
VOLCANO = "/apis/scheduling.volcano.sh/v1beta1"
NAMESPACES = "/api/v1/namespaces"
IN_NAMESPACES = (
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/replicasets",
    "/apis/batch/v1/jobs",
    "/api/v1/pods",
    f"{VOLCANO}/podgroups",
    f"{KUEUE}/workloads",
    f"{KUEUE}/localqueues",
    "/apis/kwok.x-k8s.io/v1alpha1/logs",
)
"""Emptied in every namespace before the namespaces go: what creates comes before what is created."""
IN_CLUSTER = (
    f"{KUEUE}/clusterqueues",
    f"{KUEUE}/cohorts",
    f"{KUEUE}/resourceflavors",
    f"{KUEUE}/topologies",
    f"{KUEUE}/workloadpriorityclasses",
    f"{KUEUE}/admissionchecks",
    f"{VOLCANO}/queues",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/api/v1/persistentvolumes",
)
SECONDS = 60.0
PATIENCE = 10.0
"""Seconds after which finalizers that nobody removes are removed by us."""


class Cleaner:
    """Knows what was there when it was made, and removes the rest."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._kept = {path: self._names(path) for path in (*IN_CLUSTER, NAMESPACES)}
        self._namespaced = list(self._discover())

    def clean(self) -> None:
        """:raises PlaneError: naming what would not go"""
        started = time.monotonic()
        self._repeat("objects in namespaces", self._empty_namespaces)
        for name in self._names(NAMESPACES) - self._kept[NAMESPACES]:
            self._remove_namespace(name)
        self._repeat("objects", lambda: self._empty_cluster(force=time.monotonic() - started > PATIENCE))

    def _repeat(self, what: str, sweep: Callable[[], list[str]]) -> None:
        deadline = time.monotonic() + SECONDS
        while left := sweep():
            if time.monotonic() > deadline:
                raise PlaneError(f"These {what} would not go: {sorted(left)}")
            time.sleep(0.05)

    def _empty_namespaces(self) -> list[str]:
        left = [(path, item) for path in IN_NAMESPACES for item in self._client.items(path)]
        collections = dict.fromkeys(_within(path, item["metadata"]["namespace"]) for path, item in left)
        for address in collections:  # in the order of the kinds
            self._client.delete(address, grace_seconds=0)
        _side_by_side(self._free, [_address(path, item) for path, item in left if item["metadata"].get("finalizers")])
        return [_address(path, item) for path, item in left]

    def _remove_namespace(self, name: str) -> None:
        """What Kubernetes does five seconds after a namespace is deleted, at once."""
        address = f"{NAMESPACES}/{name}"
        self._client.delete(address)  # from now on nothing can be created in it
        _side_by_side(self._client.delete, [_within(path, name) for path in self._namespaced])
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "spec": {"finalizers": []}}
        try:
            self._client.request("PUT", f"{address}/finalize", manifest)
        except ApiError as error:
            if error.status != 404:
                raise

    def _empty_cluster(self, *, force: bool) -> list[str]:
        left = [
            (path, item)
            for path in IN_CLUSTER
            for item in self._client.items(path)
            if item["metadata"]["name"] not in self._kept[path]
        ]
        fresh = [_address(path, item) for path, item in left if "deletionTimestamp" not in item["metadata"]]
        _side_by_side(self._client.delete, fresh)
        addresses = [_address(path, item) for path, item in left]
        if force:
            _side_by_side(self._free, addresses)
        return addresses

    def _free(self, address: str) -> None:
        """Take the finalizers from an object that may be gone already."""
        try:
            self._client.request("PATCH", address, {"metadata": {"finalizers": None}})
        except ApiError as error:
            if error.status not in (404, 409, 422):
                raise

    def _names(self, path: str) -> set[str]:
        return {item["metadata"]["name"] for item in self._client.items(path)}

    def _discover(self) -> Iterable[str]:
        """Every kind that lives in namespaces and can be deleted as a whole."""
        groups = self._client.request("GET", "/apis")["groups"]
        roots = ["/api/v1", *(f"/apis/{group['preferredVersion']['groupVersion']}" for group in groups)]
        for root in roots:
            for resource in self._client.request("GET", root)["resources"]:
                if resource["namespaced"] and "deletecollection" in resource["verbs"]:
                    yield f"{root}/{resource['name']}"


def _within(path: str, namespace: str) -> str:
    root, _, plural = path.rpartition("/")
    return f"{root}/namespaces/{namespace}/{plural}"


def _address(path: str, item: dict[str, Any]) -> str:
    namespace = item["metadata"].get("namespace")
    return f"{_within(path, namespace) if namespace else path}/{item['metadata']['name']}"


def _side_by_side(call: Callable[[str], object], addresses: Iterable[str]) -> None:
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(call, addresses))
