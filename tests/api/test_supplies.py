"""The API about what a team has: values go in and never come out, uploads arrive piece by piece."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from clusters.models import CodeArchive, Dataset, TeamSecret, TeamStorage
from tests.api.client import Api
from tests.cast import Cast
from tests.services.clusters.supplied import give_storage, zip_of
from tests.stage import BODY

PASSWORD = "hunter2-hunter2"
SUPPLIES = "teams/vision/supplies"


def upload(api: Api, data: bytes, kind: str = "application/zip", query: str = "name=train.zip") -> Any:
    headers = {"Authorization": f"Token {api.token}", "Accept-Language": "en"}
    return Client().generic("POST", f"/api/v1/archives?{query}", data, content_type=kind, headers=headers)


class TestSecrets:
    def test_values_go_in_and_never_come_out(self, standing_cast: Cast) -> None:
        lead = Api("lead-vision")
        first = lead.call("PUT", "teams/vision/variables/wandb", {"values": {"WANDB_API_KEY": PASSWORD}})
        login = {"server": "registry.example", "username": "robot", "password": PASSWORD}
        second = lead.call("PUT", "teams/vision/registries/harbor", login)
        read = Api("eng-vision-1").call("GET", SUPPLIES)
        for answer in (first, second, read):
            assert answer.status_code == 200
            assert PASSWORD not in answer.content.decode()
            assert "robot" not in answer.content.decode()
        [place] = json.loads(read.content)["places"]
        assert [(row["name"], row["names"]) for row in place["variables"]] == [("wandb", ["WANDB_API_KEY"])]
        assert [(row["name"], row["names"]) for row in place["registries"]] == [("harbor", ["registry.example"])]

    def test_a_dropped_one_is_gone_from_every_answer(self, standing_cast: Cast) -> None:
        lead = Api("lead-vision")
        lead.call("PUT", "teams/vision/variables/wandb", {"values": {"A": "1"}})
        assert lead.call("DELETE", "teams/vision/variables/wandb").status_code == 204
        assert lead.call("DELETE", "teams/vision/variables/wandb").status_code == 404
        assert json.loads(lead.call("GET", SUPPLIES).content)["places"][0]["variables"] == []

    @pytest.mark.parametrize("name", ["Bad", "a%00b", "a%0ab"])
    def test_a_name_that_is_none_is_refused_in_clear_words(self, standing_cast: Cast, name: str) -> None:
        lead = Api("lead-vision")
        answer = lead.call("PUT", f"/api/v1/teams/vision/variables/{name}", {"values": {"A": "1"}})
        assert answer.status_code == 400
        assert json.loads(answer.content)["errors"][0]["attr"] == "name"
        assert lead.call("DELETE", f"/api/v1/teams/vision/variables/{name}").status_code == 404
        assert not TeamSecret.objects.exists()


class TestSupplies:
    def test_an_admin_names_storage_data_sets_and_rules(self, standing_cast: Cast) -> None:
        admin = Api("admin")
        assert admin.call("PUT", "teams/vision/storage", {"volume": "team-files"}).status_code == 200
        body = {"volume": "data", "folder": "imagenet", "cluster": "sandbox"}
        assert admin.call("PUT", "teams/vision/datasets/imagenet", body).status_code == 200
        rules = {"images": ["registry.example/vision"], "runs_as_root": False}
        found = json.loads(admin.call("PUT", "teams/vision/rules", rules).content)
        assert (found["images"], found["runs_as_root"]) == (["registry.example/vision"], False)
        [place] = found["places"]
        assert place["volume"] == "team-files"
        assert [(row["name"], row["volume"], row["folder"]) for row in place["datasets"]] == [
            ("imagenet", "data", "imagenet")
        ]
        assert admin.call("DELETE", "teams/vision/datasets/imagenet").status_code == 204
        assert Dataset.objects.filter(removed_at=None).count() == 0
        assert admin.call("PUT", "teams/vision/storage", {"volume": ""}).status_code == 200
        assert not TeamStorage.objects.exists()

    def test_a_cluster_without_a_queue_of_the_team_is_not_there(self, standing_cast: Cast) -> None:
        answer = Api("admin").call("PUT", "teams/vision/storage", {"volume": "v", "cluster": "other"})
        assert answer.status_code == 404

    @pytest.mark.parametrize(
        ("path", "body"),
        [
            ("rules", {"images": "x", "runs_as_root": True}),
            ("rules", {"images": [1], "runs_as_root": True}),
            ("rules", {"images": [], "runs_as_root": "yes"}),
            ("storage", {"volume": 7}),
            ("storage", {"volume": "v", "cluster": ["x"]}),
            ("datasets/x", {"volume": "v", "folder": "a\x00"}),
            ("variables/x", {"values": "A=1"}),
            ("variables/x", {}),
            ("registries/x", {"server": {}, "username": "a", "password": "b"}),
        ],
    )
    def test_odd_types_are_refused_in_clear_words(self, standing_cast: Cast, path: str, body: Any) -> None:
        assert Api("admin").call("PUT", f"teams/vision/{path}", body).status_code == 400


class TestUploads:
    @pytest.fixture
    def storage(self, standing_cast: Cast, settings: Any, tmp_path: Path) -> Path:
        return give_storage(standing_cast, settings, tmp_path)

    def test_an_upload_becomes_the_code_of_a_job(self, standing_cast: Cast, storage: Path) -> None:
        engineer = Api("eng-vision-1")
        answer = upload(engineer, zip_of(train="print(1)").getvalue())
        assert answer.status_code == 201, answer.content
        found = answer.json()
        assert (found["name"], found["files"], found["team"], found["cluster"]) == ("train.zip", 1, "vision", "sandbox")
        assert (storage / "archives" / found["id"] / "train.py").exists()
        body = {**BODY, "code": {"kind": "archive", "archive": found["id"]}}
        job = json.loads(engineer.call("POST", "jobs", body).content)
        assert job["code"] == {"kind": "archive", "archive": found["id"]}

    @pytest.mark.parametrize("kind", ["application/json", "multipart/form-data; boundary=x", "text/plain"])
    def test_other_bodies_are_not_read(self, standing_cast: Cast, storage: Path, kind: str) -> None:
        assert upload(Api("eng-vision-1"), b"{}", kind).status_code == 415

    @pytest.mark.parametrize("data", [b"", b"hello"])
    def test_what_is_no_archive_is_refused(self, standing_cast: Cast, storage: Path, data: bytes) -> None:
        answer = upload(Api("eng-vision-1"), data)
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["attr"] == "archive"
        assert not CodeArchive.objects.exists()

    def test_more_than_a_request_usually_holds_is_taken(self, standing_cast: Cast, storage: Path) -> None:
        answer = upload(Api("eng-vision-1"), zip_of(data="x" * 5_000_000).getvalue())
        assert answer.status_code == 201, answer.content

    def test_without_storage_one_sentence_says_so(self, standing_cast: Cast) -> None:
        answer = upload(Api("eng-vision-1"), zip_of(train="1").getvalue())
        assert answer.status_code == 409
        assert answer.json()["errors"][0]["code"] == "no_storage"

    def test_another_teams_storage_is_not_there(self, standing_cast: Cast, storage: Path) -> None:
        answer = upload(Api("eng-language-1"), zip_of(train="1").getvalue(), query="team=vision")
        assert answer.status_code == 404

    def test_somebody_without_a_team_must_say_which(self, standing_cast: Cast, storage: Path) -> None:
        assert upload(Api("admin"), zip_of(train="1").getvalue()).status_code == 400
        assert upload(Api("admin"), zip_of(train="1").getvalue(), query="team=vision").status_code == 403


def test_a_job_shows_its_code_and_data_sets(standing_cast: Cast) -> None:
    Api("admin").call("PUT", "teams/vision/datasets/imagenet", {"volume": "data"})
    code = {"kind": "git", "address": "https://git.example/vision/train", "revision": ""}
    engineer = Api("eng-vision-1")
    job = json.loads(engineer.call("POST", "jobs", {**BODY, "code": code, "datasets": ["imagenet"]}).content)
    assert (job["code"], job["datasets"]) == (code, ["imagenet"])
    plain = json.loads(engineer.call("POST", "jobs", BODY).content)
    assert (plain["code"], plain["datasets"]) == ({"kind": "image"}, [])
