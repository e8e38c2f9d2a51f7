"""An inference service: a Deployment whose pods are admitted one by one and placed by the default scheduler. Pure.

Its pods are born gated, by us and not only by the gate's own webhook: where the gate does not answer they wait, and
never run past the quota.
"""

from __future__ import annotations

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.manifests import workload_metadata
from clusters.backends.kueue_volcano.pods_template import pod_template
from clusters.backends.kueue_volcano.shape import ClusterShape, Manifest, check_spec
from clusters.contract import WorkloadSpec

STUCK_AFTER_SECONDS = 3600
"""A rollout without progress for so long is given up (decision 10)."""


def deployment_manifest(spec: WorkloadSpec, shape: ClusterShape) -> Manifest:
    """The service of an inference attempt, one replica per pod of the spec.

    A new version takes the place of an old replica and never needs quota of its own beside it. Raises Rejected as
    :func:`manifests.job_manifest` does.
    """
    check_spec(spec)
    template = pod_template(spec, shape, ranked=False)
    metadata = workload_metadata(spec, shape)
    template["metadata"]["labels"] |= {
        names.MANAGED: "true",
        names.QUEUE_NAME: metadata["labels"][names.QUEUE_NAME],
        names.PRIORITY_CLASS: metadata["labels"][names.PRIORITY_CLASS],
    }
    template["metadata"].setdefault("annotations", {})[names.SUSPENDING_PARENT] = "deployment"
    template["spec"]["schedulingGates"] = [{"name": names.ADMISSION_GATE}]
    return {
        "apiVersion": names.DEPLOYMENTS.api_version,
        "kind": names.DEPLOYMENTS.kind,
        "metadata": metadata,
        "spec": {
            "replicas": spec.pods,
            "revisionHistoryLimit": 1,
            "progressDeadlineSeconds": STUCK_AFTER_SECONDS,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "selector": {
                "matchLabels": {
                    names.JOB: template["metadata"]["labels"][names.JOB],
                    names.ATTEMPT: template["metadata"]["labels"][names.ATTEMPT],
                }
            },
            "template": template,
        },
    }
