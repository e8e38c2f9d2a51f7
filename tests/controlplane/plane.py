"""A real control plane on loopback: Kubernetes, Kueue, Volcano, and kwok for the machines."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self

from tests.controlplane import parts, programs, schedulers
from tests.controlplane.api import LOST_CONNECTION, ApiError, Client, Identity
from tests.controlplane.audit import AuditLog
from tests.controlplane.cleaning import Cleaner
from tests.controlplane.nodes import LOST, NODES, NodeGroup, is_as_wanted, is_schedulable
from tests.controlplane.parts import ADMINS, PORTS, Site
from tests.controlplane.pki import Authority
from tests.controlplane.ports import kept_ports
from tests.controlplane.processes import PlaneError, Processes

KueueVersion = Literal["0.19", "0.17"]
Account = Literal["admin", "runtime", "quota", "node"]

DEPLOY = Path(__file__).parents[2] / "deploy"
RIGHTS = DEPLOY / "rbac.yaml"
POLICY = DEPLOY / "admission-policy.yaml"
OUR_NAMESPACE = "sluice-system"
TOKEN_SECONDS = 30 * 24 * 3600
START_SECONDS = 120.0
NAMES = {"apiserver": "kube-apiserver", "volcano": "vc-scheduler"}
"""Short names of processes."""
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
COLLECTIONS = {
    "CustomResourceDefinition": CRDS,
    "MutatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "ValidatingAdmissionPolicy": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/{namespace}/serviceaccounts",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings",
}
LOGS = "/apis/kwok.x-k8s.io/v1alpha1/namespaces/{}/logs"


class Plane:
    """Starts with :meth:`start`, ends with :meth:`stop`; everything it writes lies in ``folder``.

    Use it from the main thread. Several may run on one machine.
    """

    def __init__(
        self, folder: Path, *, kueue: KueueVersion = "0.19", say: Callable[[str], None] = lambda _: None
    ) -> None:
        self.folder = folder.resolve()
        self.kueue_version = kueue
        self._say = say
        self.folder.mkdir(parents=True, exist_ok=True)
        self.site = Site(self.folder, kept_ports(self.folder / "ports.json", PORTS), Authority(self.folder / "pki"))
        self.processes = Processes(self.folder / "logs")
        self.audit = AuditLog(parts.audit_log(self.site))
        harness = self.site.identity("harness", ADMINS)
        self.client = Client(self.site.server, self.site.authority.certificate, harness)
        self._kueue_settings: Mapping[str, Any] = {}
        self._wanted_nodes: dict[str, dict[str, Any]] = {}

    @property
    def server(self) -> str:
        return self.site.server

    @property
    def kubectl(self) -> Path:
        return programs.path_of("kubectl")

    # start and stop

    def start(self) -> Self:
        """Start everything and wait until jobs can be submitted.

        :raises PlaneError: when a part does not start; all that was started is ended
        """
        started = time.monotonic()
        try:
            self._start_kubernetes()
            self._start_schedulers()
            self._cleaner = Cleaner(self.client)
        except BaseException:
            self.stop()
            raise
        self._say(f"Control plane with Kueue {self.kueue_version} ready after {time.monotonic() - started:.1f} s")
        return self

    def stop(self, *, at_once: bool = True) -> None:
        """End everything; ``at_once=False`` where the folder will be used again."""
        self.processes.stop(at_once=at_once)
        self.client.close()

    def _start_kubernetes(self) -> None:
        default_log = parts.default_log(self.site)
        default_log.parent.mkdir(exist_ok=True)
        default_log.write_text("".join(_log_lines(["first line", "second line", "last line"])))
        self.processes.start("etcd", parts.etcd(self.site))
        self.processes.wait_ready("etcd", START_SECONDS)
        self.processes.start("kube-apiserver", parts.kube_apiserver(self.site, lambda: self.client.answers("/readyz")))
        self.processes.wait_ready("kube-apiserver", START_SECONDS)
        self.processes.start("kube-controller-manager", parts.kube_controller_manager(self.site))
        self.processes.start("kube-scheduler", parts.kube_scheduler(self.site))
        self._say("Kubernetes answers")

    def _start_schedulers(self) -> None:
        definitions = [
            *schedulers.kueue_definitions(self.site, self.kueue_version),
            *schedulers.volcano_definitions(),
            *schedulers.kwok_definitions(),
        ]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(self.apply, definitions))
        for name in ("kueue-system", "volcano-system"):
            self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        for definition in definitions:
            self.wait_for(lambda: self._is_served(definition), f"{definition['metadata']['name']} is served")  # noqa: B023
        self.processes.start("kwok", parts.kwok(self.site))
        self.processes.start("vc-controller-manager", schedulers.vc_controller_manager(self.site))
        self.processes.start("vc-scheduler", schedulers.vc_scheduler(self.site))
        self.processes.start("kueue", self._kueue_command())
        for manifest in (*schedulers.load(RIGHTS), *schedulers.load(POLICY)):
            self.apply(manifest)
        for name in ("kwok", "vc-controller-manager", "vc-scheduler", "kueue"):
            self.processes.wait_ready(name, START_SECONDS)
        for webhooks in schedulers.kueue_webhooks(self.site, self.kueue_version):
            self.apply(webhooks)
        self._wait_for_schedulers()

    def _kueue_command(self) -> schedulers.Command:
        return schedulers.kueue(self.site, self.kueue_version, self._kueue_settings)

    def _is_served(self, definition: Mapping[str, Any]) -> bool:
        """Its objects can be listed, and whoever asks what there is hears of it (a moment later)."""
        spec = definition["spec"]
        version = next(version["name"] for version in spec["versions"] if version["storage"])
        found = self.client.find(f"/apis/{spec['group']}/{version}") or {"resources": []}
        is_known = any(resource["name"] == spec["names"]["plural"] for resource in found["resources"])
        return is_known and self.client.answers(f"/apis/{spec['group']}/{version}/{spec['names']['plural']}?limit=1")

    def _wait_for_schedulers(self) -> None:
        """Volcano has made its queue, and Kueue's webhooks let objects through."""
        self.wait_for(
            lambda: self.client.find("/apis/scheduling.volcano.sh/v1beta1/queues/default"), "Volcano's queue exists"
        )
        probe = {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ResourceFlavor",
            "metadata": {"name": "probe"},
            "spec": {},
        }
        address = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors?dryRun=All"
        self.wait_for(lambda: self._accepts(address, probe), "Kueue's webhooks answer")

    def _accepts(self, address: str, manifest: Mapping[str, Any]) -> bool:
        try:
            self.client.request("POST", address, manifest)
        except ApiError:
            return False
        return True

    # faults

    def stop_process(self, name: str) -> None:
        """End one part as a crash does: kueue, volcano, apiserver, or a process by its full name."""
        self.processes.kill(NAMES.get(name, name))

    def start_process(self, name: str) -> None:
        """Start a part again and wait until it works."""
        full = NAMES.get(name, name)
        self.processes.start(full)
        self.processes.wait_ready(full, START_SECONDS)
        if full in ("kueue", "vc-scheduler"):
            self._wait_for_schedulers()

    def set_kueue(self, **settings: Any) -> None:
        """Restart Kueue with other settings (top-level fields of its configuration) until the next :meth:`reset`."""
        self._kueue_settings = settings
        if self.processes.running("kueue"):
            self.processes.kill("kueue")
        self.processes.start("kueue", self._kueue_command())
        self.processes.wait_ready("kueue", START_SECONDS)
        self._wait_for_schedulers()

    # requests

    def request(self, method: str, path: str, body: Any = None, *, content_type: str | None = None) -> Any:
        """A request as the harness, which may do everything and is not in the audit log."""
        return self.client.request(method, path, body, content_type=content_type)

    def apply(self, manifest: Mapping[str, Any]) -> Any:
        """Server-side apply of a kind in ``COLLECTIONS``."""
        collection = COLLECTIONS[manifest["kind"]].format(namespace=manifest["metadata"].get("namespace"))
        return self.client.apply(collection, manifest)

    def identity(self, account: Account) -> Identity:
        """The administrator's certificate, or a token of one of the shipped accounts."""
        if account == "admin":
            return self.site.identity("admin", ADMINS)
        path = f"/api/v1/namespaces/{OUR_NAMESPACE}/serviceaccounts/sluice-{account}"
        review = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": TOKEN_SECONDS},
        }
        return Identity(token=self.request("POST", f"{path}/token", review)["status"]["token"])

    def client_of(self, account: Account) -> Client:
        return Client(self.server, self.site.authority.certificate, self.identity(account))

    def kubeconfig(self, account: Account = "admin") -> Path:
        """A file with a kubeconfig of this account."""
        file = self.folder / f"kubeconfig-{account}.yaml"
        client = self.client_of(account)
        file.touch(mode=0o600)
        file.write_text(client.kubeconfig())
        client.close()
        return file

    def user_of(self, account: Account) -> str:
        """Its name in the audit log."""
        return "plane:admin" if account == "admin" else f"system:serviceaccount:{OUR_NAMESPACE}:sluice-{account}"

    def wait_for(self, check: Callable[[], Any], what: str, seconds: float = 30.0) -> Any:
        """The first true answer of ``check``; refusals and a lost connection are answers to try again after.

        :raises PlaneError: when it was never true
        """
        deadline = time.monotonic() + seconds
        last: object = "not yet"
        while True:
            try:
                if answer := check():
                    return answer
            except (ApiError, LOST_CONNECTION) as error:
                last = error
            if time.monotonic() > deadline:
                raise PlaneError(f"Not within {seconds:.0f} s: {what} ({last})")
            time.sleep(0.1)

    # machines

    def add_nodes(self, group: NodeGroup) -> list[str]:
        """Add a group's nodes to those that are there and wait until they take pods; their names."""
        self._wanted_nodes |= group.manifests(self.site.ports["kwok"])
        self._bring_nodes()
        return list(group.manifests(self.site.ports["kwok"]))

    def cordon(self, node: str, cordoned: bool = True) -> None:
        self.request("PATCH", f"{NODES}/{node}", {"spec": {"unschedulable": cordoned or None}})

    def lose_node(self, node: str, lost: bool = True) -> None:
        """The node falls silent (its pods are evicted after their toleration), or speaks again."""
        self.request("PATCH", f"{NODES}/{node}", {"metadata": {"annotations": {LOST: "true" if lost else None}}})

    def _bring_nodes(self) -> None:
        there = {node["metadata"]["name"]: node for node in self.client.items(NODES)}
        wrong = [name for name, node in there.items() if not self._is_wanted(name, node)]
        for name in wrong:
            self.client.delete(f"{NODES}/{name}", grace_seconds=0)
        self.wait_for(lambda: not any(self.client.find(f"{NODES}/{name}") for name in wrong), "unwanted nodes are gone")
        for name, manifest in self._wanted_nodes.items():
            if name not in there or name in wrong:
                self.request("POST", NODES, manifest)
        self.wait_for(lambda: all(map(is_schedulable, self.client.items(NODES))), "nodes take pods")

    def _is_wanted(self, name: str, node: Mapping[str, Any]) -> bool:
        return name in self._wanted_nodes and is_as_wanted(node, self._wanted_nodes[name])

    # pods

    def pods(self, namespace: str, job: str | None = None) -> list[dict[str, Any]]:
        """The pods of a namespace, or of one of its Jobs by index."""
        selector = f"?labelSelector=batch.kubernetes.io/job-name={job}" if job else ""
        found = self.client.items(f"/api/v1/namespaces/{namespace}/pods{selector}")
        return sorted(
            found, key=lambda pod: int(pod["metadata"]["labels"].get("batch.kubernetes.io/job-completion-index", 0))
        )

    def exit_pod(self, namespace: str, pod: str, code: int = 0) -> None:
        """A running pod's containers exit by themselves."""
        annotations = {"sluice.test/exit": str(code)}
        self.request("PATCH", f"/api/v1/namespaces/{namespace}/pods/{pod}", {"metadata": {"annotations": annotations}})

    def evict_pod(self, namespace: str, pod: str) -> None:
        """The eviction API, as a drain uses it."""
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": namespace}}
        self.request("POST", f"/api/v1/namespaces/{namespace}/pods/{pod}/eviction", eviction)

    def write_log(self, namespace: str, pod: str, lines: list[str]) -> None:
        """Add lines to a log that this pod has for itself. It begins with the three lines that all pods have."""
        file = self.folder / "pod-logs" / f"{namespace}_{pod}.log"
        is_new = not file.exists()
        if is_new:
            shutil.copy(parts.default_log(self.site), file)
        with file.open("a") as log:
            log.writelines(_log_lines(lines))
        if is_new:
            manifest = {
                "apiVersion": "kwok.x-k8s.io/v1alpha1",
                "kind": "Logs",
                "metadata": {"name": pod, "namespace": namespace},
                "spec": {"logs": [{"logsFile": str(file), "follow": True}]},
            }
            self.request("POST", LOGS.format(namespace), manifest)
            self.wait_for(lambda: self._serves(namespace, pod, lines), f"{pod} has a log of its own")

    def _serves(self, namespace: str, pod: str, lines: list[str]) -> bool:
        """Whether the API server reads these lines, as far as the pod is still there."""
        log = self.client.find(f"/api/v1/namespaces/{namespace}/pods/{pod}/log")
        return log is None or log.splitlines()[-len(lines) :] == lines

    # between tests

    def reset(self, *groups: NodeGroup) -> None:
        """Everything as after the start: all parts run, nothing is there but these nodes, healthy and schedulable."""
        for name in self.processes.known():
            self.processes.thaw(name)
            if not self.processes.running(name):
                self.start_process(name)
        if self._kueue_settings:
            self.set_kueue()
        self._cleaner.clean()
        self._wanted_nodes = {}
        for group in groups:
            self._wanted_nodes |= group.manifests(self.site.ports["kwok"])
        self._bring_nodes()


def _log_lines(lines: list[str]) -> Iterator[str]:
    """Lines as a container runtime writes them."""
    for line in lines:
        yield f"{datetime.now(UTC).isoformat().replace('+00:00', 'Z')} stdout F {line}\n"


@contextmanager
def throw_away_plane(*, kueue: KueueVersion = "0.19", say: Callable[[str], None] = lambda _: None) -> Iterator[Plane]:
    """A running plane whose folder goes with it."""
    folder = Path(tempfile.mkdtemp(prefix="sluice-plane-"))
    plane = Plane(folder, kueue=kueue, say=say)
    try:
        yield plane.start()
    finally:
        plane.stop()
        shutil.rmtree(folder, ignore_errors=True)
