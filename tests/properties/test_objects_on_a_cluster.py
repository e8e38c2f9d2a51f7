"""Nothing a person types reaches an object except as a value: every path of every manifest is on a list."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.frameworks import verbatim
from clusters.backends.kueue_volcano.inference import deployment_manifest
from clusters.backends.kueue_volcano.manifests import job_manifest, pod_group_manifest
from clusters.backends.kueue_volcano.shape import ClusterShape, GroupShape
from clusters.contract import Code, CodeKind, Mount, WorkloadSpec

INSTALLATION = "01j9zz0000000000000000site"
OURS = {"sluice.dev/installation", "sluice.dev/job", "sluice.dev/attempt", "sluice.dev/node-group"}
QUEUE_LABELS = {"kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"}
ANNOTATIONS = {
    "sluice.dev/spec-hash", "sluice.dev/display-name", "sluice.dev/pods", "sluice.dev/cards-per-pod",
    "sluice.dev/card-resource",
}  # fmt: skip

POD = {
    "restartPolicy", "schedulerName", "priorityClassName", "terminationGracePeriodSeconds",
    "automountServiceAccountToken", "enableServiceLinks", "subdomain", "securityContext.seccompProfile.type",
    "securityContext.runAsNonRoot", "nodeSelector.<group>", "tolerations[].key",
    "tolerations[].operator", "tolerations[].effect",
    "imagePullSecrets[].name", "schedulingGates[].name",
    "containers[].name", "containers[].image", "containers[].command[]", "containers[].workingDir",
    "containers[].envFrom[].secretRef.name", "containers[].envFrom[].secretRef.optional",
    "containers[].env[].name", "containers[].env[].value", "containers[].env[].valueFrom.fieldRef.fieldPath",
    "containers[].resources.requests.<resource>", "containers[].resources.limits.<resource>",
    "containers[].resources",
    "containers[].securityContext.allowPrivilegeEscalation", "containers[].securityContext.capabilities.drop[]",
    "containers[].securityContext.capabilities.add[]",
    "containers[].volumeMounts[].name", "containers[].volumeMounts[].mountPath",
    "containers[].volumeMounts[].subPath", "containers[].volumeMounts[].readOnly",
    "initContainers[].name", "initContainers[].image", "initContainers[].command[]", "initContainers[].env[].name",
    "initContainers[].env[].value", "initContainers[].resources.requests.<resource>",
    "initContainers[].resources.limits.<resource>", "initContainers[].resources",
    "initContainers[].securityContext.allowPrivilegeEscalation",
    "initContainers[].securityContext.capabilities.drop[]", "initContainers[].securityContext.runAsNonRoot",
    "initContainers[].securityContext.runAsUser", "initContainers[].volumeMounts[].name",
    "initContainers[].volumeMounts[].mountPath",
    "volumes[].name", "volumes[].emptyDir", "volumes[].emptyDir.medium", "volumes[].emptyDir.sizeLimit",
    "volumes[].downwardAPI.items[].path", "volumes[].downwardAPI.items[].fieldRef.fieldPath",
    "volumes[].persistentVolumeClaim.claimName",
}  # fmt: skip
POD_ANNOTATIONS = {
    "kueue.x-k8s.io/podset-unconstrained-topology", "kueue.x-k8s.io/podset-preferred-topology",
    "scheduling.k8s.io/group-name", "sluice.dev/hostfile", "sluice.dev/machinefile",
    "kueue.x-k8s.io/pod-suspending-parent",
}  # fmt: skip
HEAD = {"apiVersion", "kind", "metadata.name", "metadata.namespace"}
JOB = HEAD | {
    "spec.suspend", "spec.completionMode", "spec.completions", "spec.parallelism", "spec.backoffLimit",
    "spec.podReplacementPolicy", "spec.podFailurePolicy.rules[].action",
    "spec.podFailurePolicy.rules[].onPodConditions[].type", "spec.podFailurePolicy.rules[].onPodConditions[].status",
    "spec.successPolicy.rules[].succeededIndexes",
}  # fmt: skip
DEPLOYMENT = HEAD | {
    "spec.replicas", "spec.revisionHistoryLimit", "spec.progressDeadlineSeconds", "spec.strategy.type",
    "spec.strategy.rollingUpdate.maxSurge", "spec.strategy.rollingUpdate.maxUnavailable",
    "spec.selector.matchLabels.sluice.dev/job", "spec.selector.matchLabels.sluice.dev/attempt",
}  # fmt: skip


def allowed(kind: str) -> set[str]:
    template = {f"spec.template.spec.{path}" for path in POD}
    template |= {f"spec.template.metadata.labels.{label}" for label in OURS}
    template |= {f"spec.template.metadata.annotations.{key}" for key in POD_ANNOTATIONS}
    own = {f"metadata.labels.{label}" for label in OURS | QUEUE_LABELS}
    own |= {f"metadata.annotations.{key}" for key in ANNOTATIONS}
    if kind == "Job":
        return JOB | own | template | {"metadata.labels.kueue.x-k8s.io/max-exec-time-seconds"}
    queued = {f"spec.template.metadata.labels.{label}" for label in QUEUE_LABELS | {"kueue.x-k8s.io/managed"}}
    return DEPLOYMENT | own | template | queued


def paths(value: Any, shape: ClusterShape, at: str = "") -> Iterator[str]:
    """Every path to a leaf; keys that name a resource or a group's label are checked here and become one word."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            if at.endswith("nodeSelector"):
                assert (key, inner) in {pair for group in shape.groups.values() for pair in group.selector}
                yield f"{at}.<group>"
            elif at.endswith((".requests", ".limits")):
                of_cards = {group.resource for group in shape.groups.values()}
                assert key in {"cpu", "memory", "rdma/hca"} | of_cards
                yield f"{at}.<resource>"
            else:
                yield from paths(inner, shape, f"{at}.{key}" if at else key)
    elif isinstance(value, list):
        for inner in value:
            yield from paths(inner, shape, f"{at}[]")
    else:
        yield at


texts = st.text(alphabet=st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=40)
hostile = texts | st.sampled_from(
    [
        "kueue.x-k8s.io/queue-name",
        "system-cluster-critical",
        "suspend: false",
        "$(SLUICE_JOB_ID)",
        "$$(HOME)",
        "}}\n---\nkind: Pod",
        "hostPath",
        "../../etc",
    ]
)
names_of_variables = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,12}", fullmatch=True) | st.sampled_from(
    ["NVIDIA_VISIBLE_DEVICES", "SLUICE_RANK", "PET_NNODES", "KUBERNETES_SERVICE_HOST", "HOME", "TF_CONFIG"]
)
words = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True)
folders = st.lists(st.from_regex(r"[A-Za-z0-9_-]{1,8}", fullmatch=True), max_size=3).map("/".join)
mounts = st.builds(Mount, words, folders, words.map(lambda w: f"/sluice/data-{w}"), st.booleans())
codes = st.one_of(
    st.just(Code()),
    st.builds(Code, st.just(CodeKind.GIT), words.map(lambda w: f"https://git.example/team/{w}.git"), st.just("main")),
    st.builds(
        Code, st.just(CodeKind.ARCHIVE), mount=st.builds(Mount, words, folders, st.just("/sluice/code"), st.just(True))
    ),
)
GROUPS = {
    "h100": GroupShape("nvidia.com/gpu", (("product", "H100"), ("fabric", "nvlink")), 8, 160_000, 2**40, "rdma/hca"),
    "ascend": GroupShape("huawei.com/Ascend910", (("accelerator", "huawei-Ascend910"),), 8, 190_001, 2**40 + 1),
    "bare": GroupShape("vendor.example/card", (), 4, 0, 0),
}
shapes = st.builds(
    ClusterShape,
    installation=st.just(INSTALLATION),
    groups=st.just(GROUPS),
    topology_aware=st.booleans(),
    topology_levels=st.sampled_from([(names.HOSTNAME,), ("rack", names.HOSTNAME)]),
    has_volcano=st.booleans(),
    git_image=st.just("registry.example/git:1"),
    ceiling=st.none() | st.just(timedelta(days=3)),
)


@st.composite
def specs(draw: st.DrawFn) -> WorkloadSpec:
    group = draw(st.none() | st.sampled_from(sorted(GROUPS)))
    return WorkloadSpec(
        job_ulid=draw(st.from_regex(r"[0-9A-HJKMNP-TV-Z]{26}", fullmatch=True)),
        attempt=draw(st.integers(1, 99)),
        object_name=draw(words.map(lambda w: f"j-{w}")),
        spec_hash="ab12",
        space=draw(words),
        queue=draw(words),
        local_queue=draw(words),
        node_group=group,
        priority=draw(st.sampled_from(names.PRIORITY_VALUES)),
        kind=draw(st.sampled_from(["training", "development", "inference"])),
        framework=draw(st.sampled_from(["pytorch", "tensorflow", "mindspore", "mpi", "command"])),
        image=draw(hostile),
        command=draw(hostile),
        env=tuple(draw(st.dictionaries(names_of_variables, hostile, max_size=4)).items()),
        pods=draw(st.integers(1, 5)),
        cards_per_pod=0 if group is None else draw(st.integers(1, 8)),
        cpu_millis=draw(st.integers(0, 10_000)),
        memory_bytes=draw(st.integers(0, 2**40)),
        stop_grace=timedelta(seconds=draw(st.integers(0, 900))),
        max_run=None,
        display_name=draw(hostile),
        code=draw(codes),
        mounts=tuple(draw(st.lists(mounts, max_size=3, unique_by=lambda mount: mount.path))),
        env_secrets=tuple(draw(st.lists(words, max_size=2, unique=True))),
        pull_secrets=tuple(draw(st.lists(words, max_size=2, unique=True))),
        as_root=draw(st.booleans()),
    )


@given(specs(), shapes)
def test_every_path_of_every_object_is_on_the_list(spec: WorkloadSpec, shape: ClusterShape) -> None:
    for manifest in (job_manifest(spec, shape), deployment_manifest(spec, shape)):
        assert set(paths(manifest, shape)) <= allowed(manifest["kind"])


@given(specs(), shapes)
def test_space_queue_priority_and_suspension_are_the_platforms(spec: WorkloadSpec, shape: ClusterShape) -> None:
    job = job_manifest(spec, shape)
    assert job["spec"]["suspend"] is True
    for manifest in (job, deployment_manifest(spec, shape)):
        metadata, pod = manifest["metadata"], manifest["spec"]["template"]["spec"]
        assert metadata["namespace"] == spec.space
        assert metadata["labels"][names.QUEUE_NAME] == f"slu-{spec.local_queue}"
        assert metadata["labels"][names.PRIORITY_CLASS] == f"slu-{spec.priority}"
        assert metadata["labels"][names.INSTALLATION] == INSTALLATION
        assert pod["priorityClassName"] in ("slu-training", "slu-inference")
        assert pod["schedulerName"] in ("volcano", "default-scheduler")
        assert pod["automountServiceAccountToken"] is False
        for container in pod["containers"] + pod.get("initContainers", []):
            security = container["securityContext"]
            assert security["allowPrivilegeEscalation"] is False
            assert security["capabilities"]["drop"] == ["ALL"]
            assert set(security["capabilities"].get("add", [])) <= {"IPC_LOCK"}
    gates = deployment_manifest(spec, shape)["spec"]["template"]["spec"]["schedulingGates"]
    assert gates == [{"name": "kueue.x-k8s.io/admission"}]


@given(specs(), shapes)
def test_a_job_can_only_get_nodes_of_its_group_and_whole_cards(spec: WorkloadSpec, shape: ClusterShape) -> None:
    pod = job_manifest(spec, shape)["spec"]["template"]["spec"]
    asked = pod["containers"][0]["resources"].get("requests", {})
    cards = {group.resource for group in GROUPS.values()}
    if spec.node_group is None:
        assert "nodeSelector" not in pod and "tolerations" not in pod
        assert not cards & set(asked)
        return
    group = GROUPS[spec.node_group]
    assert pod.get("nodeSelector", {}) == dict(group.selector)
    assert pod["tolerations"] == [{"key": group.resource, "operator": "Exists", "effect": "NoSchedule"}]
    assert {name: asked[name] for name in cards & set(asked)} == {group.resource: str(spec.cards_per_pod)}
    assert pod["containers"][0]["resources"]["limits"][group.resource] == str(spec.cards_per_pod)


@given(specs(), shapes)
def test_what_was_typed_arrives_as_it_was_typed(spec: WorkloadSpec, shape: ClusterShape) -> None:
    main = job_manifest(spec, shape)["spec"]["template"]["spec"]["containers"][0]
    assert main["image"] == spec.image
    if spec.command.strip():
        assert expanded(main["command"][-1]) == spec.command
    values = {entry["name"]: entry.get("value") for entry in main["env"]}
    assert len(values) == len(main["env"])
    for name, value in spec.env:
        given_value = values.get(name)
        if given_value == verbatim(value):
            assert expanded(given_value) == value


def expanded(text: str) -> str:
    """What a cluster makes of a text in which any variable could be named, by the rules of its documentation."""
    return re.sub(r"\$\$|\$\(([^)]*)\)", lambda found: "$" if found[0] == "$$" else f"<value of {found[1]}>", text)


@given(specs(), shapes)
def test_an_object_is_plain_json_and_the_same_each_time(spec: WorkloadSpec, shape: ClusterShape) -> None:
    once = json.dumps(job_manifest(spec, shape))
    assert once == json.dumps(job_manifest(spec, shape))
    group = pod_group_manifest(spec, shape, "uid-1")
    assert group["metadata"]["ownerReferences"][0]["uid"] == "uid-1"
    assert group["spec"]["minMember"] == json.loads(once)["spec"]["completions"]
    assert "minResources" not in group["spec"]
