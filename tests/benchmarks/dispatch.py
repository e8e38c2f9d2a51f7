"""B14: jobs handed to a worker: our claims of whole batches, beside one Celery task for each job."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import redis
from celery import Celery

from console.embedded.children import WORKER_THREADS
from console.settings.environment import celery_broker_url
from tests.benchmarks import stack
from tests.benchmarks.database import Servers, durable_servers
from tests.benchmarks.measure import Row, Spread

JOBS, TASKS, ROUNDS = 20_000, 2_000, 5
QUEUE = "bench"
GOAL = 10
PATIENCE_SECONDS = 120.0


def rows() -> Iterator[Row]:
    with durable_servers() as servers:
        more = {"SUPERUSER_URL": servers.superuser_url}
        stack.told_by("history", str(JOBS), "1000", servers=servers, **more)
        ours, theirs = [], []
        with _celery_worker(servers) as broker:
            for _ in range(ROUNDS):
                ours.append(JOBS / stack.told_by("claims", str(JOBS), servers=servers))
                theirs.append(TASKS / _tasks_done(servers, broker))
    ratio = Spread(tuple(a / b for a, b in zip(ours, theirs, strict=True)))
    what = f"{JOBS:,} due jobs claimed in batches; reference: a Celery task for each job, sent and taken ({TASKS:,})"
    mine, reference = f"{Spread(tuple(ours)):.0f}/s", f"{Spread(tuple(theirs)):.0f}/s"
    yield Row("B14", what, mine, reference, f"{ratio:.0f}", f">= {GOAL}", ratio.median >= GOAL, gauge=ratio.median)


@contextmanager
def _celery_worker(servers: Servers) -> Iterator[Celery]:
    """A worker as the console's, for tasks that do nothing."""
    env = stack.environment(servers)
    app = Celery("bench", broker=celery_broker_url(servers.redis_url))
    command = [sys.executable, "-m", "celery", "--app", "tests.benchmarks.nothing", "worker", "--pool", "threads"]
    command += ["--concurrency", str(WORKER_THREADS), "--queues", QUEUE, "--loglevel", "ERROR"]
    command += ["--without-mingle", "--without-gossip"]
    with subprocess.Popen(command, env=env, cwd=stack.ROOT) as worker:
        try:
            _tasks_done(servers, app, count=20)
            yield app
        finally:
            worker.terminate()


def _tasks_done(servers: Servers, app: Celery, count: int = TASKS) -> float:
    """Seconds until so many tasks were sent and are done: none waits, and none is unacknowledged."""
    broker = redis.Redis.from_url(servers.redis_url)
    begun = time.perf_counter()
    for number in range(count):
        app.send_task("bench.nothing", args=(number,), queue=QUEUE, ignore_result=True)
    while broker.llen(QUEUE) or broker.hlen("unacked"):
        assert time.perf_counter() - begun < PATIENCE_SECONDS, "the worker is not at work"
        time.sleep(0.005)
    return time.perf_counter() - begun
