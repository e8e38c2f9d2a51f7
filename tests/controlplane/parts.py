"""How each program of the control plane is started: its arguments, its files, and when it is ready."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import urllib3
import yaml

from tests.controlplane import programs
from tests.controlplane.api import Client, Identity
from tests.controlplane.pki import Authority
from tests.controlplane.processes import Command

FILES = Path(__file__).parent / "files"
LOOPBACK = "127.0.0.1"
SERVICE_ADDRESSES = "10.0.0.0/24"
COMPONENTS = "plane:components"
ADMINS = "system:masters"
CLIENT_LIMITS = ("--kube-api-qps=200", "--kube-api-burst=400")
PORTS = (
    "etcd",
    "etcd-peers",
    "kube-apiserver",
    "kwok",
    "kueue-webhooks",
    "kueue-health",
    "kueue-metrics",
    "vc-scheduler",
    "vc-controller-manager",
)


@dataclass(frozen=True)
class Site:
    """Where one control plane lives: its folder, ports, certificates and API server."""

    folder: Path
    ports: dict[str, int]
    authority: Authority

    @property
    def server(self) -> str:
        return f"https://{LOOPBACK}:{self.ports['kube-apiserver']}"

    def address(self, port: str) -> str:
        return f"{LOOPBACK}:{self.ports[port]}"

    def identity(self, name: str, *groups: str) -> Identity:
        """A client certificate in this name."""
        return Identity(*self.authority.issue(f"client-{name}", f"plane:{name}", groups))

    def component(self, name: str) -> Path:
        """The kubeconfig of one part of the control plane; its requests are left out of the audit log."""
        client = Client(self.server, self.authority.certificate, self.identity(name, ADMINS, COMPONENTS))
        file = self.folder / f"{name}.kubeconfig"
        file.write_text(client.kubeconfig())
        client.close()
        return file


def etcd(site: Site) -> Command:
    clients, peers = f"http://{site.address('etcd')}", f"http://{site.address('etcd-peers')}"
    return Command(
        [
            programs.path_of("etcd"),
            f"--data-dir={site.folder / 'etcd'}",
            f"--listen-client-urls={clients}",
            f"--advertise-client-urls={clients}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ],
        lambda: answers(f"{clients}/health"),
    )


def kube_apiserver(site: Site, is_ready: Callable[[], bool]) -> Command:
    serving, serving_key = site.authority.issue("serving", "localhost")
    kubelet, kubelet_key = site.authority.issue("client-kubelet", "plane:kubelet-client", [ADMINS, COMPONENTS])
    account_public, account_private = site.authority.key_pair("accounts")
    return Command(
        [
            programs.path_of("kube-apiserver"),
            f"--etcd-servers=http://{site.address('etcd')}",
            f"--bind-address={LOOPBACK}",
            f"--advertise-address={LOOPBACK}",
            f"--secure-port={site.ports['kube-apiserver']}",
            f"--service-cluster-ip-range={SERVICE_ADDRESSES}",
            f"--client-ca-file={site.authority.certificate}",
            f"--tls-cert-file={serving}",
            f"--tls-private-key-file={serving_key}",
            f"--kubelet-certificate-authority={site.authority.certificate}",
            f"--kubelet-client-certificate={kubelet}",
            f"--kubelet-client-key={kubelet_key}",
            "--kubelet-preferred-address-types=InternalIP",
            f"--service-account-key-file={account_public}",
            f"--service-account-signing-key-file={account_private}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--authorization-mode=RBAC,Node",
            # Pods never get a token of a service account here, and nobody waits for the default account of a namespace.
            "--disable-admission-plugins=ServiceAccount",
            "--endpoint-reconciler-type=none",
            "--enable-priority-and-fairness=false",
            f"--audit-policy-file={FILES / 'audit.yaml'}",
            f"--audit-log-path={audit_log(site)}",
            "--audit-log-maxsize=2000",
        ],
        is_ready,
    )


def audit_log(site: Site) -> Path:
    return site.folder / "audit.log"


def kube_controller_manager(site: Site) -> Command:
    _, account_private = site.authority.key_pair("accounts")
    return Command(
        [
            programs.path_of("kube-controller-manager"),
            f"--kubeconfig={site.component('kube-controller-manager')}",
            "--leader-elect=false",
            "--secure-port=0",
            f"--service-account-private-key-file={account_private}",
            f"--root-ca-file={site.authority.certificate}",
            "--controllers=*,-node-ipam-controller,-node-route-controller,-cloud-node-lifecycle-controller,"
            "-service-lb-controller",
            # Nodes are fake and send no heartbeats: only their own word makes them unhealthy.
            "--node-monitor-grace-period=100000s",
            *CLIENT_LIMITS,
        ]
    )


def kube_scheduler(site: Site) -> Command:
    return Command(
        [
            programs.path_of("kube-scheduler"),
            f"--kubeconfig={site.component('kube-scheduler')}",
            "--leader-elect=false",
            "--secure-port=0",
            *CLIENT_LIMITS,
        ]
    )


def kwok(site: Site) -> Command:
    serving, serving_key = site.authority.issue("serving", "localhost")
    file = site.folder / "kwok.yaml"
    file.write_text(_kwok_configuration(site))
    return Command(
        [
            programs.path_of("kwok"),
            f"--kubeconfig={site.component('kwok')}",
            f"--config={file}",
            "--manage-all-nodes",
            "--enable-crds=Logs",
            "--node-lease-duration-seconds=0",
            f"--node-ip={LOOPBACK}",
            f"--node-port={site.ports['kwok']}",
            f"--server-address={site.address('kwok')}",
            f"--tls-cert-file={serving}",
            f"--tls-private-key-file={serving_key}",
        ],
        lambda: answers(f"http://{site.address('kwok')}/healthz"),
    )


def _kwok_configuration(site: Site) -> str:
    """Our stages, and the log that every pod has unless it was given one of its own."""
    documents = list(yaml.safe_load_all((FILES / "kwok.yaml").read_text()))
    logs = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "ClusterLogs",
        "metadata": {"name": "every-pod"},
        "spec": {"logs": [{"logsFile": str(default_log(site)), "follow": True}]},
    }
    return yaml.safe_dump_all([*documents, logs])


def default_log(site: Site) -> Path:
    return site.folder / "pod-logs" / "every-pod.log"


def answers(url: str) -> bool:
    """Whether a plain HTTP address answers with success."""
    try:
        return urllib3.request("GET", url, timeout=2.0, retries=False).status == 200
    except urllib3.exceptions.HTTPError:
        return False
