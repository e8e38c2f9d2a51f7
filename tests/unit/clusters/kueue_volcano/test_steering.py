"""What is said to a cluster so that an attempt that waits goes to other nodes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.steering import avoidance, avoided, elsewhere, job_patch, workload_patch

NODES = ("gpu-1", "gpu-2")


def workload(*conditions: dict[str, str], affinity: Any = None) -> bytes:
    spec: dict[str, Any] = {"containers": [{"name": "main"}], **({"affinity": affinity} if affinity else {})}
    pod_sets = [{"name": "main", "count": 2, "topologyRequest": {"unconstrained": True}, "template": {"spec": spec}}]
    return json.dumps(
        {
            "metadata": {"name": "job-a", "resourceVersion": "7"},
            "spec": {"podSets": pod_sets},
            "status": {"conditions": list(conditions)},
        }
    ).encode()


@pytest.mark.parametrize("nodes", [(), ("gpu-1",), NODES])
def test_what_is_avoided_is_read_back_as_it_was_written(nodes: tuple[str, ...]) -> None:
    assert avoided(avoidance(nodes)) == nodes


def test_a_job_is_patched_in_its_affinity_and_the_mark_that_tells_of_it_in_one() -> None:
    patch = job_patch(NODES)
    terms = patch["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    (term,) = terms["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [field["values"] for field in term["matchFields"]] == [["gpu-1"], ["gpu-2"]]
    assert patch["metadata"]["annotations"] == {names.AVOIDS: "gpu-1,gpu-2"}
    assert job_patch(()) == {
        "metadata": {"annotations": {names.AVOIDS: None}},
        "spec": {"template": {"spec": {"affinity": None}}},
    }


def test_a_workload_keeps_everything_else_and_names_the_version_that_was_read() -> None:
    patch = workload_patch(workload(), NODES)
    assert patch is not None and patch["metadata"] == {"resourceVersion": "7"}
    (pod_set,) = patch["spec"]["podSets"]
    assert pod_set["template"]["spec"] == {"containers": [{"name": "main"}], "affinity": elsewhere(NODES)}
    assert (pod_set["name"], pod_set["count"], pod_set["topologyRequest"]) == ("main", 2, {"unconstrained": True})
    back = workload_patch(workload(affinity=elsewhere(NODES)), ())
    assert back is not None and "affinity" not in back["spec"]["podSets"][0]["template"]["spec"]


def test_a_workload_that_says_so_already_or_holds_quota_is_left_alone() -> None:
    assert workload_patch(workload(affinity=elsewhere(NODES)), NODES) is None
    assert workload_patch(workload(), ()) is None
    assert workload_patch(workload({"type": "QuotaReserved", "status": "True"}), NODES) is None
    assert workload_patch(workload({"type": "QuotaReserved", "status": "False"}), NODES) is not None
