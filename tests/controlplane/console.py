"""The console on a real control plane: the API in front, sweep and sync run by hand, real time.

Everything goes the way of the product: jobs come in through the API, quotas and objects are written by the worker's
own functions under the three shipped accounts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import time_machine
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import Membership, Role, Team, User
from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.credentials import Account, seal_accounts
from clusters.backends.kueue_volcano.kubeconfig import parse_kubeconfig
from clusters.groups import groups_confirm_all
from clusters.models import Cluster, NodeGroup
from clusters.sync import cluster_sync
from jobs.logs import collect_logs
from jobs.models import Attempt, Job, JobSync, Run
from jobs.reconcile.loop import sweep
from quotas.models import TeamQueue
from quotas.services import quotas_apply, shares_set, team_queue_create
from tests.controlplane.nodes import NodeGroup as Machines
from tests.controlplane.plane import Plane

PATIENCE_SECONDS = 60.0
STEP_SECONDS = 0.15
PEOPLE = {
    "admin": (None, None),
    "lead-vision": ("vision", Role.LEAD),
    "eng-vision-1": ("vision", Role.ENGINEER),
    "lead-language": ("language", Role.LEAD),
    "eng-language-1": ("language", Role.ENGINEER),
}
BODY: dict[str, Any] = {"framework": "pytorch", "image": "registry.example/bert:1.0", "cards": 8, "priority": "normal"}


@dataclass
class Console:
    """Two teams on one cluster. ``group`` is the slug of its only node group."""

    plane: Plane
    cluster: Cluster
    teams: dict[str, Team]
    queues: dict[str, TeamQueue]
    group: NodeGroup

    # acts of people

    def api(self, username: str) -> APIClient:
        client = APIClient()
        client.force_authenticate(User.objects.get(username=username))
        return client

    def submit(self, username: str = "eng-vision-1", **body: Any) -> Job:
        """Through the API. Raises AssertionError with the answer if it is refused."""
        response = self.api(username).post("/api/v1/jobs", {**BODY, **body}, format="json")
        assert response.status_code == 201, response.content
        return Job.objects.get(public_id=response.json()["id"])

    def submit_in_turn(self, username: str = "eng-vision-1", **body: Any) -> Job:
        """Sent, and in a later second than all that is there: the gate orders by whole seconds."""
        time.sleep(1.0 - time.time() % 1.0)
        job = self.submit(username, **body)
        self.until_true(lambda: self.objects(job), lambda: self.shown(job))
        return job

    def operate(self, job: Job, operation: str, username: str = "lead-vision", **body: Any) -> Any:
        """An operation through the API; the answer's body."""
        response = self.api(username).post(f"/api/v1/jobs/{job.public_id}/{operation}", body, format="json")
        assert response.status_code in (200, 202), response.content
        return response.json()

    def shares(self, **percent: int) -> None:
        """Whole percents by team; applied at once."""
        points = {self.queues[team].pk: value * 100 for team, value in percent.items()}
        shares_set(actor=None, group=self.group, basis_points=points)
        self.apply_quotas()

    def apply_quotas(self) -> None:
        report = quotas_apply(self.cluster)
        assert report.failed == (), report.failed

    # what a worker does

    def look(self) -> bool:
        return cluster_sync(self.cluster)

    def work(self) -> None:
        """One look and one sweep, as the beat would ask for."""
        self.look()
        sweep()

    def until(self, job: Job, state: str, reason: str | None = None, *, seconds: float = PATIENCE_SECONDS) -> Job:
        """Work until the job is shown so."""
        return self.until_true(
            lambda: (
                found
                if (found := Job.objects.get(pk=job.pk)).state == state and reason in (None, found.reason_code)
                else None
            ),
            lambda: f"{state}/{reason}, but it is {self.shown(job)}",
            seconds=seconds,
        )

    def until_true(
        self, check: Callable[[], Any], what: Callable[[], str] | str, *, seconds: float = PATIENCE_SECONDS
    ) -> Any:
        """Work until ``check`` gives something; that."""
        deadline = time.monotonic() + seconds
        while not (found := check()):
            assert time.monotonic() < deadline, f"not within {seconds} s: {what if isinstance(what, str) else what()}"
            self.work()
            time.sleep(STEP_SECONDS)
        return found

    @contextmanager
    def later(self, **much: float) -> Iterator[None]:
        """The console's clock is ahead of the cluster's for the block, so that long waits are over at once."""
        with time_machine.travel(timezone.now() + timedelta(**much), tick=True):
            yield

    def collect_logs(self) -> None:
        collect_logs()

    # what the console knows

    def attempts(self, job: Job) -> list[Attempt]:
        return list(Attempt.objects.filter(job=job).order_by("number"))

    def runs(self, job: Job) -> list[Run]:
        """Of all attempts, in order."""
        return list(Run.objects.filter(attempt__job=job).order_by("attempt__number", "ordinal"))

    def facts(self, job: Job) -> dict[str, Any]:
        """Of the reason that is shown."""
        return Job.objects.get(pk=job.pk).reason_facts

    def shown(self, job: Job) -> str:
        found = Job.objects.get(pk=job.pk)
        sync = JobSync.objects.get(job=job)
        return f"{found.state}/{found.reason_code} {found.flags} {found.reason_facts} {sync.last_error}"

    # what is on the cluster

    def objects(self, job: Job, kind: names.Kind = names.JOBS) -> list[dict[str, Any]]:
        """Objects of one kind that carry the job's label."""
        selector = f"?labelSelector={names.JOB}={job.public_id.lower()}"
        return self.plane.client.items(kind.path() + selector)

    def pods(self, job: Job) -> list[dict[str, Any]]:
        return self.objects(job, names.PODS_KIND)

    def exit_pods(self, job: Job, code: int = 0, rank: int | None = None) -> None:
        """Running pods of the job end by themselves, all or one rank."""
        for pod in self.pods(job):
            index = int(pod["metadata"]["labels"].get(names.COMPLETION_INDEX, 0))
            if pod["status"].get("phase") == "Running" and rank in (None, index):
                self.plane.exit_pod(pod["metadata"]["namespace"], pod["metadata"]["name"], code)

    def wait_for_pods(self, job: Job, phase: str = "Running") -> None:
        """Without any work of the console: the schedulers alone bring all its pods so far."""
        self.plane.wait_for(
            lambda: len(pods := self.pods(job)) == job.pods and all(pod["status"]["phase"] == phase for pod in pods),
            f"{job.display_name} has {job.pods} {phase} pods",
        )

    def wait_for_quota(self, **cards: int) -> None:
        """Without any work of the console: the gate counts so many cards as held by each of these teams."""
        wanted = {names.cluster_queue(team): count for team, count in cards.items()}
        self.plane.wait_for(lambda: wanted.items() <= self.held_quota().items(), f"held are {cards}")

    def until_free(self) -> None:
        """Work until no card is held any more: the quota of everything that ended is given back."""
        self.until_true(lambda: not any(self.held_quota().values()), lambda: f"quota is held: {self.held_quota()}")

    def held_quota(self) -> dict[str, int]:
        """Cards that Kueue counts as reserved, by ClusterQueue."""
        found = {}
        for queue in self.plane.client.items(names.CLUSTER_QUEUES.path()):
            flavors = queue.get("status", {}).get("flavorsReservation", [])
            found[queue["metadata"]["name"]] = sum(
                int(resource["total"])
                for flavor in flavors
                for resource in flavor["resources"]
                if resource["name"] == self.group.resource
            )
        return found


def connect(plane: Plane, slug: str = "real", *, is_default: bool = True, **settings: Any) -> Cluster:
    """A cluster row for this plane under the shipped accounts."""
    accounts = {
        account: parse_kubeconfig(plane.kubeconfig(account.value).read_bytes())  # type: ignore[arg-type]
        for account in (Account.RUNTIME, Account.QUOTA)
    }
    return Cluster.objects.create(
        slug=slug,
        name=slug.title(),
        kind="kueue_volcano",
        is_default=is_default,
        credentials=seal_accounts(accounts),
        settings=settings,
    )


def open_console(
    plane: Plane, *, nodes: int = 4, cards: int = 8, shares: tuple[int, int] = (50, 50), **settings: Any
) -> Console:
    """Two teams with shares of a cluster of equal nodes, connected and looked at, quotas in place."""
    plane.reset(Machines("h100", count=nodes, cards=cards))
    cluster = connect(plane, **settings)
    assert cluster_sync(cluster), Cluster.objects.get(pk=cluster.pk).sync_error
    cluster.refresh_from_db()
    assert groups_confirm_all(actor=None, cluster=cluster) == 1
    teams = {
        slug: Team.objects.create(slug=slug, name=slug.title(), space=f"slu-{slug}-000000")
        for slug in ("vision", "language")
    }
    for username, (team, role) in PEOPLE.items():
        user = User.objects.create_user(username, password="correct horse battery", is_platform_admin=team is None)
        if team is not None:
            Membership.objects.create(user=user, team=teams[team], role=role)
    queues = {slug: team_queue_create(actor=None, team=team, cluster=cluster) for slug, team in teams.items()}
    group = cluster.groups.get()
    console = Console(plane, cluster, teams, queues, group)
    console.shares(vision=shares[0], language=shares[1])
    return console
