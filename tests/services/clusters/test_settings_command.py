"""`manage.py cluster_settings`: what the console may use of a connected cluster."""

from __future__ import annotations

import io

import pytest
from django.core.management import CommandError, call_command

from accounts.models import AuditEvent
from clusters.backends.kueue_volcano.settings import settings_of, shape_of
from clusters.models import Cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def lab() -> Cluster:
    return Cluster.objects.create(slug="lab", name="Lab", kind="kueue_volcano", settings={"accounts": {"kept": True}})


def run(*args: str) -> str:
    out = io.StringIO()
    call_command("cluster_settings", *args, stdout=out)
    return out.getvalue()


def test_without_options_it_only_shows(lab: Cluster) -> None:
    told = run("lab")
    assert "topology: on, levels kubernetes.io/hostname" in told and "longest run: any" in told
    assert not AuditEvent.objects.exists()


def test_what_is_given_is_changed_and_nothing_else(lab: Cluster) -> None:
    told = run("lab", "--git-image", "registry.example/git:2", "--topology", "off", "--ceiling-hours", "48")
    assert "git image: registry.example/git:2" in told and "topology: off" in told and "longest run: 48 h" in told
    lab.refresh_from_db()
    assert lab.settings["accounts"] == {"kept": True}
    shape = shape_of(lab)
    assert (shape.git_image, shape.topology_aware, shape.has_volcano) == ("registry.example/git:2", False, True)
    assert AuditEvent.objects.get().action == "cluster.settings"
    run("lab", "--git-image", "", "--ceiling-hours", "0")
    lab.refresh_from_db()
    assert (settings_of(lab).git_image, settings_of(lab).ceiling_seconds) == ("", None)


@pytest.mark.parametrize(
    "args",
    [("nowhere",), ("lab", "--git-image", "https://git"), ("lab", "--ceiling-hours", "-1"), ("lab", "--volcano", "x")],
    ids=["unknown cluster", "no image", "negative", "neither on nor off"],
)
def test_what_cannot_be_is_refused_and_changes_nothing(lab: Cluster, args: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        run(*args)
    before = lab.settings
    lab.refresh_from_db()
    assert lab.settings == before
