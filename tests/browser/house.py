"""A full house of strange words: every text that a person or a program may choose tries to be more than text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from accounts.services import token_create
from clusters.supply_services import dataset_set, variables_set
from jobs.models import Attempt, Job, LogChunk
from tests.cast import Cast
from tests.pages.crowd import crowd
from tests.policy.addresses import ACTORS, MATRIX
from tests.policy.test_every_address import Scene
from tests.stage import Stage

SCRIPT = "<script>document.documentElement.dataset.hit=1</script>"
HOSTILE = f'{SCRIPT}"><img src=x onerror="document.documentElement.dataset.hit=2">'
HIDDEN = "safe\u202egpj.exe\u200b\u2066"
LOG = [
    HOSTILE.encode(),
    b"\x1b]8;;javascript:document.documentElement.dataset.hit=3\x07press me\x1b]8;;\x07 \x1b[31mred\x1b[0m",
    "left \u202e right".encode(),
    b"\xff\x00 not text",
    b'<a hx-get="/account/tokens/" hx-trigger="load">x</a>',
    b"word" * 400,
]
NO_PAGE = {"healthz", "readyz", "jobs:preview", "jobs:logs", "jobs:log_file"}
"""Answers that are no documents: facts for machines, parts of a page, a file."""


@dataclass
class House:
    """``paths``: by actor of the matrix, the pages it may see (lead and admin: beside the owner's) and some refused."""

    scene: Scene
    paths: dict[str, list[str]] = field(default_factory=dict)


def build_house(cast: Cast) -> House:
    """Jobs in every state, a hostile one among them, waiting, running and preempted ones, supplies, tokens, logs."""
    cast.teams["vision"].name = "Vision " + SCRIPT[:30]
    cast.teams["vision"].save()
    with Stage(cast) as stage:
        running = stage.submit(name="runs " + HOSTILE, command=HOSTILE, env={"A": HOSTILE}, card_model="h100", cards=16)
        stage.submit(name="serves", kind="inference", framework="pytorch", cards=1, replicas=2)
        stage.submit("lead-vision", name=HIDDEN, priority="urgent", priority_reason=HOSTILE, cards=32)
        stage.submit("eng-language-1", name="of another team " + HOSTILE, cards=24, card_model="h100")
        stage.run(30, 5)
    _write_log(stage.job(running))
    crowd(cast, 14)
    scene = Scene(cast)
    Job.objects.filter(pk=scene.job.pk).update(display_name=HOSTILE, image=HOSTILE)
    place: dict[str, Any] = {"cluster": cast.cluster, "team": cast.teams["vision"]}
    dataset_set(actor=cast.actor("admin"), **place, name="photos", volume="data", folder="a/b")
    variables_set(actor=cast.actor("lead-vision"), **place, name="more", values={"B": HOSTILE})
    token_create(actor=cast.actor("eng-vision-1"), name=HOSTILE[:90])
    house = House(scene)
    for place_of_actor, actor in enumerate(ACTORS):
        house.paths[actor] = [
            scene.address(name)
            for name, rows in MATRIX.items()
            if name not in NO_PAGE
            and (name == "api:docs" or not name.startswith("api:"))
            and "GET" in rows
            and rows["GET"].statuses[place_of_actor] == 200
        ]
    for actor in ("lead", "admin"):
        house.paths[actor] = [path for path in house.paths[actor] if path not in house.paths["owner"]]
    more = [f"/jobs/{running.public_id}/", f"/jobs/{running.public_id}/cancel/", "/jobs/?whose=team", "/nowhere/"]
    house.paths["owner"] += [*more, "/admin/nodes/", f"/jobs/new/?like={running.public_id}"]
    house.paths["lead"] += [*more, f"/jobs/{running.public_id}/preempt/", f"/jobs/{running.public_id}/priority/"]
    house.paths["admin"] += [*more, "/admin/nodes/?node=h100-01", "/admin/clusters/?new=1"]
    return house


def _write_log(job: Job) -> None:
    attempt = Attempt.objects.get(job=job)
    now_ms, first = int(timezone.now().timestamp() * 1000), 1_000_000
    LogChunk.objects.create(
        attempt=attempt,
        first_seq=first,
        last_seq=first + len(LOG) - 1,
        index=[[first + n, now_ms + n, n % 2] for n in range(len(LOG))],
        payload=b"\n".join(LOG),
    )
