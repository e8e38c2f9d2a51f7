"""One look at what a cluster is set up to do: for the preflight table. Only reads, a few dozen small ones.

What an account may not ask is left as ``None``; a cluster that does not answer raises `Retryable`, because half a look
would say "missing" of what is merely out of reach.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import msgspec

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.client import KubeClient, Missing
from clusters.backends.kueue_volcano.configurations import (
    KUEUE_KEY,
    VOLCANO_KEY,
    Unreadable,
    gate_settings,
    starter_settings,
)
from clusters.backends.kueue_volcano.credentials import Account
from clusters.backends.kueue_volcano.inventory import cards_of
from clusters.backends.kueue_volcano.lists import Followed, list_all
from clusters.backends.kueue_volcano.quantities import whole
from clusters.backends.kueue_volcano.rights import lacking_rights
from clusters.backends.kueue_volcano.wire_nodes import Node
from clusters.contract import Rejected, Unauthorized
from clusters.domain.accelerators import accelerator, is_known
from clusters.preflight.survey import (
    Check,
    ForeignQueue,
    GateSettings,
    PodPriority,
    StarterSettings,
    Survey,
)

GATE_SPACE, GATE_DEPLOYMENT, GATE_CONFIG = "kueue-system", "kueue-controller-manager", "kueue-manager-config"
STARTER_SPACE, STARTER_DEPLOYMENT = "volcano-system", "volcano-scheduler"
STARTER_CONFIG = "volcano-scheduler-configmap"
GROUPS = (names.WORKLOADS.group, names.POD_GROUPS.group)
POLICY = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/sluice-runtime"
EXPORTER_LABELS = {
    "app.kubernetes.io/name": ("dcgm-exporter", "npu-exporter", "amd-gpu-metrics-exporter", "hami"),
    "app": ("dcgm-exporter", "nvidia-dcgm-exporter", "npu-exporter", "ascend-exporter"),
}
"""How the charts of the vendors label their exporters' pods."""

_IMAGE_TAG = re.compile(r":(v?\d+\.\d+(?:\.\d+)?)[^/:@]*(?:@|$)")

T = TypeVar("T")


class _Items(msgspec.Struct):
    items: list[dict[str, Any]] = []


@dataclass(frozen=True, slots=True)
class Surveyor:
    """Reads one cluster under the accounts that the console has there."""

    clients: Mapping[Account, KubeClient]
    installation: str

    def survey(self, now: datetime) -> Survey:
        """Everything the cluster itself can tell; what only the console knows is left out. ``now`` is the console's."""
        clock = self._runtime.clock()
        gate = self._tried(lambda: self._deployment(GATE_SPACE, GATE_DEPLOYMENT))
        starter = self._tried(lambda: self._deployment(STARTER_SPACE, STARTER_DEPLOYMENT))
        queues = self._tried(lambda: self._items(names.CLUSTER_QUEUES.path()))
        nodes = self._tried(self._nodes)
        return Survey(
            version=str(self._json("/version").get("gitVersion", "")),
            served=self._tried(self._served),
            rights=self._rights(),
            accounts=frozenset(account.value for account in self.clients),
            clock_ahead=None if clock is None else round((clock - now).total_seconds()),
            gate_version=None if gate is None else _version_of(gate),
            gate_runs=None if gate is None else _is_ready(gate),
            gate=self._tried(self._gate_settings),
            checks=self._tried(self._checks),
            our_checks=frozenset() if queues is None else self._our_checks(queues),
            foreign_queues=None if queues is None else self._foreign(queues),
            starter_runs=None if starter is None else _is_ready(starter),
            starter=self._tried(self._starter_settings),
            starter_queue_open=self._tried(self._starter_queue_open),
            pod_priorities=self._tried(self._pod_priorities),
            admission_policy=self._tried(self._has_policy),
            space_limits=self._tried(self._limited_spaces),
            unknown_resources=None if nodes is None else _unknown_resources(nodes),
            cards=None if nodes is None else _cards(nodes),
            unlabelled_nodes=None if nodes is None else _unlabelled(nodes),
            exporters=self._tried(self._exporters),
        )

    @property
    def _runtime(self) -> KubeClient:
        return self.clients[Account.RUNTIME]

    def _tried(self, read: Callable[[], T]) -> T | None:
        """None where the account may not ask, and where the answer is none that we know."""
        try:
            return read()
        except (Unauthorized, Rejected, Unreadable, msgspec.MsgspecError):
            return None

    def _json(self, path: str, account: Account = Account.RUNTIME) -> dict[str, Any]:
        found = msgspec.json.decode(self.clients[account].get(path))
        if not isinstance(found, dict):
            raise msgspec.ValidationError(f"{path}: no object")
        return found

    def _items(
        self, path: str, params: Mapping[str, str] | None = None, account: Account = Account.RUNTIME
    ) -> list[dict[str, Any]]:
        """Objects of a kind of which there are few; none where the kind does not exist."""
        try:
            return msgspec.json.decode(self.clients[account].get(path, params), type=_Items).items
        except Missing:
            return []

    # ------------------------------------------------------------------- what is served, and to whom

    def _served(self) -> dict[str, frozenset[str]]:
        served = {}
        for group in GROUPS:
            try:
                versions = self._json(f"/apis/{group}").get("versions", [])
            except Missing:
                continue
            for version in versions:
                name = str(version.get("groupVersion", ""))
                resources = self._json(f"/apis/{name}").get("resources", [])
                served[name] = frozenset(str(resource.get("name", "")) for resource in resources)
        return served

    def _rights(self) -> dict[str, frozenset[str]]:
        """What each account lacks; an account that may not even ask that is left out."""
        found = {
            account.value: self._tried(partial(lacking_rights, self.clients[account], account))
            for account in self.clients
        }
        return {account: lacks for account, lacks in found.items() if lacks is not None}

    def _has_policy(self) -> bool:
        try:
            self._json(POLICY)
        except Missing:
            return False
        return True

    # ------------------------------------------------------------------- the schedulers

    def _deployment(self, space: str, name: str) -> dict[str, Any]:
        return self._json(names.DEPLOYMENTS.path(space, name))

    def _config(self, space: str, name: str, key: str) -> str:
        data = self._json(f"/api/v1/namespaces/{space}/configmaps/{name}").get("data") or {}
        if key not in data:
            raise Unreadable(f"{space}/{name} has no {key}")
        return str(data[key])

    def _gate_settings(self) -> GateSettings:
        return gate_settings(self._config(GATE_SPACE, GATE_CONFIG, KUEUE_KEY))

    def _starter_settings(self) -> StarterSettings:
        return starter_settings(self._config(STARTER_SPACE, STARTER_CONFIG, VOLCANO_KEY))

    def _starter_queue_open(self) -> bool:
        try:
            queue = self._json(f"/apis/{names.POD_GROUPS.api_version}/queues/{names.VOLCANO_QUEUE}")
        except Missing:
            return False
        return (queue.get("status") or {}).get("state") == "Open"

    def _checks(self) -> tuple[Check, ...]:
        return tuple(
            Check(
                name=str(check["metadata"]["name"]),
                controller=str((check.get("spec") or {}).get("controllerName", "")),
                is_active=_condition(check, "Active") == "True",
            )
            for check in self._items(f"/apis/{names.WORKLOADS.api_version}/admissionchecks")
        )

    def _our_checks(self, queues: Iterable[Mapping[str, Any]]) -> frozenset[str]:
        return frozenset(
            str(check.get("name", ""))
            for queue in queues
            if self._is_ours(queue)
            for check in ((queue.get("spec") or {}).get("admissionChecksStrategy") or {}).get("admissionChecks") or []
        )

    def _foreign(self, queues: Iterable[Mapping[str, Any]]) -> tuple[ForeignQueue, ...]:
        return tuple(_foreign_queue(queue) for queue in queues if not self._is_ours(queue))

    def _is_ours(self, found: Mapping[str, Any]) -> bool:
        return (found["metadata"].get("labels") or {}).get(names.INSTALLATION) == self.installation

    def _pod_priorities(self) -> tuple[PodPriority, ...]:
        account = Account.QUOTA if Account.QUOTA in self.clients else Account.RUNTIME
        return tuple(
            PodPriority(
                name=str(each["metadata"]["name"]),
                value=int(each.get("value", 0)),
                preempts=each.get("preemptionPolicy", "PreemptLowerPriority") != "Never",
                is_default=bool(each.get("globalDefault", False)),
            )
            for each in self._items(names.POD_PRIORITY_CLASSES.path(), account=account)
        )

    # ------------------------------------------------------------------- spaces, nodes, exporters

    def _limited_spaces(self) -> frozenset[str]:
        selector = {"labelSelector": f"{names.SPACE}=true,{names.INSTALLATION}={self.installation}"}
        spaces = {space["metadata"]["name"] for space in self._items(names.NAMESPACES.path(), selector)}
        limits = [*self._items("/api/v1/resourcequotas"), *self._items("/api/v1/limitranges")]
        return frozenset(limit["metadata"]["namespace"] for limit in limits) & spaces

    def _nodes(self) -> list[Node]:
        return list(list_all(self._runtime, Followed(names.NODES), self.installation).items)

    def _exporters(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for label, values in EXPORTER_LABELS.items():
            selector = {"labelSelector": f"{label} in ({','.join(values)})", "limit": "500"}
            for pod in self._items(names.PODS_KIND.path(), selector):
                if (pod.get("status") or {}).get("phase") == "Running":
                    found[pod["metadata"]["labels"][label]] += 1
        return found


def _foreign_queue(queue: Mapping[str, Any]) -> ForeignQueue:
    spec, status = queue.get("spec") or {}, queue.get("status") or {}
    flavors = {
        str(flavor.get("name", ""))
        for group in spec.get("resourceGroups") or []
        for flavor in group.get("flavors") or []
    }
    return ForeignQueue(
        name=str(queue["metadata"]["name"]),
        cohort=str(spec.get("cohortName") or ""),
        flavors=tuple(sorted(flavors)),
        holds=int(status.get("reservingWorkloads") or 0),
    )


def _condition(found: Mapping[str, Any], kind: str) -> str:
    conditions = (found.get("status") or {}).get("conditions") or []
    return next((str(each.get("status")) for each in conditions if each.get("type") == kind), "")


def _is_ready(deployment: Mapping[str, Any]) -> bool:
    return int((deployment.get("status") or {}).get("readyReplicas") or 0) > 0


def _version_of(deployment: Mapping[str, Any]) -> str:
    """By the tag of the program's image; '' for an image without one."""
    containers = deployment["spec"]["template"]["spec"]["containers"]
    tags = (_IMAGE_TAG.search(str(container.get("image", ""))) for container in containers)
    return next((tag[1] for tag in tags if tag), "")


def _unknown_resources(nodes: Iterable[Node]) -> dict[str, int]:
    """Devices that no row of the catalogue knows, with the number of nodes that have some."""
    return dict(
        Counter(
            name
            for node in nodes
            for name, amount in node.status.capacity.items()
            if whole(amount) and accelerator(name) is not None and not is_known(name)
        )
    )


def _cards(nodes: Iterable[Node]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for node in nodes:
        if (cards := cards_of(node)) is not None:
            found[cards.resource] += whole(node.status.capacity.get(cards.resource))
    return dict(found)


def _unlabelled(nodes: Iterable[Node]) -> int:
    """Nodes with cards of which no label says the model, though the vendor's own would."""
    found = (cards_of(node) for node in nodes)
    return sum(cards is not None and bool(cards.row.model_labels) and not cards.selector for cards in found)
