"""A look at a cluster's setup, from recorded answers of an API server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import msgspec
import pytest

from clusters.backends.kueue_volcano.client import KubeClient, Missing
from clusters.backends.kueue_volcano.credentials import Account
from clusters.backends.kueue_volcano.rights import NEEDED, needed_rights
from clusters.backends.kueue_volcano.surveying import Surveyor
from clusters.contract import Retryable, Unauthorized
from clusters.preflight.survey import Check, ForeignQueue, PodPriority, StarterSettings, Survey
from clusters.preflight.table import preflight
from clusters.preflight.words import Feature, Problem, Verdict

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
OURS = {"sluice.dev/installation": "01abc"}
KUEUE, VOLCANO = "/apis/kueue.x-k8s.io/v1beta2", "/apis/scheduling.volcano.sh/v1beta1"
GATE = "/apis/apps/v1/namespaces/kueue-system/deployments/kueue-controller-manager"
STARTER = "/apis/apps/v1/namespaces/volcano-system/deployments/volcano-scheduler"
GATE_CONFIG = "/api/v1/namespaces/kueue-system/configmaps/kueue-manager-config"
STARTER_CONFIG = "/api/v1/namespaces/volcano-system/configmaps/volcano-scheduler-configmap"
REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"


def _rules(account: Account) -> list[dict[str, Any]]:
    return [
        {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
        for group, resources, verbs in NEEDED[account]
    ]


def _deployment(image: str, ready: int = 1) -> dict[str, Any]:
    return {
        "spec": {"template": {"spec": {"containers": [{"name": "proxy", "image": "proxy"}, {"image": image}]}}},
        "status": {"readyReplicas": ready},
    }


def _node(name: str, labels: Mapping[str, str], **capacity: str) -> dict[str, Any]:
    amounts = {resource.replace("__", "/").replace("_", "."): amount for resource, amount in capacity.items()}
    return {
        "metadata": {"name": name, "uid": name, "labels": dict(labels)},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def answers() -> dict[str, Any]:
    """By address; an Exception is raised, what is missing is a 404."""
    return {
        "/version": {"gitVersion": "v1.35.4"},
        "/apis/kueue.x-k8s.io": {"versions": [{"groupVersion": "kueue.x-k8s.io/v1beta2"}]},
        KUEUE: {"resources": [{"name": n} for n in ("workloads", "clusterqueues", "localqueues", "topologies")]},
        "/apis/scheduling.volcano.sh": {"versions": [{"groupVersion": "scheduling.volcano.sh/v1beta1"}]},
        VOLCANO: {"resources": [{"name": "podgroups"}, {"name": "queues"}]},
        GATE: _deployment("registry.example:5000/kueue/kueue:v0.19.2@sha256:ab"),
        STARTER: _deployment("volcanosh/vc-scheduler:v1.14.4"),
        GATE_CONFIG: {
            "data": {
                "controller_manager_config.yaml": "integrations: {frameworks: [batch/job, deployment]}\n"
                "resources: {excludeResourcePrefixes: [cpu, memory]}\nadmissionFairSharing: {usageHalfLifeTime: 1h}\n"
            }
        },
        STARTER_CONFIG: {
            "data": {
                "volcano-scheduler.conf": "actions: 'enqueue, allocate, backfill'\n"
                "tiers: [{plugins: [{name: priority}, {name: gang}]}]\n"
            }
        },
        f"{KUEUE}/admissionchecks": {"items": []},
        f"{KUEUE}/clusterqueues": {"items": [{"metadata": {"name": "slu-vision", "labels": OURS}, "spec": {}}]},
        f"{VOLCANO}/queues/default": {"status": {"state": "Open"}},
        "/apis/scheduling.k8s.io/v1/priorityclasses": {
            "items": [{"metadata": {"name": "slu-training"}, "value": 100, "preemptionPolicy": "Never"}]
        },
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/sluice-runtime": {"metadata": {}},
        "/api/v1/namespaces": {"items": [{"metadata": {"name": "slu-vision-01"}}]},
        "/api/v1/resourcequotas": {"items": []},
        "/api/v1/limitranges": {"items": [{"metadata": {"name": "theirs", "namespace": "somewhere"}}]},
        "/api/v1/nodes": {
            "metadata": {"resourceVersion": "1"},
            "items": [_node("n1", {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}, nvidia_com__gpu="8", cpu="96")],
        },
        "/api/v1/pods": {
            "items": [
                {
                    "metadata": {"labels": {"app": "dcgm-exporter", "app.kubernetes.io/name": "dcgm-exporter"}},
                    "status": {"phase": "Running"},
                }
            ]
        },
    }


class RecordedClient:
    """Answers as recorded; rights as an account of the shipped role has them."""

    def __init__(self, account: Account, recorded: Mapping[str, Any], *, clock: datetime | None = NOW) -> None:
        self._account, self._recorded, self._clock = account, recorded, clock

    def clock(self) -> datetime | None:
        return self._clock

    def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        found = self._recorded.get(path)
        if found is None:
            raise Missing("not_found", path)
        if isinstance(found, Exception):
            raise found
        return msgspec.json.encode(found)

    def create(self, path: str, body: Mapping[str, Any]) -> bytes:
        assert path == REVIEW and body["spec"] == {"namespace": "sluice-system"}
        rules = self._recorded.get(f"{REVIEW}#{self._account.value}", {"resourceRules": _rules(self._account)})
        if isinstance(rules, Exception):
            raise rules
        return msgspec.json.encode({"status": rules})


def look(changes: Mapping[str, Any] | None = None, *, accounts: tuple[Account, ...] = tuple(Account)) -> Survey:
    """One look; ``changes`` replaces answers, None takes one away."""
    recorded = answers() | dict(changes or {})
    clients = {account: cast(KubeClient, RecordedClient(account, recorded)) for account in accounts}
    return Surveyor(clients, "01abc").survey(NOW)


def known_here(survey: Survey) -> Survey:
    """With what the console knows itself."""
    return replace(survey, outside_cards=0, teams=1, teams_with_storage=1, groups=1)


def test_a_cluster_as_the_guide_says_has_nothing_missing() -> None:
    found = preflight(known_here(look()))
    assert {feature: each for feature, each in found.items() if each.verdict is not Verdict.OK} == {}


def test_what_a_look_tells() -> None:
    survey = look()
    assert (survey.version, survey.gate_version, survey.clock_ahead) == ("v1.35.4", "v0.19.2", 0)
    assert survey.gate is not None and survey.gate.integrations == {"batch/job", "deployment", "pod"}
    assert survey.starter == StarterSettings(("enqueue", "allocate", "backfill"), frozenset({"priority", "gang"}))
    assert survey.cards == {"nvidia.com/gpu": 8} and survey.exporters == {"dcgm-exporter": 2}
    assert survey.rights == {"runtime": frozenset(), "quota": frozenset(), "node": frozenset()}
    assert survey.space_limits == frozenset()


FORBIDDEN = Unauthorized("forbidden", "may not")


@pytest.mark.parametrize(
    ("changes", "feature", "problem"),
    [
        ({"/apis/kueue.x-k8s.io": None}, Feature.GATE, Problem.NO_GATE),
        (
            {
                "/apis/kueue.x-k8s.io": {"versions": [{"groupVersion": "kueue.x-k8s.io/v1beta1"}]},
                "/apis/kueue.x-k8s.io/v1beta1": {"resources": [{"name": "workloads"}]},
            },
            Feature.GATE,
            Problem.GATE_SPEAKS_OTHER_VERSION,
        ),
        ({"/apis/scheduling.volcano.sh": None}, Feature.GANG, Problem.NO_STARTER),
        ({GATE: _deployment("kueue:v0.17.1")}, Feature.GATE_VERSION, Problem.GATE_VERSION_BAD),
        ({GATE: _deployment("kueue:main")}, Feature.GATE_VERSION, Problem.NOT_READ),
        ({GATE: _deployment("kueue:v0.19.2", ready=0)}, Feature.GATE_RUNS, Problem.GATE_STOPPED),
        ({GATE: None}, Feature.GATE_RUNS, Problem.NOT_READ),
        ({STARTER: _deployment("vc:v1.14.4", ready=0)}, Feature.GANG_RUNS, Problem.STARTER_STOPPED),
        ({GATE_CONFIG: FORBIDDEN}, Feature.CARD_QUOTAS, Problem.NOT_READ),
        ({GATE_CONFIG: {"data": {}}}, Feature.CARD_QUOTAS, Problem.NOT_READ),
        ({GATE_CONFIG: {"data": {"controller_manager_config.yaml": "a: ["}}}, Feature.TRAINING, Problem.NOT_READ),
        (
            {STARTER_CONFIG: {"data": {"volcano-scheduler.conf": "actions: 'allocate, preempt'"}}},
            Feature.ONE_PREEMPTOR,
            Problem.STARTER_PREEMPTS,
        ),
        ({f"{VOLCANO}/queues/default": {"status": {"state": "Closed"}}}, Feature.GANG_QUEUE,
         Problem.STARTER_QUEUE_CLOSED),
        ({f"{VOLCANO}/queues/default": None}, Feature.GANG_QUEUE, Problem.STARTER_QUEUE_CLOSED),
        (
            {"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/sluice-runtime": None},
            Feature.CONFINED,
            Problem.NO_POLICY,
        ),
        ({"/api/v1/limitranges": {"items": [{"metadata": {"name": "l", "namespace": "slu-vision-01"}}]}},
         Feature.SPACES, Problem.SPACE_LIMITS),
        ({"/api/v1/pods": {"items": []}}, Feature.UTILISATION, Problem.NO_EXPORTER),
        ({f"{REVIEW}#runtime": {"resourceRules": []}}, Feature.SUBMIT, Problem.RIGHTS_LACK),
        ({f"{REVIEW}#runtime": {"resourceRules": [], "incomplete": True}}, Feature.SUBMIT, Problem.NOT_READ),
        ({f"{REVIEW}#quota": FORBIDDEN}, Feature.QUOTAS, Problem.NOT_READ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_found(changes: dict[str, Any], feature: Feature, problem: Problem) -> None:
    assert preflight(known_here(look(changes)))[feature].problem is problem


def test_one_right_that_lacks_is_named() -> None:
    rules = _rules(Account.NODE)
    rules[0]["verbs"] = ["get"]
    found = preflight(look({f"{REVIEW}#node": {"resourceRules": rules}}))[Feature.MAINTENANCE]
    assert found.facts == {"account": "node", "rights": "patch nodes"}


def test_a_right_to_everything_is_enough_and_a_right_to_one_object_is_not() -> None:
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    survey = look({f"{REVIEW}#runtime": {"resourceRules": [everything]}})
    assert survey.rights is not None and survey.rights["runtime"] == frozenset()
    narrow = look({f"{REVIEW}#runtime": {"resourceRules": [{**everything, "resourceNames": ["one"]}]}})
    assert narrow.rights is not None and len(narrow.rights["runtime"]) == len(set(needed_rights(Account.RUNTIME)))


def test_queues_and_checks_of_others() -> None:
    queues = [
        {
            "metadata": {"name": "slu-vision", "labels": OURS},
            "spec": {"admissionChecksStrategy": {"admissionChecks": [{"name": "budget"}]}},
        },
        {
            "metadata": {"name": "old"},
            "spec": {"cohortName": "pool", "resourceGroups": [{"flavors": [{"name": "b"}, {"name": "a"}]}]},
            "status": {"reservingWorkloads": 3},
        },
    ]
    check = {
        "metadata": {"name": "budget"},
        "spec": {"controllerName": "example.com/budget"},
        "status": {"conditions": [{"type": "Active", "status": "False"}]},
    }
    survey = look({f"{KUEUE}/clusterqueues": {"items": queues}, f"{KUEUE}/admissionchecks": {"items": [check]}})
    assert survey.foreign_queues == (ForeignQueue("old", "pool", ("a", "b"), 3),)
    assert survey.checks == (Check("budget", "example.com/budget", is_active=False),)
    assert preflight(survey)[Feature.EXTRA_CHECKS].problem is Problem.CHECK_UNANSWERED


def test_priority_classes_are_read_by_the_account_for_quotas_where_there_is_one() -> None:
    classes = {"items": [{"metadata": {"name": "web"}, "value": 9, "globalDefault": True}]}
    address = "/apis/scheduling.k8s.io/v1/priorityclasses"
    assert look({address: classes}).pod_priorities == (PodPriority("web", 9, preempts=True, is_default=True),)
    alone = look({address: FORBIDDEN}, accounts=(Account.RUNTIME,))
    assert alone.pod_priorities is None and preflight(alone)[Feature.QUOTAS].problem is Problem.NO_ACCOUNT


def test_devices_that_nobody_knows_and_nodes_without_a_model() -> None:
    nodes = [
        _node("n1", {}, nvidia_com__gpu="8"),
        _node("n2", {}, example_com__tpu="4"),
        _node("n3", {}, cambricon_com__mlu="8"),  # its vendor has no label for the model
        _node("n4", {}, cpu="4"),
    ]
    survey = look({"/api/v1/nodes": {"metadata": {}, "items": nodes}})
    assert survey.unknown_resources == {"example.com/tpu": 1}
    assert survey.unlabelled_nodes == 1
    assert survey.cards == {"nvidia.com/gpu": 8, "example.com/tpu": 4, "cambricon.com/mlu": 8}


def test_a_clock_that_runs_ahead() -> None:
    recorded = answers()
    client = cast(KubeClient, RecordedClient(Account.RUNTIME, recorded, clock=NOW + timedelta(seconds=90)))
    assert Surveyor({Account.RUNTIME: client}, "01abc").survey(NOW).clock_ahead == 90


@pytest.mark.parametrize("address", ["/version", GATE, f"{KUEUE}/clusterqueues", "/api/v1/nodes"])
def test_a_cluster_that_falls_silent_gives_no_half_look(address: str) -> None:
    with pytest.raises(Retryable):
        look({address: Retryable("silent", "")})
