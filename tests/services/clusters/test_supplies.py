"""What a team's jobs are given: who may say so, what is refused, what is written down and what never is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accounts.models import AuditEvent, Team
from accounts.services import team_rules_set
from clusters.contract import Retryable
from clusters.models import Dataset, TeamSecret, TeamStorage
from clusters.secrets import bring_secrets
from clusters.supplies import place_views, supplies_of
from clusters.supply_services import dataset_remove, dataset_set, registry_set, secret_drop, storage_set, variables_set
from common.errors import NotAllowed, NotFound
from common.secrets import unseal
from tests.cast import Cast
from tests.services.clusters.supplied import REFUSED, on_a_keeping_cluster
from tests.services.support import problems_of, refused

PASSWORD = "hunter2-hunter2"


def place(cast: Cast) -> dict[str, Any]:
    return {"cluster": cast.cluster, "team": cast.teams["vision"]}


def put(cast: Cast, by: str = "lead-vision", name: str = "wandb", **values: str) -> None:
    variables_set(actor=cast.actor(by), **place(cast), name=name, values=values or {"WANDB_API_KEY": PASSWORD})


class TestSecrets:
    def test_a_lead_stores_variables_that_nobody_reads_again(self, cast: Cast) -> None:
        put(cast)
        secret = TeamSecret.objects.get()
        assert (secret.object_name, secret.names) == (f"slu-env-wandb-{secret.pk}", ["WANDB_API_KEY"])
        assert PASSWORD not in secret.values
        assert PASSWORD in unseal(secret.values)
        [view] = place_views(viewer=cast.actor("eng-vision-1"), team=cast.teams["vision"])
        assert PASSWORD not in repr(view)
        assert [(s.name, s.names, s.is_there) for s in view.variables] == [("wandb", ("WANDB_API_KEY",), False)]

    def test_the_audit_trail_names_variables_and_no_value(self, cast: Cast) -> None:
        put(cast)
        registry_set(
            actor=cast.actor("lead-vision"),
            **place(cast),
            name="harbor",
            server="registry.example:5000",
            username="robot",
            password=PASSWORD,
        )
        rows = AuditEvent.objects.filter(action="secret.set")
        assert [row.detail for row in rows.order_by("pk")] == [
            {"names": ["WANDB_API_KEY"]},
            {"names": ["registry.example:5000"]},
        ]
        assert all(PASSWORD not in repr(row.__dict__) for row in AuditEvent.objects.all())

    @pytest.mark.parametrize("actor", ["eng-vision-1", "lead-language", "eng-robotics-1"])
    def test_only_the_teams_lead_and_admins_store_secrets(self, cast: Cast, actor: str) -> None:
        refused(lambda: put(cast, by=actor), NotAllowed)

    def test_an_admin_stores_secrets_of_any_team(self, cast: Cast) -> None:
        put(cast, by="admin")
        assert TeamSecret.objects.get().changed_by == cast.users["admin"]

    @pytest.mark.parametrize(
        ("name", "values", "field", "code"),
        [
            ("Wandb", {"A": "1"}, "name", "malformed"),
            ("", {"A": "1"}, "name", "malformed"),
            ("a" * 41, {"A": "1"}, "name", "malformed"),
            ("a\n", {"A": "1"}, "name", "malformed"),
            ("x", {}, "values", "not_pairs"),
            ("x", ["A"], "values", "not_pairs"),
            ("x", {"A": 1}, "values", "not_pairs"),
            ("x", {"A B": "1"}, "values", "name_invalid"),
            ("x", {"SLUICE_JOB_ID": "1"}, "values", "name_reserved"),
            ("x", {"NVIDIA_VISIBLE_DEVICES": "all"}, "values", "name_reserved"),
            ("x", {"A": "x" * 300_000}, "values", "too_large"),
            ("x", {f"A{n}": "" for n in range(101)}, "values", "too_large"),
            ("x", {"A": "a\x00"}, "values", "broken"),
            ("x", {"A": "\ud800"}, "values", "broken"),
        ],
    )
    def test_variables_that_a_job_could_not_be_given_are_refused(
        self, cast: Cast, name: str, values: Any, field: str, code: str
    ) -> None:
        actor = cast.actor("lead-vision")
        found = problems_of(lambda: variables_set(actor=actor, **place(cast), name=name, values=values))
        assert {attr: problem.code for attr, problem in found.items()} == {field: code}

    @pytest.mark.parametrize(
        ("field", "value"),
        [("server", "https://registry.example"), ("server", "a b"), ("server", ""), ("username", ""), ("password", "")],
    )
    def test_registry_credentials_are_checked_at_their_fields(self, cast: Cast, field: str, value: str) -> None:
        good = {"name": "harbor", "server": "registry.example", "username": "robot", "password": "x"}
        actor = cast.actor("lead-vision")
        found = problems_of(lambda: registry_set(actor=actor, **place(cast), **(good | {field: value})))
        assert set(found) == {field}

    def test_they_reach_the_cluster_and_are_said_to_be_there(self, cast: Cast, monkeypatch: Any) -> None:
        keeper = on_a_keeping_cluster(monkeypatch)
        put(cast)
        assert bring_secrets() == 1
        name = TeamSecret.objects.get().object_name
        assert keeper.kept == {("slu-vision-000000", name): {"WANDB_API_KEY": PASSWORD.encode()}}
        [view] = place_views(viewer=cast.actor("lead-vision"), team=cast.teams["vision"])
        assert view.variables[0].is_there
        assert bring_secrets() == 0
        assert keeper.calls == 1

    def test_new_values_take_the_place_of_old_ones(self, cast: Cast, monkeypatch: Any) -> None:
        keeper = on_a_keeping_cluster(monkeypatch)
        put(cast)
        bring_secrets()
        put(cast, OTHER="2")
        assert TeamSecret.objects.get().stored < TeamSecret.objects.get().revision
        bring_secrets()
        assert list(keeper.kept.values()) == [{"OTHER": b"2"}]

    def test_what_did_not_arrive_is_brought_again_and_says_why(self, cast: Cast, monkeypatch: Any) -> None:
        keeper = on_a_keeping_cluster(monkeypatch)
        put(cast)
        keeper.answer = Retryable("silent", "no answer")
        assert bring_secrets() == 0
        assert TeamSecret.objects.get().error == "silent"
        keeper.answer = None
        assert bring_secrets() == 1
        assert TeamSecret.objects.get().error == ""

    def test_a_silent_cluster_costs_one_call(self, cast: Cast, monkeypatch: Any) -> None:
        keeper = on_a_keeping_cluster(monkeypatch)
        for name in ("a", "b", "c"):
            put(cast, name=name)
        keeper.answer = Retryable("silent", "no answer")
        bring_secrets()
        assert keeper.calls == 1

    def test_one_that_is_refused_holds_up_no_other_and_no_job(self, cast: Cast, monkeypatch: Any) -> None:
        keeper = on_a_keeping_cluster(monkeypatch)
        put(cast)
        keeper.answer = REFUSED
        assert bring_secrets() == 0
        key = (cast.cluster.pk, cast.teams["vision"].pk)
        assert supplies_of([key])[key].env_secrets == ()
        keeper.answer = None
        bring_secrets()
        assert supplies_of([key])[key].env_secrets == (TeamSecret.objects.get().object_name,)

    def test_a_dropped_one_loses_its_values_at_once_and_then_goes_from_the_cluster(
        self, cast: Cast, monkeypatch: Any
    ) -> None:
        keeper = on_a_keeping_cluster(monkeypatch)
        put(cast)
        bring_secrets()
        secret_drop(actor=cast.actor("lead-vision"), **place(cast), kind="env", name="wandb")
        assert TeamSecret.objects.get().values == ""
        [view] = place_views(viewer=cast.actor("lead-vision"), team=cast.teams["vision"])
        assert view.variables == ()
        bring_secrets()
        assert not keeper.kept
        assert not TeamSecret.objects.exists()

    def test_one_that_comes_back_before_it_is_gone_is_brought(self, cast: Cast, monkeypatch: Any) -> None:
        keeper = on_a_keeping_cluster(monkeypatch)
        put(cast)
        bring_secrets()
        secret_drop(actor=cast.actor("lead-vision"), **place(cast), kind="env", name="wandb")
        put(cast, A="1")
        bring_secrets()
        assert list(keeper.kept.values()) == [{"A": b"1"}]

    def test_a_missing_one_cannot_be_dropped(self, cast: Cast) -> None:
        actor = cast.actor("lead-vision")
        refused(lambda: secret_drop(actor=actor, **place(cast), kind="env", name="wandb"), NotFound)

    def test_the_sandbox_keeps_none_and_says_at_once_that_they_are_there(self, cast: Cast) -> None:
        put(cast)
        assert bring_secrets() == 1
        [view] = place_views(viewer=cast.actor("lead-vision"), team=cast.teams["vision"])
        assert view.variables[0].is_there and not view.needs_secrets


class TestStorage:
    def test_an_admin_names_the_volume_and_where_the_console_reaches_it(
        self, cast: Cast, settings: Any, tmp_path: Path
    ) -> None:
        settings.STORAGE_ROOT = str(tmp_path)
        (tmp_path / "vision").mkdir()
        storage_set(actor=cast.actor("admin"), **place(cast), volume="team-files", console_folder="/vision/")
        row = TeamStorage.objects.get()
        assert (row.volume, row.console_folder) == ("team-files", "vision")
        storage_set(actor=cast.actor("admin"), **place(cast), volume="")
        assert not TeamStorage.objects.exists()

    @pytest.mark.parametrize("folder", ["../etc", "a/../../etc", "missing", "link", "a\\b"])
    def test_the_console_reaches_nothing_outside_its_storage_folder(
        self, cast: Cast, settings: Any, tmp_path: Path, folder: str
    ) -> None:
        root = tmp_path / "root"
        root.mkdir()
        (tmp_path / "etc").mkdir()
        (root / "link").symlink_to(tmp_path / "etc")
        settings.STORAGE_ROOT = str(root)
        actor = cast.actor("admin")
        found = problems_of(lambda: storage_set(actor=actor, **place(cast), volume="v", console_folder=folder))
        assert set(found) == {"console_folder"}

    def test_without_a_storage_folder_the_console_reaches_nothing(self, cast: Cast, settings: Any) -> None:
        settings.STORAGE_ROOT = ""
        actor = cast.actor("admin")
        found = problems_of(lambda: storage_set(actor=actor, **place(cast), volume="v", console_folder="tmp"))
        assert found["console_folder"].code == "not_there"

    @pytest.mark.parametrize("actor", ["eng-vision-1", "lead-vision"])
    def test_nobody_else_does(self, cast: Cast, actor: str) -> None:
        by = cast.actor(actor)
        refused(lambda: storage_set(actor=by, **place(cast), volume="v"), NotAllowed)
        refused(lambda: dataset_set(actor=by, **place(cast), name="x", volume="v"), NotAllowed)
        team = cast.teams["vision"]
        refused(lambda: team_rules_set(actor=by, team=team, image_prefixes=[], runs_as_root=False), NotAllowed)


class TestDatasets:
    def test_a_removed_one_still_serves_jobs_that_named_it(self, cast: Cast) -> None:
        admin = cast.actor("admin")
        dataset_set(actor=admin, **place(cast), name="imagenet", volume="datasets", folder="imagenet/2012")
        dataset_remove(actor=admin, **place(cast), name="imagenet")
        key = (cast.cluster.pk, cast.teams["vision"].pk)
        assert supplies_of([key])[key].datasets == {"imagenet": ("datasets", "imagenet/2012")}
        [view] = place_views(viewer=admin, team=cast.teams["vision"])
        assert view.datasets == ()
        refused(lambda: dataset_remove(actor=admin, **place(cast), name="imagenet"), NotFound)

    def test_a_new_one_of_an_old_name_is_the_one_that_counts(self, cast: Cast) -> None:
        admin = cast.actor("admin")
        dataset_set(actor=admin, **place(cast), name="d", volume="old")
        dataset_remove(actor=admin, **place(cast), name="d")
        dataset_set(actor=admin, **place(cast), name="d", volume="new")
        dataset_set(actor=admin, **place(cast), name="d", volume="newer")
        key = (cast.cluster.pk, cast.teams["vision"].pk)
        assert supplies_of([key])[key].datasets == {"d": ("newer", "")}
        assert Dataset.objects.count() == 2

    @pytest.mark.parametrize(
        ("field", "value"), [("name", "Image Net"), ("volume", "a/b"), ("volume", ""), ("folder", "a/../b")]
    )
    def test_a_place_that_is_none_is_refused(self, cast: Cast, field: str, value: str) -> None:
        good = {"name": "x", "volume": "v", "folder": "f"}
        actor = cast.actor("admin")
        found = problems_of(lambda: dataset_set(actor=actor, **place(cast), **(good | {field: value})))
        assert set(found) == {field}


class TestRules:
    def test_an_admin_sets_whose_images_a_team_uses(self, cast: Cast) -> None:
        team_rules_set(
            actor=cast.actor("admin"),
            team=cast.teams["vision"],
            image_prefixes=["registry.example/vision/", "", "registry.example/vision/"],
            runs_as_root=False,
        )
        team = Team.objects.get(slug="vision")
        assert (team.image_prefixes, team.runs_as_root) == (["registry.example/vision/"], False)

    @pytest.mark.parametrize(
        "prefix", ["https://registry.example", "registry.example/team:1", "*", "a b", "x@sha256:0"]
    )
    def test_what_is_no_repository_is_refused(self, cast: Cast, prefix: str) -> None:
        actor, team = cast.actor("admin"), cast.teams["vision"]
        found = problems_of(lambda: team_rules_set(actor=actor, team=team, image_prefixes=[prefix], runs_as_root=True))
        assert set(found) == {"images"}


def test_supplies_of_many_places_take_three_queries(cast: Cast, django_assert_num_queries: Any) -> None:
    put(cast)
    keys = [(cast.cluster.pk, team.pk) for team in cast.teams.values()]
    with django_assert_num_queries(3):
        assert len(supplies_of(keys)) == 3
    with django_assert_num_queries(0):
        assert supplies_of([]) == {}
