"""An attempt is found on a cluster by its marks, whatever its name: that of a job, of a service, of nobody."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clusters.backends.kueue_volcano import backend, names
from clusters.backends.kueue_volcano.backend import KueueVolcanoBackend
from clusters.backends.kueue_volcano.client import KubeClient
from clusters.backends.kueue_volcano.credentials import Account, Connection
from clusters.contract import Tracing, WorkloadRef
from clusters.models import Cluster
from tests.api_server import TOKENS, ApiServer

pytestmark = pytest.mark.django_db

ULID = "01K00000000000000000000001"


@pytest.fixture
def door(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> KueueVolcanoBackend:
    way = Connection("127.0.0.1", server.port, "127.0.0.1", server.ca.certificate, token=TOKENS[Account.RUNTIME])
    monkeypatch.setattr(backend, "client_of", lambda _cluster, _account: KubeClient(way))
    cluster = Cluster.objects.create(slug="real", name="Real", kind="kueue_volcano")
    for kind in (names.JOBS, names.DEPLOYMENTS):
        server.answers[kind.path()] = _listed()
    return KueueVolcanoBackend(cluster)


def _listed(*items: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    return 200, {"Content-Type": "application/json"}, json.dumps({"items": items}).encode()


@pytest.mark.parametrize(("kind", "job_kind"), [(names.JOBS, "training"), (names.DEPLOYMENTS, "inference")])
def test_an_attempt_is_found_with_its_place_and_uid(
    server: ApiServer, door: KueueVolcanoBackend, kind: names.Kind, job_kind: str
) -> None:
    assert isinstance(door, Tracing)
    meta = {"name": "j-bert-0000000001-2", "namespace": "slu-vision-000000", "uid": "u-1"}
    server.answers[kind.path()] = _listed({"metadata": meta | {"labels": _marks(2)}})
    found = door.trace(ULID, 2)
    assert found == WorkloadRef(ULID, 2, "slu-vision-000000", "j-bert-0000000001-2", "u-1", job_kind)


def _marks(attempt: int) -> dict[str, str]:
    installation = names.installation_of(Cluster.objects.get().public_id)
    return {names.INSTALLATION: installation, names.JOB: ULID.lower(), names.ATTEMPT: str(attempt)}


@pytest.mark.parametrize("other", [{names.INSTALLATION: "another"}, {names.ATTEMPT: "1"}, {names.JOB: "01k9"}])
def test_what_has_other_marks_is_not_it(server: ApiServer, door: KueueVolcanoBackend, other: dict[str, str]) -> None:
    meta = {"name": "j-x", "namespace": "slu-x", "uid": "u-2", "labels": _marks(2) | other}
    server.answers[names.JOBS.path()] = _listed({"metadata": meta})
    assert door.trace(ULID, 2) is None


def test_nothing_is_found_where_nothing_is(door: KueueVolcanoBackend) -> None:
    assert door.trace(ULID, 1) is None
