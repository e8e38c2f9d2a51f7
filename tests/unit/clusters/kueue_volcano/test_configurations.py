"""Configuration files of Kueue and Volcano, read with the programs' own defaults."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.backends.kueue_volcano.configurations import (
    VOLCANO_DEFAULT,
    Unreadable,
    gate_settings,
    seconds_of,
    starter_settings,
)
from clusters.preflight.survey import GateSettings, PodsReady

GUIDE = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: kueue-system
manageJobsWithoutQueueName: false
integrations:
  frameworks: ["batch/job", deployment]
resources:
  excludeResourcePrefixes: [cpu, memory, ephemeral-storage]
admissionFairSharing: {usageHalfLifeTime: 168h, usageSamplingInterval: 5m}
featureGates: {TopologyAwareScheduling: true}
"""


def test_the_configuration_of_the_guide() -> None:
    settings = gate_settings(GUIDE)
    assert settings.integrations == {"batch/job", "deployment", "pod"}
    assert settings.excluded_prefixes == ("cpu", "memory", "ephemeral-storage")
    assert settings.usage_based_order and not settings.fair_sharing and not settings.manages_unlabelled
    assert settings.pods_ready is None and settings.switches == {"TopologyAwareScheduling": True}


@pytest.mark.parametrize("text", ["", "{}", "kind: Configuration"])
def test_what_is_not_said_has_the_gates_own_default(text: str) -> None:
    assert gate_settings(text) == GateSettings()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("waitForPodsReady: {timeout: 45m}", PodsReady(2700)),
        ("waitForPodsReady: {}", PodsReady(300)),
        ("waitForPodsReady: {enable: false, timeout: 5m}", None),
        (
            "waitForPodsReady: {enable: true, timeout: 1h30m, blockAdmission: true,"
            " requeuingStrategy: {backoffLimitCount: 3}}",
            PodsReady(5400, blocks_admission=True, retries=3),
        ),
    ],
)
def test_how_long_it_waits_for_pods(text: str, expected: PodsReady | None) -> None:
    assert gate_settings(text).pods_ready == expected


def test_the_settings_that_fight_the_console() -> None:
    settings = gate_settings(
        "manageJobsWithoutQueueName: true\nfairSharing: {preemptionStrategies: [LessThanInitialShare]}\n"
        "objectRetentionPolicies: {workloads: {afterDeactivatedByKueue: 1h}}"
    )
    assert settings.manages_unlabelled and settings.fair_sharing and settings.deletes_given_up
    assert not gate_settings("fairSharing: {enable: false}").fair_sharing
    assert not gate_settings("objectRetentionPolicies: {workloads: {afterFinished: 1h}}").deletes_given_up


def test_the_configuration_that_volcano_is_shipped_with() -> None:
    settings = starter_settings(
        'actions: "enqueue, allocate, backfill"\ntiers:\n- plugins:\n  - name: priority\n  - name: gang\n'
        "    enablePreemptable: false\n- plugins:\n  - name: overcommit\n  - name: proportion\n"
    )
    assert settings.actions == ("enqueue", "allocate", "backfill")
    assert settings.plugins == {"priority", "gang", "overcommit", "proportion"}
    assert starter_settings("") == VOLCANO_DEFAULT


@pytest.mark.parametrize(
    "text",
    ["[1, 2]", "resources: cpu", "integrations: {frameworks: batch/job}", "waitForPodsReady: {timeout: soon}", "a: [",
     "waitForPodsReady: {requeuingStrategy: {backoffLimitCount: many}}", "fairSharing: true", "x" * 300_000],
)  # fmt: skip
def test_a_file_that_the_gate_would_not_take_is_said_to_be_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        gate_settings(text)


@given(st.text(max_size=300))
def test_no_text_does_worse_than_unreadable(text: str) -> None:
    for read in (gate_settings, starter_settings):
        try:
            read(text)
        except Unreadable as error:
            assert str(error)


@pytest.mark.parametrize(("text", "seconds"), [("0", 0), ("300ms", 0), ("5m", 300), ("1h30m", 5400), ("1.5h", 5400)])
def test_durations(text: str, seconds: int) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "m", "5 m", "-5m", "5m!", "1h30"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(Unreadable):
        seconds_of(text)
