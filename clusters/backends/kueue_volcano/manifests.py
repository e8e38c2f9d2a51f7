"""The objects of one attempt: a suspended Indexed Job and its PodGroup; and what serves a whole space. Pure.

The job is made suspended, in its queue and with its priority, whatever a person typed: only the gate starts it. A
gang that loses a pod fails as a whole (decision 3), and a new attempt is a new object.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.frameworks import TORCH_PORT, is_launched_by_rank_0
from clusters.backends.kueue_volcano.pods_template import object_labels, pod_template
from clusters.backends.kueue_volcano.shape import ClusterShape, Manifest, check_spec
from clusters.backends.kueue_volcano.steering import avoidance
from clusters.contract import DEVICE_VARIABLES, Rejected, WorkloadSpec

SECRET_BYTES_MAX = 512 * 1024
_SECRET_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_SECRET_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
REGISTRY_KEY = ".dockerconfigjson"


def job_manifest(spec: WorkloadSpec, shape: ClusterShape) -> Manifest:
    """The job of a training or development attempt.

    Raises Rejected: "spec_refused", "unknown_node_group", "no_git_image".
    """
    check_spec(spec)
    template = pod_template(spec, shape, ranked=True)
    template["spec"]["subdomain"] = names.SERVICE  # with the index as host name: <object>-<rank>.<service>
    if shape.has_volcano:
        template["metadata"].setdefault("annotations", {})[names.POD_GROUP] = spec.object_name
    metadata = workload_metadata(spec, shape)
    if shape.ceiling is not None:
        metadata["labels"][names.MAX_EXEC_SECONDS] = str(int(shape.ceiling.total_seconds()))
    job: Manifest = {
        "suspend": True,
        "completionMode": "Indexed",
        "completions": spec.pods,
        "parallelism": spec.pods,
        "backoffLimit": 0,
        "podReplacementPolicy": "Failed",
        "podFailurePolicy": {
            "rules": [{"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
        },
        **({"successPolicy": {"rules": [{"succeededIndexes": "0"}]}} if is_launched_by_rank_0(spec) else {}),
        "template": template,
    }
    return {
        "apiVersion": names.JOBS.api_version,
        "kind": names.JOBS.kind,
        "metadata": metadata,
        "spec": job,
    }


def workload_metadata(spec: WorkloadSpec, shape: ClusterShape) -> Manifest:
    """Name, space, queue and priority of an attempt's object, and what is read back from it."""
    labels = object_labels(spec, shape) | {
        names.QUEUE_NAME: names.local_queue(spec.local_queue),
        names.PRIORITY_CLASS: names.priority_class(spec.priority),
    }
    annotations = {
        names.SPEC_HASH: spec.spec_hash,
        names.DISPLAY_NAME: spec.display_name,
        names.PODS: str(spec.pods),
        names.CARDS: str(spec.cards_per_pod),
        **({names.AVOIDS: avoidance(spec.avoid_nodes)} if spec.avoid_nodes else {}),
    }
    if spec.node_group is not None:
        annotations[names.RESOURCE] = shape.group(spec.node_group).resource
    return {"name": spec.object_name, "namespace": spec.space, "labels": labels, "annotations": annotations}


def pod_group_manifest(spec: WorkloadSpec, shape: ClusterShape, job_uid: str) -> Manifest:
    """The gang of a job that was just made."""
    return pod_group(
        spec.space,
        spec.object_name,
        labels=object_labels(spec, shape),
        pods=spec.pods,
        priority_class=names.POD_PRIORITIES[spec.kind],
        job_uid=job_uid,
    )


def pod_group(
    space: str, name: str, *, labels: Mapping[str, str], pods: int, priority_class: str, job_uid: str
) -> Manifest:
    """All pods of the gang or none. It asks for no resources of its own, so it reserves nothing while the job waits."""
    owner = {
        "apiVersion": names.JOBS.api_version,
        "kind": names.JOBS.kind,
        "name": name,
        "uid": job_uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }
    return {
        "apiVersion": names.POD_GROUPS.api_version,
        "kind": names.POD_GROUPS.kind,
        "metadata": {"name": name, "namespace": space, "labels": dict(labels), "ownerReferences": [owner]},
        "spec": {"minMember": pods, "queue": names.VOLCANO_QUEUE, "priorityClassName": priority_class},
    }


def service_manifest(space: str, shape: ClusterShape) -> Manifest:
    """The headless service of a space: gives every rank of every job there its name, before it is ready."""
    return {
        "apiVersion": names.SERVICES.api_version,
        "kind": names.SERVICES.kind,
        "metadata": {"name": names.SERVICE, "namespace": space, "labels": {names.INSTALLATION: shape.installation}},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {names.INSTALLATION: shape.installation},
            "ports": [{"name": "rendezvous", "port": TORCH_PORT}],
        },
    }


def secret_manifest(space: str, name: str, data: Mapping[str, bytes], shape: ClusterShape) -> Manifest:
    """Values of a team as a Secret; one with the key of registry credentials becomes a pull secret.

    Raises Rejected("secret_refused") for names or keys that a cluster would not take, and for more than 512 KB.
    """
    keys_fit = all(_SECRET_KEY.fullmatch(key) and key not in DEVICE_VARIABLES for key in data)
    size = sum(len(value) for value in data.values())
    if not data or not keys_fit or not _SECRET_NAME.fullmatch(name) or size > SECRET_BYTES_MAX:
        raise Rejected("secret_refused", name)
    return {
        "apiVersion": names.SECRETS.api_version,
        "kind": names.SECRETS.kind,
        "metadata": {"name": name, "namespace": space, "labels": {names.INSTALLATION: shape.installation}},
        "type": "kubernetes.io/dockerconfigjson" if set(data) == {REGISTRY_KEY} else "Opaque",
        "data": {key: base64.b64encode(value).decode() for key, value in sorted(data.items())},
    }
