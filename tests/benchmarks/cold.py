"""B2: a cluster of 10,000 jobs is listed and its state stored, for the first time and again when nothing changed."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import msgspec
from django.db import connection, transaction
from django.utils import timezone

from clusters import sync
from clusters.backends.kueue_volcano import backend, mirror, names, raw
from clusters.backends.kueue_volcano.client import KubeClient
from clusters.backends.kueue_volcano.lists import FOLLOWED, PAGE
from clusters.contract import Observation
from clusters.models import Cluster, ObservedWorkload
from tests.benchmarks import crowd
from tests.benchmarks.measure import Meter, Row, Sample, ratios, seconds
from tests.benchmarks.prepared import TOKEN, Prepared, prepared_server

JOBS, MANY, FEW = 10_000, 50_000, 1_000
RELIST_SECONDS = 3.0
COLUMNS = (
    "cluster_id, job_ulid, attempt_no, uid, revision, version, facts, gone, cards_running, cards_held, cards_ending,"
    " seen_at"
)


@contextmanager
def connected(server: Prepared) -> Iterator[Cluster]:
    """A cluster whose backend talks to this server."""
    cluster, _ = Cluster.objects.get_or_create(
        slug="bench", name="Bench", kind="kueue_volcano", public_id=crowd.INSTALLATION.upper()
    )
    client = server.client()
    with (
        patch.object(backend, "client_of", lambda _cluster, _account: client),
        patch.object(backend, "fresh_client", lambda _cluster, _account: server.client()),
    ):
        yield cluster


def forget() -> None:
    """Everything that was seen of the cluster."""
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE clusters_observedworkload, clusters_node, clusters_nodegroup CASCADE")


def rows() -> Iterator[Row]:
    meter = Meter()
    with prepared_server(JOBS) as server, connected(server) as cluster:
        meter.others = {server.pid}
        cold = yield from _cold(meter, server, cluster)
        yield _again(meter, cluster, cold)
    forget()
    yield _naive(cold)
    yield _many(cold)
    forget()


# --------------------------------------------------------------------------- B2a


def _cold(meter: Meter, server: Prepared, cluster: Cluster) -> Iterator[Row]:
    look(cluster)
    assert ObservedWorkload.objects.filter(gone=False).count() == JOBS
    stored = _stored()
    client = server.client()
    samples = meter.compare(
        {
            "floor": lambda: floor(client, msgspec.json.Decoder().decode, stored),
            "skimmed": lambda: floor(client, None, stored),
            "ours": lambda: look(cluster),
        },
        before=lambda _: forget(),
    )
    wall, cpu = ratios(samples["ours"], samples["floor"])
    what = f"{JOBS:,} jobs ({size(server) / 1e6:.0f} MB) listed and stored for the first time; reference: the floor"
    yield Row(
        "B2a", what, seconds(samples["ours"]), seconds(samples["floor"]), both(wall, cpu), "<= 2.0", wall.median <= 2
    )
    wall, cpu = ratios(samples["ours"], samples["skimmed"])
    what = "the same by a floor that reads of each object only what we read"
    yield Row("", what, seconds(samples["ours"]), seconds(samples["skimmed"]), both(wall, cpu))
    return samples["ours"]


def look(cluster: Cluster) -> None:
    """The product's own function; it must have done its work."""
    assert sync.cluster_sync(cluster), Cluster.objects.get(pk=cluster.pk).sync_error


def floor(client: KubeClient, decode: Callable[[bytes], Any] | None, rows: Sequence[tuple[object, ...]]) -> None:
    """The least that must be done: get the bytes, parse them, COPY the rows, UPDATE them once.

    The garbage collector is off: it would look at every parsed object again and again.
    """
    gc.disable()
    for followed in FOLLOWED:
        for body in pages(client, followed.kind):
            decode(body) if decode is not None else raw.decode_list(followed.kind, body)
    gc.enable()
    with transaction.atomic(), connection.cursor() as cursor:
        with cursor.copy(f"COPY clusters_observedworkload ({COLUMNS}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        cursor.execute("UPDATE clusters_observedworkload SET version = version + 1 WHERE version < 10")


def pages(client: KubeClient, kind: names.Kind) -> Iterator[bytes]:
    place = 0
    while True:
        body = client.get(kind.path(), {"limit": str(PAGE), **({"continue": str(place)} if place else {})})
        yield body
        if b'"continue":""' in body[:300]:
            return
        place += PAGE


def size(server: Prepared) -> int:
    return sum(len(body) for followed in FOLLOWED for body in pages(server.client(), followed.kind))


def _stored() -> list[tuple[object, ...]]:
    """What a look stored, as COPY takes it."""
    columns = COLUMNS.replace(" version", " 1").replace(" facts", " facts::text")
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {columns} FROM clusters_observedworkload")
        return cursor.fetchall()


def both(wall: object, cpu: object) -> str:
    return f"{wall:.2f}; CPU {cpu:.2f}"


# --------------------------------------------------------------------------- B2c


def _again(meter: Meter, cluster: Cluster, cold: Sequence[Sample]) -> Row:
    """The watcher lists everything again and nothing has changed."""
    look(cluster)
    samples: list[Sample] = []
    written = 0
    begun = timezone.now()
    cpu = meter.cpu_seconds()
    store, tidy = sync._store_told, sync._tidy

    def stored(followed: Cluster, observation: Observation) -> int:
        nonlocal written, begun
        changed = store(followed, observation)
        written, begun = written + changed, observation.read_at
        return changed

    def tidied(*arguments: Any) -> None:
        """The last that is done of a look."""
        nonlocal cpu
        tidy(*arguments)
        now = meter.cpu_seconds()
        samples.append(Sample((timezone.now() - begun).total_seconds(), now - cpu))
        cpu = now

    with (
        patch.object(sync, "_store_told", stored),
        patch.object(sync, "_tidy", tidied),
        patch.object(mirror, "ROUND_SECONDS", RELIST_SECONDS),
    ):
        sync.follow(cluster, lambda: len(samples) > len(cold))
    assert not written
    wall, used = ratios(samples[1 : len(cold) + 1], cold)
    what = "the watcher lists all again, nothing changed: 0 rows written; reference: the first time"
    return Row("B2c", what, seconds(samples[1:]), seconds(cold), both(wall, used), "<= 0.4", wall.median <= 0.4)


# --------------------------------------------------------------------------- B2b


def _naive(cold: Sequence[Sample]) -> Row:
    """The official client's typed lists and one ORM call a row, for a tenth of the jobs."""
    meter = Meter()
    with prepared_server(FEW) as server, connected(server) as cluster:
        meter.others = {server.pid}
        naive = [meter.once(lambda: official_look(server, cluster)) for _ in range(2)]
        times = JOBS / FEW
        scaled = [Sample(sample.wall * times, sample.cpu * times) for sample in naive[1:]]
    wall, cpu = ratios(scaled, cold[:1])
    what = f"reference: typed lists of the official client and one ORM call a row ({FEW:,} jobs, times {times:.0f})"
    return Row("B2b", what, seconds(cold), seconds(scaled), both(wall, cpu), ">= 20", wall.median >= 20)


def official_look(server: Prepared, cluster: Cluster) -> None:
    api = official(server)
    found = {job.metadata.uid: job for job in _typed_pages(api.BatchV1Api().list_job_for_all_namespaces)}
    pods: dict[str, list[Any]] = {}
    for pod in _typed_pages(api.CoreV1Api().list_pod_for_all_namespaces):
        pods.setdefault(pod.metadata.owner_references[0].uid, []).append(pod)
    custom = api.CustomObjectsApi()
    workloads, groups = (
        {item["metadata"]["ownerReferences"][0]["uid"]: item for item in _custom(custom, kind)}
        for kind in (names.WORKLOADS, names.POD_GROUPS)
    )
    for uid, job in found.items():
        facts = {
            "pods": [{"name": pod.metadata.name, "phase": pod.status.phase} for pod in pods.get(uid, ())],
            "conditions": json.loads(json.dumps(workloads[uid]["status"]["conditions"])),
            "gang": groups[uid]["status"]["phase"],
        }
        ObservedWorkload.objects.update_or_create(
            cluster=cluster,
            job_ulid=job.metadata.labels[names.JOB].upper(),
            attempt_no=int(job.metadata.labels[names.ATTEMPT]),
            defaults={
                "uid": uid,
                "revision": job.metadata.resource_version,
                "version": 1,
                "facts": facts,
                "seen_at": timezone.now(),
            },
        )


def official(server: Prepared) -> Any:
    """The official client, set up for this server."""
    import kubernetes.client

    configuration = kubernetes.client.Configuration()
    configuration.host = server.url
    configuration.ssl_ca_cert = str(server.ca_file)
    configuration.api_key = {"authorization": f"Bearer {TOKEN}"}
    kubernetes.client.Configuration.set_default(configuration)
    return kubernetes.client


def _typed_pages(list_all: Callable[..., Any]) -> Iterator[Any]:
    more = None
    while True:
        page = list_all(limit=PAGE, **({"_continue": more} if more else {}))
        yield from page.items
        more = page.metadata._continue
        if not more:
            return


def _custom(api: Any, kind: names.Kind) -> list[dict[str, Any]]:
    return api.list_cluster_custom_object(kind.group, kind.version, kind.plural, limit=PAGE)["items"]


# --------------------------------------------------------------------------- B2d


def _many(cold: Sequence[Sample]) -> Row:
    meter = Meter()
    with prepared_server(MANY) as server, connected(server) as cluster:
        meter.others = {server.pid}
        samples = []
        for _ in range(2):
            forget()
            samples.append(meter.once(lambda: look(cluster)))
    wall, cpu = ratios(samples, cold[:2])
    what = f"{MANY:,} jobs for the first time; reference: {JOBS:,}"
    return Row("B2d", what, seconds(samples), seconds(cold), both(wall, cpu), "<= 6", wall.median <= 6)
