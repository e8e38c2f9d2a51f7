"""A cluster that answers badly or not at all: it says how old its picture is, and costs the others nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from clusters.backends.kueue_volcano.credentials import Account, seal_accounts
from clusters.backends.kueue_volcano.kubeconfig import parse_kubeconfig
from clusters.models import Cluster
from clusters.selectors import freshness
from clusters.sync import sync_safely
from clusters.water_selectors import water_now
from tests.api_server import ApiServer, kubeconfig_of
from tests.cast import Cast

pytestmark = pytest.mark.django_db

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ((401, JSON, b'{"kind":"Status","reason":"Unauthorized"}'), "unauthorized"),
        ((403, JSON, b'{"kind":"Status","reason":"Forbidden"}'), "forbidden"),
        ((429, JSON, b'{"kind":"Status","reason":"TooManyRequests"}'), "busy"),
        ((503, JSON, b'{"kind":"Status","reason":"ServiceUnavailable"}'), "server_error"),
        ((200, JSON, b'{"items": ['), "unreadable_answer"),
    ],
    ids=["401", "403", "429", "503", "half an answer"],
)
def test_a_cluster_that_answers_badly_keeps_its_old_picture_and_the_others_are_as_fresh_as_ever(
    cast: Cast, server: ApiServer, answer: Any, code: str
) -> None:
    long_ago = timezone.now() - timedelta(hours=2)
    access = parse_kubeconfig(kubeconfig_of(server, Account.RUNTIME))
    sick = Cluster.objects.create(
        slug="sick", name="Sick", kind="kueue_volcano", credentials=seal_accounts({Account.RUNTIME: access}),
        synced_at=long_ago,
    )  # fmt: skip
    server.answers["/apis/batch/v1/jobs"] = answer
    assert sync_safely(sick) is False
    assert sync_safely(cast.cluster) is True
    told = {each.name: each for each in freshness()}
    assert (told["Sick"].read_at, told["Sick"].stale, told["Sick"].error) == (long_ago, True, code)
    other = told[cast.cluster.name]
    assert (other.stale, other.error) == (False, "") and other.read_at is not None
    levels = water_now(viewer=cast.actor("admin"), waiting={})
    assert {level.cluster.slug: level.stale for level in levels} == {"sick": True, cast.cluster.slug: False}
