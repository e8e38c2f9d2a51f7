"""Every address of the console, every method, seven kinds of people: the matrix holds, and nothing lies outside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from accounts.models import Membership
from accounts.services import token_create
from clusters.models import AcceleratorName, Cluster, NodeGroup, Notice
from clusters.nodes_models import Maintenance
from clusters.supply_services import dataset_set, registry_set, variables_set
from common.ids import new_ulid
from jobs.models import Attempt, Job
from jobs.services.submit import job_submit
from quotas.models import LocalQueue
from tests.cast import Cast, build_cast
from tests.policy.addresses import ACTORS, MATRIX, SOON, Row
from tests.proposals import proposed_group

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
LOCAL_QUEUE = ("api:queue", "api:queue-hold", "api:queue-drain", "api:queue-reopen")
SUPPLIES = ("team:supplies", "admin_console:supplies", "api:supplies", "api:team-rules", "api:storage")
PLAN_PARTS = ("", "-recount", "-versions", "-take-over", "-adopt")
ADOPTING = ("cluster-mode", "found-queues", "found-queues-look", "found-queues-adopt")
GROUP_ACTS = ("confirm", "aside", "propose")
NODE_ACTS = ("cordon", "uncordon", "trust")
OPERATORS = "admin"  # namespace of Django's own admin, one rule for all of it


def addresses(resolver: URLResolver | None = None, namespace: str = "") -> Iterator[str]:
    """Names of all addresses with their namespaces, but for Django's own admin."""
    for entry in (resolver or get_resolver()).url_patterns:
        if isinstance(entry, URLPattern):
            yield f"{namespace}{entry.name}"
        elif entry.namespace != OPERATORS:
            yield from addresses(entry, f"{namespace}{entry.namespace}:" if entry.namespace else namespace)


class Scene:
    """The things that are asked about: a job and a token of the owner, the team Vision, one of its members."""

    def __init__(self, cast: Cast) -> None:
        owner = cast.actor("eng-vision-1")
        body = {"framework": "pytorch", "image": "registry.example/bert:1", "cards": 8, "priority": "normal"}
        self.cast = cast
        self.job = job_submit(actor=owner, data=body).job
        token, _text = token_create(actor=owner, name="script")
        session = UserSession.objects.create(user=owner.user, ip="192.0.2.7", session_key="k" * 32, user_agent="")
        member = Membership.objects.get(user=cast.users["eng-vision-2"])
        notice = Notice.objects.create(
            cluster=cast.cluster,
            source="preflight",
            subject="gate_runs",
            facts={"before": "ok", "after": "missing", "problem": "gate_stopped", "facts": {}},
            opened_at=timezone.now(),
        )
        change = {"queue": "vision", "node_group": "h100", "field": "nominal", "planned": 2, "found": 1}
        Notice.objects.create(
            cluster=cast.cluster,
            source="drift",
            subject="quotas",
            facts={"changes": [change], "by": ["kubectl-edit"], "at": None, "decided": ""},
            opened_at=timezone.now(),
        )
        far = Cluster.objects.create(slug="far", name="Far", kind="kueue_volcano")  # connected, and silent for ever
        AcceleratorName.objects.create(
            cluster=cast.cluster,
            resource="example.com/tpu",
            vendor="example",
            card_model="TPU",
            named_at=timezone.now(),
        )
        lead, place = cast.actor("lead-vision"), {"cluster": cast.cluster, "team": cast.teams["vision"]}
        dataset_set(actor=cast.actor("admin"), **place, name="imagenet", volume="data")
        variables_set(actor=lead, **place, name="wandb", values={"A": "1"})
        registry_set(actor=lead, **place, name="harbor", server="registry.example", username="robot", password="x")
        LocalQueue.objects.create(queue=cast.queues["vision"], slug="night", name="Night")
        NodeGroup.objects.create(
            cluster=far, slug="slices", title="Slices", vendor="nvidia", card_model="A100", sharing="mig", unit="slice",
            cards_per_node=14,
        )  # fmt: skip
        proposed_group(far, "fresh")
        maintenance = Maintenance.objects.create(
            cluster=cast.cluster,
            node="h100-01",
            starts_at=timezone.now() + timedelta(days=1),
            ends_at=timezone.now() + timedelta(days=2),
            reason="a fan",
            created_at=timezone.now(),
        )
        self.arguments: dict[str, dict[str, Any]] = {
            "accounts:token_revoke": {"public_id": token.public_id},
            "accounts:session_end": {"pk": session.pk},
            "api:token": {"public_id": token.public_id},
            "jobs:operate": {"public_id": self.job.public_id, "operation": "cancel"},
            "team:overview": {"team": "vision"},
            "team:jobs": {"team": "vision"},
            "team:queues": {"team": "vision"},
            **{name: {"team": "vision"} for name in SUPPLIES},
            "api:dataset": {"team": "vision", "name": "imagenet"},
            "api:variables": {"team": "vision", "name": "wandb"},
            "api:registry": {"team": "vision", "name": "harbor"},
            "admin_console:member_remove": {"pk": member.pk},
            "admin_console:cluster_credentials": {"cluster": far.slug},
            "admin_console:cluster_forget": {"cluster": far.slug},
            **{f"admin_console:{name}": {"cluster": far.slug} for name in ("adoption", "manage", "stop_managing")},
            **{f"api:{name}": {"cluster": far.slug} for name in ADOPTING},
            "admin_console:preflight": {"cluster": cast.cluster.slug},
            **{f"admin_console:{name}": {"cluster": cast.cluster.slug} for name in ("conflicts", "take_over", "adopt")},
            "admin_console:node_act": {"cluster": cast.cluster.slug, "node": "h100-01", "act": "cordon"},
            "admin_console:maintenance_cancel": {"public_id": maintenance.public_id},
            "api:maintenance-cancel": {"public_id": maintenance.public_id},
            **{f"api:node-{act}": {"cluster": cast.cluster.slug, "node": "h100-01"} for act in NODE_ACTS},
            "admin_console:notice_seen": {"pk": notice.pk},
            "api:cluster-preflight": {"cluster": cast.cluster.slug},
            "admin_console:accelerators": {"cluster": cast.cluster.slug},
            "api:accelerators": {"cluster": cast.cluster.slug},
            "api:accelerator-name": {"cluster": cast.cluster.slug, "resource": "example.com/tpu"},
            "api:water-level": {"cluster": cast.cluster.slug},
            "api:water-level-history": {"cluster": cast.cluster.slug},
            "admin_console:groups": {"cluster": far.slug},
            "admin_console:group": {"cluster": far.slug, "group": "fresh"},
            "api:node-groups": {"cluster": far.slug},
            "api:node-group": {"cluster": cast.cluster.slug, "group": "h100"},
            **{f"api:node-group-{act}": {"cluster": far.slug, "group": "fresh"} for act in GROUP_ACTS},
            "api:notice-seen": {"pk": notice.pk},
            "api:cluster": {"cluster": far.slug},
            "api:cluster-credentials": {"cluster": far.slug},
            **{name: {"queue": "vision", "local": "night"} for name in LOCAL_QUEUE},
            "api:quotas-of-queue": {"queue": "vision"},
            "api:quotas-of-local-queue": {"queue": "vision", "local": "default"},
            **{f"api:quota-plan{part}": {"cluster": cast.cluster.slug} for part in PLAN_PARTS},
            "admin_console:sharing": {"cluster": far.slug, "group": "slices"},
            "api:sharing": {"cluster": far.slug, "group": "slices"},
            "admin_console:plan": {"cluster": cast.cluster.slug},
            "admin_console:plan_history": {"cluster": cast.cluster.slug},
            "admin_console:plan_recount": {"cluster": cast.cluster.slug},
            "admin_console:plan_restore": {"cluster": cast.cluster.slug, "number": 1},
            "api:quota-plan-restore": {"cluster": cast.cluster.slug, "number": 1},
            "api:shares": {"cluster": cast.cluster.slug, "group": "h100"},
            "api:member": {"team": "vision", "username": "eng-vision-2"},
            "api:person-disable": {"username": "eng-robotics-1"},
            "api:person-enable": {"username": "eng-robotics-1"},
        }

    def address(self, name: str, *, missing: bool = False) -> str:
        """The address of a thing, or of one of the same kind that does not exist."""
        known = self.arguments.get(name)
        if known is None:
            about_a_job = name.startswith(("jobs:", "api:job")) and name not in {
                "jobs:list",
                "jobs:submit",
                "jobs:preview",
                "jobs:bulk",
                "api:jobs",
                "api:jobs-bulk",
                "api:jobs-bulk-operate",
            }
            known = {"public_id": self.job.public_id} if about_a_job else {}
        if missing:
            known = {key: self._missing(key, value) for key, value in known.items()}
        return reverse(name, kwargs=known)

    def _missing(self, key: str, value: Any) -> Any:
        return {"public_id": new_ulid(), "team": "nobody", "pk": 2**31 - 1}.get(key, value)

    def bring_job_to(self, state: str) -> None:
        if state == "failed":
            Job.objects.filter(pk=self.job.pk).update(state="failed")
            Attempt.objects.filter(job=self.job).update(end="failed")
        elif state == "running":
            Job.objects.filter(pk=self.job.pk).update(state="running")
        elif state == "held":
            Job.objects.filter(pk=self.job.pk).update(held=True)

    def client(self, actor: str) -> Client:
        client = Client(headers={"accept-language": "en"})
        if (username := ACTORS[actor]) is not None:
            client.force_login(self.cast.users[username], backend="allauth.account.auth_backends.AuthenticationBackend")
        return client

    def ask(self, actor: str, method: str, address: str, body: dict[str, Any]) -> HttpResponse:
        """The answer, without anything it changed."""
        options: dict[str, Any] = {}
        if method != "GET":
            soon = (timezone.now() + timedelta(minutes=10)).isoformat()
            options["data"] = {name: soon if value == SOON else value for name, value in body.items()}
            if address.startswith("/api/"):
                options["content_type"] = "application/json"
        with transaction.atomic():
            response = getattr(self.client(actor), method.lower())(address, **options)
            transaction.set_rollback(True)
        return response  # type: ignore[no-any-return]


@pytest.fixture
def scene(db: None) -> Scene:
    return Scene(build_cast())


def test_the_matrix_has_a_row_for_every_address_and_no_other() -> None:
    assert sorted(MATRIX) == sorted(addresses())


ROWS = [(name, method) for name, rows in MATRIX.items() for method in rows]


@pytest.mark.parametrize(("name", "method"), ROWS, ids=[f"{method} {name}" for name, method in ROWS])
def test_everybody_gets_what_the_matrix_says(scene: Scene, name: str, method: str) -> None:
    row = MATRIX[name][method]
    scene.bring_job_to(row.job)
    found = {actor: scene.ask(actor, method, scene.address(name), row.body) for actor in ACTORS}
    statuses = {actor: response.status_code for actor, response in found.items()}
    assert statuses == dict(zip(ACTORS, row.statuses, strict=True))
    if row.hidden:
        assert_hidden_is_missing(scene, name, method, row, found)


def assert_hidden_is_missing(scene: Scene, name: str, method: str, row: Row, found: dict[str, HttpResponse]) -> None:
    """What one may not see answers exactly as what does not exist."""
    for actor, response in found.items():
        if response.status_code == 404:
            missing = scene.ask(actor, method, scene.address(name, missing=True), row.body)
            assert missing.status_code == 404
            assert _told(missing) == _told(response)


def _told(response: HttpResponse) -> bytes:
    """The body without what differs between any two answers: the address asked for, tokens against forgery, nonces."""
    lines = re.sub(rb' nonce="[^"]*"', b"", response.content).splitlines()
    return b"\n".join(line for line in lines if b"csrf" not in line.lower() and b'name="next"' not in line)


@pytest.mark.parametrize("name", sorted(MATRIX))
def test_a_method_without_a_row_does_nothing_for_anybody(scene: Scene, name: str) -> None:
    rows = Job.objects.count()
    for method in METHODS:
        if method in MATRIX[name]:
            continue
        for actor in ACTORS:
            status = scene.ask(actor, method, scene.address(name), {}).status_code
            assert status in {302, 401, 403, 404, 405}, (method, actor, status)
    assert Job.objects.count() == rows


@pytest.mark.parametrize("actor", list(ACTORS))
def test_only_platform_admins_enter_the_operators_pages(scene: Scene, actor: str) -> None:
    response = scene.ask(actor, "GET", reverse("admin:index"), {})
    assert response.status_code == (200 if actor == "admin" else 302)
