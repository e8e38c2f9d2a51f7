"""Names, labels and kinds on a Kubernetes cluster with Kueue and Volcano. Pure constants and small functions.

Everything we make carries the installation's label; what does not is never touched.
"""

from __future__ import annotations

from dataclasses import dataclass

FIELD_MANAGER = "sluice"

DOMAIN = "sluice.dev/"

# labels and annotations of ours
INSTALLATION = "sluice.dev/installation"  # public id of the cluster's row, lower case
JOB = "sluice.dev/job"  # ULID of the job, lower case
ATTEMPT = "sluice.dev/attempt"
GROUP = "sluice.dev/node-group"
SPACE = "sluice.dev/space"  # "true" on the namespaces of teams
SPEC_HASH = "sluice.dev/spec-hash"
PODS = "sluice.dev/pods"  # pods of the gang, or replicas
CARDS = "sluice.dev/cards-per-pod"
RESOURCE = "sluice.dev/card-resource"
DISPLAY_NAME = "sluice.dev/display-name"
AVOIDS = "sluice.dev/avoids"  # names of nodes, by comma, as its affinity has them
HOSTFILE = "sluice.dev/hostfile"  # of MPI, one host a line; pods read it as a file
MACHINEFILE = "sluice.dev/machinefile"  # the same for launchers that write host:slots

# of the schedulers
QUEUE_NAME = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
MAX_EXEC_SECONDS = "kueue.x-k8s.io/max-exec-time-seconds"
TOPOLOGY_UNCONSTRAINED = "kueue.x-k8s.io/podset-unconstrained-topology"
TOPOLOGY_PREFERRED = "kueue.x-k8s.io/podset-preferred-topology"
WORKLOAD_JOB_UID = "kueue.x-k8s.io/job-uid"
MANAGED = "kueue.x-k8s.io/managed"
SUSPENDING_PARENT = "kueue.x-k8s.io/pod-suspending-parent"
ADMISSION_GATE = "kueue.x-k8s.io/admission"
POD_GROUP = "scheduling.k8s.io/group-name"
VOLCANO_QUEUE = "default"
VOLCANO_SCHEDULER = "volcano"
DEFAULT_SCHEDULER = "default-scheduler"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
JOB_NAME = "batch.kubernetes.io/job-name"
CONTROLLER_UID = "batch.kubernetes.io/controller-uid"  # of the Job, on its pods
HOSTNAME = "kubernetes.io/hostname"
NAMESPACE_NAME = "kubernetes.io/metadata.name"  # the API server sets it and lets nobody change it
POD_SECURITY = "pod-security.kubernetes.io/"  # + enforce, warn or audit

# objects that exist once per cluster
COHORT = "slu"
TOPOLOGY = "slu-hosts"
POD_PRIORITIES = {"training": "slu-training", "development": "slu-training", "inference": "slu-inference"}
SERVICE = "jobs"  # the headless service of a team's space
NO_CARDS_FLAVOR = "slu-no-cards"  # see quota_objects: keeps jobs without cards out of topology-aware admission
NO_CARDS_RESOURCE = "sluice.dev/no-cards"  # asked for by nobody


def installation_of(cluster_public_id: str) -> str:
    """Label values are compared as they are; ULIDs are kept in lower case on a cluster."""
    return cluster_public_id.lower()


def cluster_queue(queue: str) -> str:
    """The ClusterQueue of a team queue."""
    return f"slu-{queue}"


def local_queue(slug: str) -> str:
    """The LocalQueue of a local queue. Never `default`, which the gate gives to everybody's jobs."""
    return f"slu-{slug}"


def flavor(group: str) -> str:
    """The ResourceFlavor of a node group."""
    return f"slu-{group}"


def priority_class(value: int) -> str:
    """The WorkloadPriorityClass of a priority's value."""
    return f"slu-{value}"


PRIORITY_VALUES = (100, 150, 200, 250, 300, 350, 400, 450)
"""Decision 11: low to urgent, each with 50 more for inference."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of object as the API server names it."""

    group: str  # '' = core
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str | None = None, sub: str | None = None) -> str:
        """The address of one object, of all in a namespace, or of all in the cluster."""
        parts = ["/apis/" + self.api_version if self.group else "/api/" + self.version]
        if namespace is not None and self.namespaced:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        parts += [part for part in (name, sub) if part is not None]
        return "/".join(parts)


NAMESPACES = Kind("", "v1", "namespaces", "Namespace", namespaced=False)
NODES = Kind("", "v1", "nodes", "Node", namespaced=False)
PODS_KIND = Kind("", "v1", "pods", "Pod")
SERVICES = Kind("", "v1", "services", "Service")
SECRETS = Kind("", "v1", "secrets", "Secret")
JOBS = Kind("batch", "v1", "jobs", "Job")
DEPLOYMENTS = Kind("apps", "v1", "deployments", "Deployment")
POD_PRIORITY_CLASSES = Kind("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
POD_GROUPS = Kind("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")
WORKLOADS = Kind("kueue.x-k8s.io", "v1beta2", "workloads", "Workload")
LOCAL_QUEUES = Kind("kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue")
CLUSTER_QUEUES = Kind("kueue.x-k8s.io", "v1beta2", "clusterqueues", "ClusterQueue", namespaced=False)
COHORTS = Kind("kueue.x-k8s.io", "v1beta2", "cohorts", "Cohort", namespaced=False)
FLAVORS = Kind("kueue.x-k8s.io", "v1beta2", "resourceflavors", "ResourceFlavor", namespaced=False)
TOPOLOGIES = Kind("kueue.x-k8s.io", "v1beta2", "topologies", "Topology", namespaced=False)
PRIORITY_CLASSES = Kind(
    "kueue.x-k8s.io", "v1beta2", "workloadpriorityclasses", "WorkloadPriorityClass", namespaced=False
)
