"""The gate writes to a workload that waits while its nodes are changed: what it has written meanwhile is read again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from clusters.backends.kueue_volcano import backend, names
from clusters.backends.kueue_volcano.backend import STEER_READINGS, KueueVolcanoBackend
from clusters.contract import Retryable, WorkloadRef
from clusters.models import Cluster

pytestmark = pytest.mark.django_db

ULID = "01K00000000000000000000001"
REF = WorkloadRef(ULID, 1, "slu-vision", "j-bert-1", "u-1", "training")


class BusyServer:
    """One job that waits and its workload, which the gate changes after each of the first ``races`` readings."""

    def __init__(self, marks: Mapping[str, str], races: int) -> None:
        self._marks, self._races, self._version = marks, races, 1
        self.readings = 0
        self.written: list[tuple[str, Mapping[str, Any]]] = []

    def get(self, path: str, _params: Mapping[str, str] | None = None) -> bytes:
        head = {"namespace": REF.space, "resourceVersion": str(self._version)}
        if path == names.WORKLOADS.path(REF.space):
            return _json({"items": [{"metadata": head | {"name": "job-w", "uid": "u-2"}}]})
        if path == names.JOBS.path(REF.space, REF.object_name):
            return _json({"metadata": head | {"name": REF.object_name, "uid": "u-1", "labels": self._marks}})
        self.readings += 1
        answer = {"metadata": head, "spec": {"podSets": [{"name": "main", "template": {"spec": {}}}]}}
        if self._races:
            self._races -= 1
            self._version += 1
        return _json(answer)

    def merge(self, path: str, body: Mapping[str, Any]) -> bytes:
        if body["metadata"].get("resourceVersion", str(self._version)) != str(self._version):
            raise Retryable("conflict", "the object has been modified")
        self.written.append((path, body))
        return b"{}"


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value).encode()


def _busy(monkeypatch: pytest.MonkeyPatch, races: int) -> tuple[BusyServer, KueueVolcanoBackend]:
    cluster = Cluster.objects.create(slug="real", name="Real", kind="kueue_volcano")
    installation = names.installation_of(cluster.public_id)
    server = BusyServer({names.INSTALLATION: installation, names.JOB: ULID.lower(), names.ATTEMPT: "1"}, races)
    monkeypatch.setattr(backend, "client_of", lambda _cluster, _account: server)
    return server, KueueVolcanoBackend(cluster)


def test_a_workload_that_changed_meanwhile_is_read_again_and_steered(monkeypatch: pytest.MonkeyPatch) -> None:
    server, cluster = _busy(monkeypatch, races=STEER_READINGS - 1)
    cluster.steer(REF, ("gpu-1",))
    assert server.readings == STEER_READINGS
    workload, job = (path for path, _body in server.written)
    assert workload == names.WORKLOADS.path(REF.space, "job-w")
    assert job == names.JOBS.path(REF.space, REF.object_name)


def test_one_that_changes_each_time_is_for_later_and_its_job_stays_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    server, cluster = _busy(monkeypatch, races=STEER_READINGS)
    with pytest.raises(Retryable, match="modified"):
        cluster.steer(REF, ("gpu-1",))
    assert server.written == []
