"""Whole objects against the files in golden/, which are written to be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from clusters.backends.kueue_volcano.inference import deployment_manifest
from clusters.backends.kueue_volcano.manifests import (
    REGISTRY_KEY,
    job_manifest,
    pod_group_manifest,
    secret_manifest,
    service_manifest,
)
from clusters.contract import Rejected
from tests.unit.clusters.kueue_volcano.shapes import INFERENCE, SHAPE, SPECS, spec

GOLDEN = Path(__file__).parent / "golden"


def golden(name: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((GOLDEN / f"{name}.yaml").read_text(encoding="utf-8"))
    return document


@pytest.mark.parametrize("name", sorted(SPECS))
def test_a_job_is_exactly_this_object(name: str) -> None:
    job, shape = SPECS[name]
    assert job_manifest(job, shape) == golden(name)


def test_an_inference_service_is_exactly_this_object() -> None:
    assert deployment_manifest(*INFERENCE) == golden("inference_3x1")


def test_the_pod_group_belongs_to_its_job_and_asks_for_every_pod() -> None:
    assert pod_group_manifest(spec(), SHAPE, "8a0f") == golden("pod_group")


def test_one_headless_service_serves_a_space() -> None:
    assert service_manifest("slu-vision-7k2m9q", SHAPE) == golden("service")


def test_every_golden_file_is_compared_with_something() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == {*SPECS, "inference_3x1", "pod_group", "service"}


class TestSecrets:
    def test_values_of_a_team_become_an_opaque_secret(self) -> None:
        assert secret_manifest("slu-a", "env-wandb", {"WANDB_API_KEY": b"\x00secret"}, SHAPE) == {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": "env-wandb",
                "namespace": "slu-a",
                "labels": {"sluice.dev/installation": SHAPE.installation},
            },
            "type": "Opaque",
            "data": {"WANDB_API_KEY": "AHNlY3JldA=="},
        }

    def test_registry_credentials_become_a_pull_secret(self) -> None:
        secret = secret_manifest("slu-a", "pull-harbor", {REGISTRY_KEY: b"{}"}, SHAPE)
        assert secret["type"] == "kubernetes.io/dockerconfigjson"

    @pytest.mark.parametrize(
        ("name", "data"),
        [
            ("Env", {"A": b"1"}),
            ("../env", {"A": b"1"}),
            ("env", {}),
            ("env", {"A B": b"1"}),
            ("env", {"A": b"x" * (512 * 1024 + 1)}),
            ("env", {"NVIDIA_VISIBLE_DEVICES": b"all"}),
        ],
    )
    def test_what_a_cluster_would_not_take_or_could_open_cards_is_refused(
        self, name: str, data: dict[str, bytes]
    ) -> None:
        with pytest.raises(Rejected, match=name):
            secret_manifest("slu-a", name, data, SHAPE)
