"""A house with something in every room, and a way into it for each role: what the fuzz asks its questions about."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from accounts.services import token_create
from clusters.accelerator_models import AcceleratorName
from clusters.conflicts import drift
from clusters.models import Cluster, Notice
from clusters.nodes_models import Maintenance, NodeCordon, NodeSuspicion
from clusters.supply_services import dataset_set, registry_set, variables_set
from jobs.models import Attempt, Job
from quotas.models import LocalQueue, QuotaVersion
from tests.cast import build_cast
from tests.proposals import proposed_group
from tests.slices import add_slices
from tests.stage import BODY, Stage

ROLES = {
    "anonymous": None,
    "engineer": "eng-vision-1",
    "another team's engineer": "eng-language-1",
    "lead": "lead-vision",
    "another team's lead": "lead-language",
    "admin": "admin",
}


@dataclass(frozen=True)
class Scene:
    """What a question can be about. The things that are asked about are mostly the engineer's and of the team Vision.

    ``headers``: by role, what signs a request. ``known``: by the name of a parameter or field, values that name
    something. ``bodies``: by operation, a body that is right for somebody.
    """

    headers: dict[str, dict[str, str]]
    known: dict[str, list[Any]]
    bodies: dict[str, Any]


def build_scene() -> Scene:
    """Put everything on stage in an empty database."""
    cast = build_cast()
    with Stage(cast) as stage:
        add_slices(cast)
        running = stage.submit(name="runs", card_model="h100", env={"SEED": "1"})
        service = stage.submit(kind="inference", framework="pytorch", cards=1, replicas=2, name="serves")
        stage.run(40, 10)
        queued = stage.submit(cards=32, card_model="h100", name="waits")
        held = stage.submit(name="held")
        failed = stage.submit(name="failed")
        foreign = stage.submit("eng-language-1", name="another team's")
        stage.settle()
    Job.objects.filter(pk=held.pk).update(held=True)
    Job.objects.filter(pk=failed.pk).update(state="failed", ended_at=timezone.now())
    Attempt.objects.filter(job=failed).update(end="failed", end_reason="app_exit", end_facts={"exit_code": 1})
    far = Cluster.objects.create(slug="far", name="Far", kind="kueue_volcano")  # connected, and silent for ever
    proposed_group(far, "fresh")
    notice = Notice.objects.create(
        cluster=cast.cluster,
        source="preflight",
        subject="gate_runs",
        facts={"before": "ok", "after": "missing", "problem": "gate_stopped", "facts": {}},
        opened_at=timezone.now(),
    )
    Notice.objects.create(
        cluster=cast.cluster, source="drift", subject=drift.SUBJECT, facts=_set_outside(), opened_at=timezone.now()
    )
    AcceleratorName.objects.create(
        cluster=cast.cluster, resource="example.com/tpu", vendor="example", card_model="TPU", named_at=timezone.now()
    )
    maintenance = _care_for_nodes(cast.cluster)
    place: dict[str, Any] = {"cluster": cast.cluster, "team": cast.teams["vision"]}
    dataset_set(actor=cast.actor("admin"), **place, name="imagenet", volume="data")
    variables_set(actor=cast.actor("lead-vision"), **place, name="wandb", values={"A": "1"})
    registry_set(
        actor=cast.actor("lead-vision"), **place, name="harbor", server="registry.example", username="u", password="p"
    )
    LocalQueue.objects.create(queue=cast.queues["vision"], slug="night", name="Night")
    headers: dict[str, dict[str, str]] = {"anonymous": {}}
    tokens = []
    for role, username in ROLES.items():
        if username is not None:
            token, text = token_create(actor=cast.actor(username), name="fuzz")
            headers[role] = {"Authorization": f"Token {text}"}
            tokens.append(token.public_id)
    jobs = [job.public_id for job in (running, service, queued, held, failed, foreign)]
    known: dict[str, list[Any]] = {
        "public_id": jobs,
        "jobs_preempt.public_id": [running.public_id],
        "jobs_scale.public_id": [service.public_id],
        "tokens_revoke.public_id": tokens,
        "maintenance_cancel.public_id": [maintenance.public_id],
        "node": ["h100-01"],
        "node_uncordon.node": ["h100-02"],
        "node_trust.node": ["h100-03"],
        "id": [notice.pk],
        "team": ["vision", "language"],
        "name": ["imagenet", "wandb", "harbor"],
        "cluster": ["sandbox", "far"],
        "resource": ["example.com/tpu"],
        "group": ["h100", "ascend-910b"],
        **{f"node_group_{act}.cluster": ["far"] for act in ("confirm", "aside", "back")},
        **{f"node_group_{act}.group": ["fresh"] for act in ("confirm", "aside", "back")},
        **{f"{act}.cluster": ["sandbox"] for act in ("sharing", "sharing_save")},
        **{f"{act}.group": ["slices"] for act in ("sharing", "sharing_save")},
        "username": ["eng-vision-1", "eng-vision-2", "lead-language"],
        "card_model": ["h100", "a100"],
        "beneficiary": jobs,
        "ids": [jobs, jobs[:1]],
        "state": ["running", "queued"],
        "owner": ["me"],
        "number": [1, 2],
        "level": ["team", "local", "cluster"],
        "queue": ["vision", "language"],
        "local": ["night", "default"],
        "pod": ["0", "1"],
        "attempt": [1],
        "cursor": ["", "0"],
    }
    return Scene(headers, known, _bodies(jobs, QuotaVersion.objects.filter(cluster=cast.cluster).count()))


def _set_outside() -> dict[str, Any]:
    """Somebody gave the team Vision twelve of its thirteen cards."""
    change = {"queue": "vision", "node_group": "h100", "field": "nominal", "planned": 13, "found": 12}
    return {"changes": [change], "by": ["kubectl-edit"], "at": timezone.now().isoformat(), "decided": ""}


def _care_for_nodes(cluster: Cluster) -> Maintenance:
    """One node is closed, one is suspected, and maintenance of another is planned."""
    now = timezone.now()
    NodeCordon.objects.create(cluster=cluster, node="h100-02", reason="a fan", cordoned_at=now)
    NodeSuspicion.objects.create(cluster=cluster, node="h100-03", since=now)
    times = {"created_at": now, "starts_at": now + timedelta(days=1), "ends_at": now + timedelta(days=2)}
    return Maintenance.objects.create(cluster=cluster, node="h100-04", reason="firmware", **times)


def _bodies(jobs: list[str], version: int) -> dict[str, Any]:
    return {
        "jobs_submit": BODY,
        "jobs_submit_many": {"jobs": [BODY, {**BODY, "name": "second"}]},
        "jobs_operate_many": {"operation": "cancel", "ids": jobs},
        "jobs_preempt": {"beneficiary": jobs[2]},
        "jobs_priority": {"priority": "low"},
        "jobs_scale": {"replicas": 3},
        "me_edit": {"language": "en", "time_zone": "Asia/Shanghai"},
        "tokens_create": {"name": "script", "days": 9},
        "teams_create": {"name": "Speech"},
        "members_set": {"role": "lead"},
        "people_create": {"username": "new", "team": "vision", "role": "lead"},
        "shares_set": {"shares": {"vision": 4_000, "language": 100}},
        "queues_create": {"queue": "vision", "name": "Day"},
        "queues_change": {"name": "Late", "weight": 2},
        "queues_hold": {"reason": "Storage is moved"},
        "queues_drain": {"reason": "The project is over"},
        "quota_plan_save": {
            "expected_version": version,
            "reason": "next quarter",
            "queues": {"vision": {"rank": 1, "groups": {"h100": {"basis_points": 1_000, "lend_basis_points": None}}}},
        },
        "quota_plan_restore": {"expected_version": version},
        "quota_plan_adopt": {"expected_version": version, "reason": "as it is there"},
        "quota_plan_take_over": {},
        "quota_plan_recount": {"expected_version": version},
        "node_cordon": {"reason": "a fan"},
        "node_uncordon": {"reason": "a new fan"},
        "node_trust": {"reason": "a new card"},
        "maintenance_plan": {
            "cluster": "sandbox",
            "node_group": "h100",
            "starts_at": (timezone.now() + timedelta(days=1)).isoformat(),
            "ends_at": (timezone.now() + timedelta(days=2)).isoformat(),
            "reason": "firmware",
        },
        "sharing_save": {
            "expected_version": 0,
            "why": "for development",
            "slowdown": 1_500,
            "training": {"vision": "a course"},
        },
        "node_group_edit": {"title": "H100, hall 2", "position": 3, "dry_run": True},
        "node_group_confirm": {"title": "Fresh", "selector": {"pool": "fresh"}},
        "node_group_aside": {"expected_version": 0},
        "accelerator_name": {"vendor": "example", "card_model": "TPU v9"},
        "rules_set": {"images": ["registry.example"], "runs_as_root": False},
        "storage_set": {"volume": "team-files"},
        "dataset_set": {"volume": "data", "folder": "images"},
        "variables_set": {"values": {"WANDB_MODE": "offline"}},
        "registry_set": {"server": "registry.example", "username": "robot", "password": "x"},
        "archives_upload": _zip(),
    }


def _zip() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("train.py", "print('hello')")
    return packed.getvalue()
