"""A look at a cluster where nothing has changed: no row is written, and nothing is asked but lists."""

from __future__ import annotations

from collections import Counter

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from clusters.backends.kueue_volcano import backend
from clusters.backends.kueue_volcano.client import KubeClient
from clusters.backends.kueue_volcano.credentials import Account, Connection
from clusters.models import Cluster, Node, ObservedWorkload
from clusters.sync import cluster_sync
from tests.api_server import TOKENS, ApiServer
from tests.benchmarks import crowd

pytestmark = pytest.mark.django_db

JOBS = 30
WRITES = ("INSERT", "UPDATE", "DELETE")


@pytest.fixture
def cluster(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Full of jobs that run, wait and have ended."""
    for kind in crowd.KINDS:
        (items,) = crowd.pages_of(kind, JOBS)
        body = b'{"metadata":{"resourceVersion":"99"},"items":[' + items + b"]}"
        server.answers[kind.path()] = 200, {"Content-Type": "application/json"}, body
    way = Connection("127.0.0.1", server.port, "127.0.0.1", server.ca.certificate, token=TOKENS[Account.RUNTIME])
    client = KubeClient(way)
    monkeypatch.setattr(backend, "client_of", lambda _cluster, _account: client)
    return Cluster.objects.create(
        slug="crowd", name="Crowd", kind="kueue_volcano", public_id=crowd.INSTALLATION.upper()
    )


def test_a_look_at_what_is_known_writes_no_row_and_asks_for_lists_alone(cluster: Cluster, server: ApiServer) -> None:
    assert cluster_sync(cluster)
    assert ObservedWorkload.objects.count() == JOBS
    assert Counter(bool(row.facts.get("outcome")) for row in ObservedWorkload.objects.all()) == {True: 6, False: 24}
    assert Node.objects.count() == -(-JOBS // crowd.CARDS_PER_NODE)
    before = [list(model.objects.order_by("pk").values()) for model in (ObservedWorkload, Node)]
    server.asked.clear()
    with CaptureQueriesContext(connection) as queries:
        assert cluster_sync(cluster)
    assert [list(model.objects.order_by("pk").values()) for model in (ObservedWorkload, Node)] == before
    written = [query["sql"] for query in queries if query["sql"].startswith(WRITES)]
    assert len(written) == 1 and written[0].startswith('UPDATE "clusters_cluster"'), written
    assert {method for method, _path, _host in server.asked} == {"GET"}
    lists = Counter(path for _method, path, _host in server.asked if path in server.answers)
    assert lists == {kind.path(): 1 for kind in crowd.KINDS}


def test_the_number_of_statements_does_not_grow_with_the_cluster(cluster: Cluster, server: ApiServer) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert cluster_sync(cluster)
        return len(queries)

    cluster_sync(cluster)
    few = statements()
    for kind in crowd.KINDS:
        (items,) = crowd.pages_of(kind, 4 * JOBS)
        body = b'{"metadata":{"resourceVersion":"100"},"items":[' + items + b"]}"
        server.answers[kind.path()] = 200, {"Content-Type": "application/json"}, body
    cluster_sync(cluster)
    assert ObservedWorkload.objects.count() == 4 * JOBS and statements() == few
