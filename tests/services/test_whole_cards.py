"""Sums of whole cards: whatever shared groups hold, want or miss is in none of them (decisions 25 and 26)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F, PositiveIntegerField
from django.test import Client

from clusters.backends.sandbox import driver
from clusters.models import Node, NodeGroup, ObservedWorkload
from clusters.simulation.commands import Cordon, ExitPod
from clusters.waiting import waiting
from clusters.water_selectors import water_now
from jobs.models import Job, Run
from jobs.selectors import JobFilters, person_load
from jobs.waste import idle_now, waste_ranking
from quotas.domain.plan import GroupPart, Plan, QueuePart
from quotas.models import Demand, GroupCards, Share
from quotas.plans.preview import plan_preview
from tests.api.client import Api
from tests.cast import build_cast
from tests.slices import add_slices
from tests.stage import Stage

pytestmark = pytest.mark.django_db
GONE = {"image": "sandbox.invalid/missing:1"}


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage(build_cast()) as stage:
        yield stage


def busy(stage: Stage, group: str, size: int) -> None:
    """Jobs that run, failed, cannot start and wait; a node that is closed."""
    on = {"card_model": group, "kind": "development", "command": "sleep infinity"}
    for _ in range(2):
        stage.submit(**on, cards=size)
    failing = stage.submit(**on, cards=size)
    stage.submit(**on, cards=size // 2, **GONE)
    stage.submit(**on, cards=size, priority="low")
    stage.run(40)
    driver.send(stage.cast.cluster, ExitPod(driver.now_ms(), failing.attempts.get().object_name, 0, 1))
    driver.send(stage.cast.cluster, Cordon(driver.now_ms(), f"{group}-01"))
    stage.run(10)


def page(stage: Stage, username: str, address: str, *names: str) -> dict[str, Any]:
    client = Client()
    client.force_login(stage.cast.users[username], backend="allauth.account.auth_backends.AuthenticationBackend")
    context = client.get(address).context
    return {name: context[name] for name in names}


def sums(stage: Stage) -> dict[str, Any]:
    """Every figure of whole cards that adds several node groups up."""
    admin, engineer = stage.cast.actor("admin"), stage.cast.actor("eng-vision-1")
    (level,) = water_now(viewer=admin, waiting=waiting())
    nothing = {group.slug: GroupPart() for group in stage.cast.cluster.groups.all()}
    foretold = plan_preview(viewer=admin, cluster=stage.cast.cluster, plan=Plan({"vision": QueuePart(groups=nothing)}))
    load = person_load(viewer=engineer, filters=JobFilters(owner="me"))
    api = Api("admin")
    waste = waste_ranking(viewer=admin, length=timedelta(days=1)).total
    return {
        "water": level.cards,
        "waiting": level.waiting,
        "idle": idle_now(viewer=admin).held_cards,
        "waste": (waste.held, waste.waste),
        "person": (load.running_cards, load.creating_cards),
        "foretold": (foretold.returnable_cards, foretold.newly_returnable),
        "team": page(stage, "lead-vision", "/team/vision/", "used", "reserved", "borrowed"),
        "nodes": page(stage, "admin", "/admin/nodes/", "out"),
        "water by script": api.get("clusters/sandbox/water-level")["cards"],
        "idle by script": api.get("idle")["held_cards"],
        "waste by script": api.get("waste")["total"],
    }


def multiply(group: NodeGroup, factor: int) -> None:
    """Everything that is stored of a group's amounts."""
    amounts = [each.name for each in Node._meta.concrete_fields if type(each) is PositiveIntegerField]
    for node in Node.objects.filter(group=group):
        for name in amounts:
            setattr(node, name, getattr(node, name) * factor)
        node.outside += factor
        node.holders = [{**holder, "cards": holder["cards"] * factor} for holder in node.holders]
        node.save()
    jobs = Job.objects.filter(group=group)
    ObservedWorkload.objects.filter(job_ulid__in=jobs.values("public_id")).update(cards_held=F("cards_held") * factor)
    jobs.update(cards=F("cards") * factor, cards_per_pod=F("cards_per_pod") * factor)
    for rows in (Run.objects.filter(attempt__job__group=group), Demand.objects.filter(group=group)):
        rows.update(cards=F("cards") * factor)
    Share.objects.filter(group=group).update(nominal=F("nominal") * factor)
    GroupCards.objects.filter(group=group).update(cards=F("cards") * factor)


def test_no_sum_of_whole_cards_has_a_slice_in_it(stage: Stage) -> None:
    slices = add_slices(stage.cast)
    busy(stage, "h100", 8)
    busy(stage, "slices", 6)
    before = sums(stage)
    figures = [before["idle"], *before["waste"], *before["person"], *before["foretold"], *before["team"].values()]
    assert before["water"].used and before["nodes"]["out"] and sum(map(bool, figures)) > 5, "a busy place"
    multiply(slices, 1_000)
    assert sums(stage) == before
    multiply(stage.cast.groups["h100"], 1_000)
    changed = {name for name, value in sums(stage).items() if value != before[name]}
    assert changed >= {"water", "waste", "person", "team", "nodes", "idle"}, "whole cards are in them"
