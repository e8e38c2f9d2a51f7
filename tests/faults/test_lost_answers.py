"""R2: the cluster did as it was asked, and its answer was lost. Whoever asks again finds what is there already."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from random import Random
from typing import Any

import pytest

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.client import KubeClient
from clusters.backends.kueue_volcano.credentials import Account, Connection
from clusters.backends.kueue_volcano.objects import Objects
from clusters.contract import Retryable
from jobs.domain.operations import Operation
from jobs.models import Attempt, Job, JobSync
from jobs.services.operations import job_operate
from tests.api_server import TOKENS, ApiServer, server
from tests.faults.invariants import at_rest
from tests.faults.seeds.cluster import Trouble
from tests.faults.seeds.house import House, open_house

__all__ = ["server"]

TRIALS = 1_000
JOBS, TOGETHER = 400, 100


@pytest.fixture
def house(db: None, caplog: pytest.LogCaptureFixture) -> Iterator[House]:
    caplog.set_level(logging.CRITICAL)
    with open_house() as house:
        yield house


@pytest.mark.timeout(300)
def test_a_thousand_lost_answers_make_no_object_twice_and_lose_none(house: House) -> None:
    """R2: 0 duplicates in 1,000 trials: answers to submits, stops and holds of jobs that people act on."""
    rng = Random(2)
    lost = Counter[str]()

    def trouble(call: str) -> Trouble | None:
        if call not in {"submit", "stop", "hold"} or rng.random() < 0.4:
            return None
        lost[call] += 1
        return Trouble.GATEWAY

    for first in range(0, JOBS, TOGETHER):
        house.trouble = trouble
        jobs = [house.submit(command="sleep 600") for _ in range(TOGETHER)]
        house.run(12, step=3)
        wishes = {job.pk: rng.choice((Operation.CANCEL, Operation.REQUEUE, Operation.HOLD)) for job in jobs}
        for job in jobs:
            job_operate(actor=house.scene.actors["ada"], job=job, operation=wishes[job.pk])
        house.run(12, step=3)
        for job in Job.objects.filter(pk__in=wishes).exclude(desired="cancel"):
            job_operate(actor=house.scene.actors["ada"], job=job, operation=Operation.CANCEL)
        house.run(60, step=10)
        house.trouble = lambda _call: None
        house.run(180, step=30)
        assert set(Job.objects.filter(pk__in=wishes).values_list("state", flat=True)) == {"cancelled"}, first
        assert house.cluster.world.workloads == {}

    assert sum(lost.values()) >= TRIALS and min(lost.values()) > 50
    births = Counter(house.cluster.born)
    assert max(births.values()) == 1
    requeued = Attempt.objects.filter(number=2).count()
    assert requeued > JOBS / 10
    assert len(births) <= Attempt.objects.count() == JOBS + requeued
    assert not JobSync.objects.filter(failures__gt=0).exists()
    assert at_rest()


class Shelf:
    """Keeps what is made at an API server, and hangs up instead of answering as often as it is told to."""

    def __init__(self, server: ApiServer) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.hang_ups = 0
        self.made = 0
        server.answer = self._answer  # type: ignore[method-assign]

    def _answer(self, handler: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        path = handler.path.split("?")[0]
        if handler.command == "GET":
            found = self.objects.get(path)
            return self._json(200, found) if found else self._json(404, {"reason": "NotFound"})
        manifest = self._manifest
        path = f"{path}/{manifest['metadata']['name']}"
        if path in self.objects:
            return self._json(409, {"kind": "Status", "reason": "AlreadyExists"})
        self.made += 1
        self.objects[path] = {**manifest, "metadata": {**manifest["metadata"], "uid": f"uid-{self.made}"}}
        if self.hang_ups:
            self.hang_ups -= 1
            raise ConnectionAbortedError("hung up")
        return self._json(201, self.objects[path])

    def expect(self, manifest: dict[str, Any]) -> None:
        """What is made next; the server itself has thrown the body away."""
        self._manifest = manifest

    @staticmethod
    def _json(status: int, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        return status, {"Content-Type": "application/json"}, json.dumps(body).encode()


def _manifest(ulid: str, attempt: int) -> dict[str, Any]:
    labels = {names.INSTALLATION: "here", names.JOB: ulid.lower(), names.ATTEMPT: str(attempt)}
    return {"metadata": {"namespace": "slu-vision", "name": f"j-{ulid.lower()}-{attempt}", "labels": labels}}


def test_an_object_whose_creation_was_never_answered_is_found_and_adopted(server: ApiServer) -> None:
    """R2 through the HTTP client: the API server hangs up after the deed."""
    shelf = Shelf(server)
    client = KubeClient(
        Connection("127.0.0.1", server.port, "127.0.0.1", server.ca.certificate, token=TOKENS[Account.RUNTIME])
    )
    objects = Objects(client, "here")
    for trial in range(25):
        manifest = _manifest(f"01TRIAL{trial}", 1)
        shelf.expect(manifest)
        shelf.hang_ups = 1
        tries, uid = 0, ""
        while not uid and tries < 10:
            tries += 1
            try:
                uid = objects.make(names.JOBS, manifest, f"01TRIAL{trial}", 1)
            except Retryable as error:
                assert error.code == "unreachable"
                assert shelf.made == trial + 1, "the deed was done"
        assert (tries, uid) == (2, f"uid-{trial + 1}")
    assert shelf.made == len(shelf.objects) == 25
    client.close()
