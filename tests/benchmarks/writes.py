"""B1: jobs are acknowledged, and their objects made, at a real API server with the real schedulers behind it.

Nothing starts: another team holds every card. All sides write the same manifests as the same account, in turn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.manifests import job_manifest, pod_group_manifest
from clusters.backends.kueue_volcano.settings import shape_of
from clusters.contract import WorkloadSpec
from clusters.supplies import supplies_of
from jobs.models import Attempt, Job, JobSync
from jobs.reconcile.load import Loaded, load
from jobs.reconcile.loop import sweep
from jobs.specs import workload_spec
from tests.benchmarks.measure import Meter, Row, Sample, Spread, seconds
from tests.controlplane.api import Client
from tests.controlplane.console import BODY, Console, open_console
from tests.controlplane.plane import throw_away_plane

ACKNOWLEDGED, AT_ONCE = 2_000, 100
JOBS, FEW, ROUNDS, WIDTH = 200, 40, 3, 16


def rows() -> Iterator[Row]:
    with throw_away_plane() as plane:
        console = open_console(plane, nodes=2)
        busy = console.submit("eng-language-1", cards=16)
        console.until(busy, "running")
        meter = Meter(others=_of_the_plane())
        official = Official(console)
        yield _acknowledged(meter, console, official)
        yield from _made(meter, console, official)


def _of_the_plane() -> set[int]:
    """The processes of the control plane; both sides make it work, so its time is not compared."""
    children = psutil.Process().children(recursive=True)
    return {child.pid for child in children if "controlplane" in " ".join(child.cmdline())}


# --------------------------------------------------------------------------- B1a


def _acknowledged(meter: Meter, console: Console, official: Official) -> Row:
    """Stored for good, in bulk requests; by the official client, made one after the other."""
    ours, theirs = [], []
    for _ in range(ROUNDS):
        sample = meter.once(lambda: submit(console, ACKNOWLEDGED))
        ours.append(ACKNOWLEDGED / sample.wall)
        specs = specs_of(parked(submit(console, FEW)))
        sample = meter.once(lambda: official.make(specs, gangs=False))  # noqa: B023
        theirs.append(FEW / sample.wall)
        park_all()
    ratio = Spread(tuple(a / b for a, b in zip(ours, theirs, strict=True)))
    what = f"{ACKNOWLEDGED:,} jobs acknowledged, {AT_ONCE} a request; reference: a loop of the official client's create"
    mine, reference = Spread(tuple(ours)), Spread(tuple(theirs))
    return Row("B1a", what, f"{mine:.0f}/s", f"{reference:.1f}/s", f"{ratio:.0f}", ">= 100", ratio.median >= 100)


def submit(console: Console, count: int) -> list[str]:
    """Through the API, as one engineer; the ULIDs of the jobs."""
    client = console.api("eng-vision-1")
    ulids: list[str] = []
    while len(ulids) < count:
        body = {"jobs": [BODY] * min(AT_ONCE, count - len(ulids))}
        answer = client.post("/api/v1/jobs/bulk", body, format="json")
        assert answer.status_code == 201, answer.content
        ulids += [entry["job"]["id"] for entry in answer.json()["results"]]
    return ulids


def parked(ulids: Sequence[str]) -> list[str]:
    """These jobs are not the loop's business."""
    JobSync.objects.filter(job_ulid__in=ulids).update(due_at=None)
    return list(ulids)


def park_all() -> None:
    JobSync.objects.update(due_at=None)


def specs_of(ulids: Sequence[str]) -> list[WorkloadSpec]:
    found = load(list(Job.objects.filter(public_id__in=ulids).values_list("pk", flat=True)))
    supplies = supplies_of({(each.job.cluster_id, each.job.team_id) for each in found})
    return [
        workload_spec(each.job, each.attempt, supplies[each.job.cluster_id, each.job.team_id])
        for each in found
        if isinstance(each, Loaded)
    ]


# --------------------------------------------------------------------------- B1c, B1d


def _made(meter: Meter, console: Console, official: Official) -> Iterator[Row]:
    """Objects in the cluster: a Job and its PodGroup for each job."""
    raw = Raw(console)
    ours: list[Sample] = []
    bare: list[Sample] = []
    slow: list[Sample] = []
    for number in range(ROUNDS + 1):
        park_all()
        ulids = submit(console, JOBS)
        sample = meter.once(lambda: sweep_all(ulids))  # noqa: B023
        specs = specs_of(parked(submit(console, JOBS)))
        raw_sample = meter.once(lambda: raw.make(specs))  # noqa: B023
        few = specs_of(parked(submit(console, FEW)))
        official_sample = meter.once(lambda: official.make(few))  # noqa: B023
        if number:  # the first warms up
            ours.append(sample)
            bare.append(raw_sample)
            slow.append(Sample(official_sample.wall * JOBS / FEW, official_sample.cpu * JOBS / FEW))
    made = console.plane.client.items(f"{names.JOBS.path('slu-vision-000000')}?limit=100000")
    assert len(made) >= (2 * JOBS + FEW) * (ROUNDS + 1), len(made)
    ratio = Spread(tuple(b.wall / a.wall for a, b in zip(ours, bare, strict=True)))
    what = f"{JOBS} jobs as objects in the cluster; reference: a raw {WIDTH}-way writer of the same bytes"
    yield Row("B1c", what, seconds(ours), seconds(bare), f"{ratio:.2f}", ">= 0.85", ratio.median >= 0.85)
    ratio = Spread(tuple(b.wall / a.wall for a, b in zip(ours, slow, strict=True)))
    what = f"the same; reference: the official client in a loop ({FEW} jobs, times {JOBS // FEW})"
    yield Row("B1d", what, seconds(ours), seconds(slow), f"{ratio:.1f}", ">= 5", ratio.median >= 5)


def sweep_all(ulids: Sequence[str]) -> None:
    """The product's loop until all are sent."""
    while sweep():
        pass
    assert Attempt.objects.filter(job__public_id__in=ulids, submitted_at=None).count() == 0


class Raw:
    """What a writer takes that knows what to write: prepared bytes, connections kept open, nothing read but the uid."""

    def __init__(self, console: Console) -> None:
        self._client: Client = console.plane.client_of("runtime")
        self._shape = shape_of(console.cluster)
        self._pool = ThreadPoolExecutor(WIDTH)

    def make(self, specs: Sequence[WorkloadSpec]) -> None:
        bodies = [
            (
                spec.space,
                json.dumps(job_manifest(spec, self._shape)).encode(),
                json.dumps(pod_group_manifest(spec, self._shape, "@uid@")).encode(),
            )
            for spec in specs
        ]
        list(self._pool.map(lambda body: self._one(*body), bodies))

    def _one(self, space: str, job: bytes, gang: bytes) -> None:
        status, answer = self._client.raw("POST", names.JOBS.path(space), job)
        assert status == 201, answer
        uid = json.loads(answer)["metadata"]["uid"]
        status, answer = self._client.raw("POST", names.POD_GROUPS.path(space), gang.replace(b"@uid@", uid.encode()))
        assert status == 201, answer


class Official:
    """The official client in a loop, as its documentation shows it."""

    def __init__(self, console: Console) -> None:
        from kubernetes import client, config

        config.load_kube_config(str(console.plane.kubeconfig("runtime")))
        self._batch, self._custom = client.BatchV1Api(), client.CustomObjectsApi()
        self._shape = shape_of(console.cluster)

    def make(self, specs: Sequence[WorkloadSpec], *, gangs: bool = True) -> None:
        for spec in specs:
            made: Any = self._batch.create_namespaced_job(spec.space, job_manifest(spec, self._shape))
            if gangs:
                self._gather(spec, made.metadata.uid)

    def _gather(self, spec: WorkloadSpec, uid: str) -> None:
        kind = names.POD_GROUPS
        manifest = pod_group_manifest(spec, self._shape, uid)
        self._custom.create_namespaced_custom_object(kind.group, kind.version, spec.space, kind.plural, manifest)
