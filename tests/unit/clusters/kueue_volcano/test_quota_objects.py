"""A plan of quotas as objects, and the order of writes in cases to read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from clusters.backends.kueue_volcano.quota_objects import (
    indistinct_groups,
    quota_objects,
    resource_groups,
    uncounted_resources,
)
from clusters.backends.kueue_volcano.quota_order import decreases_first, quotas_of
from clusters.contract import GroupQuota, QueuePlan, QuotaPlan, Rejected
from tests.unit.clusters.kueue_volcano.shapes import A100, H100, SHAPE

PLAN = QuotaPlan(
    queues=(
        QueuePlan(
            "vision",
            "slu-vision-7k2m9q",
            (GroupQuota("h100", 26), GroupQuota("a100", 13), GroupQuota("ascend", 8)),
            ("default", "night"),
            borrow_preempts_up_to=200,
        ),
        QueuePlan("speech", "slu-speech-1a2b3c", (GroupQuota("h100", 19),), ("default",), strict=True, reclaims=False),
    ),
    pool=(GroupQuota("h100", 19),),
)


def named(objects: tuple[dict[str, Any], ...], kind: str) -> dict[str, dict[str, Any]]:
    return {obj["metadata"]["name"]: obj for obj in objects if obj["kind"] == kind}


def quota(flavor: str, *amounts: tuple[str, str]) -> dict[str, Any]:
    return {"name": flavor, "resources": [{"name": name, "nominalQuota": amount} for name, amount in amounts]}


class TestObjects:
    def test_a_team_queue_is_exactly_this_object(self) -> None:
        assert quota_objects(PLAN, SHAPE).queues[0] == {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ClusterQueue",
            "metadata": {"name": "slu-vision", "labels": {"sluice.dev/installation": SHAPE.installation}},
            "spec": {
                "cohortName": "slu",
                "namespaceSelector": {
                    "matchLabels": {
                        "sluice.dev/installation": SHAPE.installation,
                        "sluice.dev/space": "true",
                        "kubernetes.io/metadata.name": "slu-vision-7k2m9q",
                    }
                },
                "queueingStrategy": "BestEffortFIFO",
                "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch"},
                "preemption": {
                    "reclaimWithinCohort": "Any",
                    "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 200},
                    "withinClusterQueue": "LowerPriority",
                },
                "resourceGroups": [
                    {
                        "coveredResources": ["huawei.com/Ascend910"],
                        "flavors": [quota("slu-ascend", ("huawei.com/Ascend910", "8"))],
                    },
                    {
                        "coveredResources": ["nvidia.com/gpu"],
                        "flavors": [
                            quota("slu-a100", ("nvidia.com/gpu", "13")),
                            quota("slu-h100", ("nvidia.com/gpu", "26")),
                        ],
                    },
                    {
                        "coveredResources": ["sluice.dev/no-cards"],
                        "flavors": [quota("slu-no-cards", ("sluice.dev/no-cards", "0"))],
                    },
                ],
            },
        }

    def test_a_queue_that_takes_nothing_back_evicts_nobody_while_it_borrows(self) -> None:
        spec = quota_objects(PLAN, SHAPE).queues[1]["spec"]
        assert spec["queueingStrategy"] == "StrictFIFO"
        assert spec["preemption"]["reclaimWithinCohort"] == "Never"
        assert spec["preemption"]["borrowWithinCohort"] == {"policy": "Never"}

    def test_a_queue_may_borrow_and_lend_within_limits(self) -> None:
        quotas = (GroupQuota("h100", 26, borrow_limit=0, lend_limit=8), GroupQuota("a100", 4, lend_limit=9))
        plan = QuotaPlan((QueuePlan("vision", "slu-vision-7k2m9q", quotas, ("default",)),), ())
        [queue] = quota_objects(plan, SHAPE).queues
        [group] = (g for g in queue["spec"]["resourceGroups"] if g["coveredResources"] == ["nvidia.com/gpu"])
        assert {flavor["name"]: flavor["resources"][0] for flavor in group["flavors"]} == {
            "slu-a100": {"name": "nvidia.com/gpu", "nominalQuota": "4", "lendingLimit": "4"},
            "slu-h100": {
                "name": "nvidia.com/gpu",
                "nominalQuota": "26",
                "borrowingLimit": "0",
                "lendingLimit": "8",
            },
        }

    def test_what_is_left_of_a_group_lies_in_the_cohort(self) -> None:
        cohort = quota_objects(PLAN, SHAPE).cohort
        assert cohort["metadata"]["name"] == "slu"
        assert cohort["spec"] == {
            "resourceGroups": [
                {
                    "coveredResources": ["nvidia.com/gpu"],
                    "flavors": [quota("slu-h100", ("nvidia.com/gpu", "19"))],
                }
            ]
        }

    def test_each_node_group_is_a_flavor_that_the_gate_finds_nodes_by(self) -> None:
        flavors = named(quota_objects(PLAN, SHAPE).before, "ResourceFlavor")
        assert set(flavors) == {"slu-h100", "slu-a100", "slu-ascend", "slu-no-cards"}
        assert flavors["slu-h100"]["spec"] == {"nodeLabels": dict(H100.selector), "topologyName": "slu-hosts"}
        assert flavors["slu-no-cards"]["spec"] == {}
        [topology] = named(quota_objects(PLAN, SHAPE).before, "Topology").values()
        assert topology["spec"] == {"levels": [{"nodeLabel": "kubernetes.io/hostname"}]}

    def test_without_topology_the_gate_looks_at_no_nodes(self) -> None:
        objects = quota_objects(PLAN, replace(SHAPE, topology_aware=False)).before
        assert named(objects, "Topology") == {}
        assert named(objects, "ResourceFlavor")["slu-h100"]["spec"] == {"nodeLabels": dict(H100.selector)}

    def test_every_queue_has_a_flavor_outside_topology_for_jobs_without_cards(self) -> None:
        objects = quota_objects(PLAN, SHAPE)
        aware = {name for name, f in named(objects.before, "ResourceFlavor").items() if "topologyName" in f["spec"]}
        for queue in objects.queues:
            assert {flavor for flavor, _resource in quotas_of(queue)} - aware

    def test_local_queues_stand_in_their_teams_space_and_none_is_anybodys_default(self) -> None:
        queues = quota_objects(PLAN, SHAPE).after
        assert [(q["metadata"]["namespace"], q["metadata"]["name"], q["spec"]["clusterQueue"]) for q in queues] == [
            ("slu-vision-7k2m9q", "slu-default", "slu-vision"),
            ("slu-vision-7k2m9q", "slu-night", "slu-vision"),
            ("slu-speech-1a2b3c", "slu-default", "slu-speech"),
        ]

    def test_a_held_local_queue_admits_nothing_and_keeps_what_runs(self) -> None:
        held = replace(PLAN.queues[0], held_local_queues=("night",))
        queues = quota_objects(replace(PLAN, queues=(held,)), SHAPE).after
        assert [queue["spec"]["stopPolicy"] for queue in queues] == ["None", "Hold"]

    def test_weights_order_admission_where_they_are_given(self) -> None:
        weighed = replace(PLAN.queues[0], weights=(("default", 1), ("night", 3)))
        objects = quota_objects(replace(PLAN, queues=(weighed, PLAN.queues[1])), SHAPE)
        assert [queue["spec"].get("fairSharing") for queue in objects.after] == [{"weight": "1"}, {"weight": "3"}, None]
        assert [queue["spec"].get("admissionScope") for queue in objects.queues] == [
            {"admissionMode": "UsageBasedAdmissionFairSharing"},
            None,
        ]

    def test_spaces_refuse_pods_outside_the_baseline_unless_rdma_needs_more(self) -> None:
        with_rdma = named(quota_objects(PLAN, SHAPE).before, "Namespace")["slu-vision-7k2m9q"]["metadata"]["labels"]
        assert with_rdma["pod-security.kubernetes.io/warn"] == "baseline"
        plain = replace(SHAPE, groups={"a100": A100})
        plan = QuotaPlan((QueuePlan("v", "slu-v", (GroupQuota("a100", 1),), ("default",)),), ())
        labels = named(quota_objects(plan, plain).before, "Namespace")["slu-v"]["metadata"]["labels"]
        assert labels == {
            "sluice.dev/installation": SHAPE.installation,
            "sluice.dev/space": "true",
            "pod-security.kubernetes.io/enforce": "baseline",
        }

    def test_priorities_order_the_queue_and_never_evict_pods(self) -> None:
        before = quota_objects(PLAN, SHAPE).before
        classes = {name: c["value"] for name, c in named(before, "WorkloadPriorityClass").items()}
        assert classes == {f"slu-{value}": value for value in (100, 150, 200, 250, 300, 350, 400, 450)}
        pods = named(before, "PriorityClass")
        assert {c["preemptionPolicy"] for c in pods.values()} == {"Never"}
        assert not any(c["globalDefault"] for c in pods.values())
        assert pods["slu-training"]["value"] < pods["slu-inference"]["value"]

    def test_a_plan_for_a_group_that_is_not_there_is_refused(self) -> None:
        with pytest.raises(Rejected, match="tpu"):
            quota_objects(QuotaPlan((), (GroupQuota("tpu", 1),)), SHAPE)


class TestQuestions:
    def test_what_pods_ask_for_beyond_cards_must_stay_outside_quota(self) -> None:
        assert uncounted_resources(SHAPE) == {"cpu", "memory", "rdma/hca"}

    def test_groups_that_no_label_tells_apart_are_found(self) -> None:
        inside = replace(A100, selector=(*A100.selector, ("rack", "r1")))
        elsewhere = replace(A100, selector=(*A100.selector, ("rack", "r2")))
        shape = replace(SHAPE, groups={"all": A100, "r1": inside, "r2": elsewhere, "h100": H100})
        assert indistinct_groups(shape) == (("all", "r1"), ("all", "r2"))


class TestOrder:
    def queue(self, name: str, amounts: dict[tuple[str, str], int], **status: Any) -> dict[str, Any]:
        return {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ClusterQueue",
            "metadata": {"name": name, "labels": {}},
            "spec": {"resourceGroups": resource_groups(amounts)},
            **({"status": status} if status else {}),
        }

    def writes(self, current: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> list[tuple[str, dict[Any, int]]]:
        return [(w["metadata"]["name"], quotas_of(w)) for w in decreases_first(current, wanted)]

    def test_the_loser_is_lowered_before_the_winner_is_raised(self) -> None:
        gpu = ("slu-h100", "nvidia.com/gpu")
        current = [self.queue("slu-a", {gpu: 4}), self.queue("slu-b", {gpu: 12})]
        wanted = [self.queue("slu-a", {gpu: 10}), self.queue("slu-b", {gpu: 6})]
        assert self.writes(current, wanted) == [("slu-b", {gpu: 6}), ("slu-a", {gpu: 10})]

    def test_a_queue_that_loses_one_group_and_wins_another_is_written_twice(self) -> None:
        h100, a100 = ("slu-h100", "nvidia.com/gpu"), ("slu-a100", "nvidia.com/gpu")
        current = [self.queue("slu-a", {h100: 4, a100: 1})]
        wanted = [self.queue("slu-a", {h100: 2, a100: 8})]
        assert self.writes(current, wanted) == [("slu-a", {h100: 2, a100: 1}), ("slu-a", {h100: 2, a100: 8})]

    def test_a_group_in_use_stays_with_nothing_of_its_own(self) -> None:
        h100, a100 = ("slu-h100", "nvidia.com/gpu"), ("slu-a100", "nvidia.com/gpu")
        held = [{"name": "slu-a100", "resources": [{"name": "nvidia.com/gpu", "total": "8"}]}]
        current = [self.queue("slu-a", {h100: 4, a100: 8}, flavorsReservation=held)]
        wanted = [self.queue("slu-a", {h100: 4})]
        assert self.writes(current, wanted) == [("slu-a", {h100: 4, a100: 0})]
        freed = [self.queue("slu-a", {h100: 4, a100: 0}, flavorsReservation=[])]
        assert self.writes(freed, wanted) == [("slu-a", {h100: 4})]

    def test_a_queue_nobody_wants_any_more_gives_everything_back(self) -> None:
        gpu = ("slu-h100", "nvidia.com/gpu")
        assert self.writes([self.queue("slu-old", {gpu: 4})], []) == [("slu-old", {gpu: 0})]

    def test_a_policy_that_changes_alone_is_one_write(self) -> None:
        gpu = ("slu-h100", "nvidia.com/gpu")
        wanted = self.queue("slu-a", {gpu: 4})
        wanted["spec"]["queueingStrategy"] = "StrictFIFO"
        assert len(decreases_first([self.queue("slu-a", {gpu: 4})], [wanted])) == 1

    def test_defaults_that_the_cluster_added_are_no_change(self) -> None:
        gpu = ("slu-h100", "nvidia.com/gpu")
        current = self.queue("slu-a", {gpu: 4})
        current["spec"] |= {"stopPolicy": "None", "queueingStrategy": "BestEffortFIFO"}
        assert decreases_first([current], [self.queue("slu-a", {gpu: 4})]) == []
