"""Kueue and Volcano outside a cluster: their definitions from the module cache, settings, webhooks by address."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.controlplane import programs
from tests.controlplane.parts import CLIENT_LIMITS, FILES, LOOPBACK, Site, answers
from tests.controlplane.processes import Command, PlaneError

KUEUE_PROGRAMS = {"0.19": "kueue", "0.17": "kueue-0.17"}
SYSTEM_NAMESPACES = ("kube-system", "kueue-system", "volcano-system")
OUTSIDE_SYSTEM = {
    "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [*SYSTEM_NAMESPACES]}]
}
CONVERTED = ("localqueues", "clusterqueues", "cohorts", "workloads", "multikueueclusters")
"""Kueue's kinds that are stored in one version and served in two."""
GATED = {"batch": "jobs", "apps": "deployments", "": "pods"}
"""What of Kubernetes Kueue looks at here; its other job kinds are not installed."""
KUEUE_GROUP = "kueue.x-k8s.io"
METRICS_CERTIFICATES = Path("/etc/kueue/metrics/certs")
"""Kueue insists on a certificate here, whatever its settings say."""
VOLCANO_DEFINITIONS = (
    "scheduling.volcano.sh_podgroups",
    "scheduling.volcano.sh_queues",
    "nodeinfo.volcano.sh_numatopologies",
    "topology.volcano.sh_hypernodes",
    "batch.volcano.sh_jobs",
    "batch.volcano.sh_cronjobs",
    "bus.volcano.sh_commands",
)

Manifest = dict[str, Any]


def load(file: Path) -> Iterator[Manifest]:
    yield from (manifest for manifest in yaml.load_all(file.read_text(), yaml.CSafeLoader) if manifest)


@cache
def kueue_sources(version: str) -> Path:
    return programs.module_folder(KUEUE_PROGRAMS[version], "sigs.k8s.io/kueue")


def kueue_definitions(site: Site, version: str) -> Iterator[Manifest]:
    """Kueue's CustomResourceDefinitions; versions are converted by the process that we start."""
    for file in sorted((kueue_sources(version) / "config/components/crd/bases").glob("*.yaml")):
        for definition in load(file):
            if definition["spec"]["names"]["plural"] in CONVERTED:
                definition["spec"]["conversion"] = {
                    "strategy": "Webhook",
                    "webhook": {"clientConfig": _webhook(site, "/convert"), "conversionReviewVersions": ["v1"]},
                }
            yield definition


def volcano_definitions() -> Iterator[Manifest]:
    folder = programs.module_folder("volcano", "volcano.sh/volcano") / "config/crd/volcano/bases"
    for name in VOLCANO_DEFINITIONS:
        yield from load(folder / f"{name}.yaml")


def kwok_definitions() -> Iterator[Manifest]:
    """The kind by which a pod gets a log of its own."""
    yield from load(programs.module_folder("kwok", "sigs.k8s.io/kwok") / "kustomize/crd/bases/kwok.x-k8s.io_logs.yaml")


def kueue_webhooks(site: Site, version: str) -> Iterator[Manifest]:
    """Kueue's admission webhooks for the kinds used here, reached by address instead of by a service."""
    for manifest in load(kueue_sources(version) / "config/components/webhook/manifests.yaml"):
        hooks = [hook for hook in manifest["webhooks"] if _is_wanted(hook["rules"][0])]
        for hook in hooks:
            hook["clientConfig"] = _webhook(site, hook["clientConfig"]["service"]["path"])
            if hook["rules"][0]["apiGroups"][0] != KUEUE_GROUP:
                hook["namespaceSelector"] = OUTSIDE_SYSTEM
        manifest["webhooks"] = hooks
        manifest["metadata"]["name"] = f"kueue-{manifest['metadata']['name']}"
        yield manifest


def _is_wanted(rule: Mapping[str, Any]) -> bool:
    group, resource = rule["apiGroups"][0], rule["resources"][0]
    return group == KUEUE_GROUP or GATED.get(group) == resource


def _webhook(site: Site, path: str) -> Manifest:
    return {"url": f"https://{site.address('kueue-webhooks')}{path}", "caBundle": site.authority.bundle}


def kueue_configuration(site: Site, certificates: Path, settings: Mapping[str, Any]) -> Manifest:
    """The settings that docs/kueue-volcano.md asks for; ``settings`` replaces whole top-level fields."""
    concurrency = {"Job.batch": 5, "Pod": 5}
    concurrency |= {
        f"{kind}.{KUEUE_GROUP}": number
        for kind, number in {"Workload": 5, "LocalQueue": 1, "ClusterQueue": 1, "ResourceFlavor": 1}.items()
    }
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": "kueue-system",
        "health": {"healthProbeBindAddress": site.address("kueue-health")},
        "metrics": {"bindAddress": site.address("kueue-metrics"), "enableClusterQueueResources": True},
        "webhook": {"host": LOOPBACK, "port": site.ports["kueue-webhooks"], "certDir": str(certificates)},
        "internalCertManagement": {"enable": False},
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"qps": 200, "burst": 400},
        "controller": {"groupKindConcurrency": concurrency},
        "featureGates": {"VisibilityOnDemand": False},
        "integrations": {"frameworks": ["batch/job", "pod", "deployment"]},
        "managedJobsNamespaceSelector": OUTSIDE_SYSTEM,
        "resources": {"excludeResourcePrefixes": ["cpu", "memory", "ephemeral-storage"]},
        **settings,
    }


def kueue(site: Site, version: str, settings: Mapping[str, Any]) -> Command:
    certificates = site.folder / "kueue-certificates"
    certificates.mkdir(exist_ok=True)
    for source, name in zip(site.authority.issue("serving", "localhost"), ("tls.crt", "tls.key"), strict=True):
        (certificates / name).write_bytes(source.read_bytes())
    file = site.folder / "kueue.yaml"
    file.write_text(yaml.safe_dump(kueue_configuration(site, certificates, settings)))
    program = [
        str(programs.path_of(KUEUE_PROGRAMS[version])),
        f"--config={file}",
        f"--kubeconfig={site.component('kueue')}",
        "--zap-log-level=info",
    ]
    return Command(
        [*_with_metrics_certificates(certificates), *program],
        lambda: answers(f"http://{site.address('kueue-health')}/readyz"),
    )


def _with_metrics_certificates(certificates: Path) -> list[str]:
    """What to put before Kueue's command so that it finds its metrics certificate.

    Where the kernel allows it, an ordinary user too gets an /etc of his own for that one process. Else root writes the
    files; nothing but Kueue's metrics, which no test reads, is served with them.
    """
    covered = (
        f"mount -t tmpfs none /etc && mkdir -p {METRICS_CERTIFICATES} && cp {certificates}/tls.* {METRICS_CERTIFICATES}"
    )
    unshare = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    if (
        shutil.which("unshare")
        and subprocess.run([*unshare, covered], capture_output=True, check=False).returncode == 0
    ):
        return [*unshare, f'{covered} && exec "$@"', "kueue"]
    if not (METRICS_CERTIFICATES / "tls.key").exists():
        if os.geteuid() != 0:
            raise PlaneError(
                f"Kueue needs {METRICS_CERTIFICATES}/tls.crt and tls.key, and this user may neither write them nor "
                "cover /etc in a namespace: run as root, or allow unprivileged user namespaces."
            )
        METRICS_CERTIFICATES.mkdir(parents=True, exist_ok=True)
        for file in certificates.iterdir():
            (METRICS_CERTIFICATES / file.name).write_bytes(file.read_bytes())
    return []


def vc_scheduler(site: Site) -> Command:
    # A folder of its own: the scheduler watches the whole folder and loads its settings anew on every write there.
    folder = site.folder / "volcano"
    folder.mkdir(exist_ok=True)
    file = folder / "scheduler.conf"
    file.write_bytes((FILES / "volcano-scheduler.conf").read_bytes())
    return Command(
        [
            programs.path_of("vc-scheduler"),
            f"--kubeconfig={site.component('vc-scheduler')}",
            f"--scheduler-conf={file}",
            "--leader-elect=false",
            "--cache-dumper=false",
            "--enable-metrics=true",
            f"--listen-address={site.address('vc-scheduler')}",
            "--logtostderr",
            "-v=2",
            *CLIENT_LIMITS,
        ],
        lambda: answers(f"http://{site.address('vc-scheduler')}/metrics"),
    )


def vc_controller_manager(site: Site) -> Command:
    return Command(
        [
            programs.path_of("vc-controller-manager"),
            f"--kubeconfig={site.component('vc-controller-manager')}",
            "--controllers=+pg-controller,+queue-controller",
            "--leader-elect=false",
            "--enable-metrics=true",
            f"--listen-address={site.address('vc-controller-manager')}",
            "--logtostderr",
            "-v=2",
            *CLIENT_LIMITS,
        ],
        lambda: answers(f"http://{site.address('vc-controller-manager')}/metrics"),
    )
