"""What a team has, on the lead's and the admin's page; secrets are typed once and never come back."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accounts.models import Team
from clusters.models import CodeArchive, Dataset, TeamSecret, TeamStorage
from jobs.models import Job
from tests.cast import Cast
from tests.pages.visitor import Visitor, field_error, html, words
from tests.services.clusters.supplied import give_storage, zip_of

Visitors = Callable[[str | None], Visitor]
LEAD, ADMIN = "/team/vision/supplies/", "/admin/teams/vision/supplies/"
PASSWORD = "hunter2-hunter2"


def variables(values: str = f"WANDB_API_KEY={PASSWORD}", name: str = "wandb") -> dict[str, Any]:
    return {"act": "variables", "cluster": "sandbox", "variables-name": name, "variables-values": values}


def test_a_lead_stores_a_secret_and_sees_its_name_only(visitor: Visitors) -> None:
    lead = visitor("lead-vision")
    assert lead.post(LEAD, **variables()).status_code == 302
    page = lead.get(LEAD)
    assert "WANDB_API_KEY" in words(page)
    assert PASSWORD not in html(page)


def test_what_was_typed_does_not_come_back_with_a_problem(visitor: Visitors) -> None:
    page = visitor("lead-vision").post(LEAD, **variables(name="Bad Name"))
    assert page.status_code == 422
    assert "small letters" in field_error(page, "variables-name")
    assert PASSWORD not in html(page)
    login = {"registry-server": "a b", "registry-username": "robot", "registry-password": PASSWORD}
    page = visitor("lead-vision").post(LEAD, act="registry", cluster="sandbox", **login)
    assert page.status_code == 422
    assert PASSWORD not in html(page)
    assert not TeamSecret.objects.exists()


def test_a_line_without_an_equals_sign_is_pointed_at(visitor: Visitors) -> None:
    page = visitor("lead-vision").post(LEAD, **variables("A=1\nb"))
    assert "Line 2" in field_error(page, "variables-values")


def test_erasing_asks_first(visitor: Visitors) -> None:
    lead = visitor("lead-vision")
    lead.post(LEAD, **variables())
    question = lead.get(LEAD, drop="env/wandb")
    assert "Erase wandb?" in words(question)
    assert TeamSecret.objects.filter(is_dropped=False).exists()
    assert lead.post(LEAD, act="drop", cluster="sandbox", kind="env", name="wandb").status_code == 302
    assert not TeamSecret.objects.filter(is_dropped=False).exists()
    assert lead.post(LEAD, act="drop", cluster="sandbox", kind="env", name="wandb").status_code == 404
    assert "Erase wandb?" not in words(lead.get(LEAD, drop="env/wandb"))


def test_an_admin_names_data_sets_storage_and_rules(cast: Cast, visitor: Visitors) -> None:
    admin = visitor("admin")
    dataset = {"dataset-name": "imagenet", "dataset-volume": "data", "dataset-folder": "imagenet"}
    assert admin.post(ADMIN, act="dataset", cluster="sandbox", **dataset).status_code == 302
    assert admin.post(ADMIN, act="storage", cluster="sandbox", **{"storage-volume": "team-files"}).status_code == 302
    rules = {"rules-images": "registry.example/vision\n\n"}
    assert admin.post(ADMIN, act="rules", cluster="sandbox", **rules).status_code == 302
    team = Team.objects.get(slug="vision")
    assert (team.image_prefixes, team.runs_as_root) == (["registry.example/vision"], False)
    assert TeamStorage.objects.get().volume == "team-files"
    page = words(admin.get(ADMIN))
    for text in ("/sluice/datasets/imagenet", "data/imagenet", "team-files", "registry.example/vision", "must not run"):
        assert text in page
    assert admin.post(ADMIN, act="remove", cluster="sandbox", name="imagenet").status_code == 302
    assert not Dataset.objects.filter(removed_at=None).exists()


@pytest.mark.parametrize("act", ["storage", "dataset", "rules", "sing", ""])
def test_a_lead_has_no_form_for_what_admins_set(visitor: Visitors, act: str) -> None:
    lead = visitor("lead-vision")
    assert lead.post(LEAD, act=act, cluster="sandbox", **{"storage-volume": "v"}).status_code == 404
    assert 'name="storage-volume"' not in html(lead.get(LEAD))
    assert not TeamStorage.objects.exists()


def test_a_lead_does_not_take_data_sets_away(cast: Cast, visitor: Visitors) -> None:
    Dataset.objects.create(cluster=cast.cluster, team=cast.teams["vision"], name="imagenet", volume="data")
    assert visitor("lead-vision").post(LEAD, act="remove", cluster="sandbox", name="imagenet").status_code == 403
    assert Dataset.objects.filter(removed_at=None).exists()


def test_a_team_without_a_queue_is_told_so(cast: Cast, visitor: Visitors) -> None:
    Team.objects.create(slug="new", name="New", space="slu-new-000000")
    page = visitor("admin").get("/admin/teams/new/supplies/")
    assert page.status_code == 200
    assert "no queue on any cluster" in words(page)


def test_the_page_takes_as_many_queries_with_many_things(cast: Cast, visitor: Visitors) -> None:
    lead = visitor("lead-vision")
    few = lead.count_queries(LEAD)
    place = {"cluster": cast.cluster, "team": cast.teams["vision"]}
    Dataset.objects.bulk_create(Dataset(**place, name=f"d{n}", volume="data") for n in range(30))
    for n in range(10):
        lead.post(LEAD, **variables(name=f"s{n}"))
    assert lead.count_queries(LEAD) <= few


class TestTheFormOfAJob:
    FACTS = {"framework": "pytorch", "image": "registry.example/bert:1", "cards_pick": "1", "priority": "normal"}

    def test_code_and_data_sets_are_chosen_there(self, cast: Cast, visitor: Visitors) -> None:
        for name in ("imagenet", "coco", "other"):
            Dataset.objects.create(cluster=cast.cluster, team=cast.teams["vision"], name=name, volume="data")
        engineer = visitor("eng-vision-1")
        assert 'value="imagenet"' in html(engineer.get("/jobs/new/"))
        code = {"code_address": "https://git.example/vision/train", "code_revision": "main"}
        sent = engineer.post("/jobs/new/", **self.FACTS, **code, datasets=["coco", "imagenet"])
        assert sent.status_code == 302, words(sent)
        job = Job.objects.get()
        assert job.code == {"kind": "git", "address": "https://git.example/vision/train", "revision": "main"}
        assert job.datasets == ["coco", "imagenet"]
        shown = words(engineer.get(f"/jobs/{job.public_id}/"))
        assert "https://git.example/vision/train · main" in shown
        assert "coco, imagenet" in shown
        copy = html(engineer.get("/jobs/new/", like=job.public_id))
        assert 'value="https://git.example/vision/train"' in copy
        assert copy.count("checked") >= 2

    @pytest.mark.parametrize("address", ["https://me:token@git.example/a/b", "git@git.example:a/b"])
    def test_a_problem_stands_at_its_field(self, visitor: Visitors, address: str) -> None:
        page = visitor("eng-vision-1").post("/jobs/new/", **self.FACTS, code_address=address)
        assert page.status_code == 422
        assert field_error(page, "code_address")

    def test_a_data_set_of_nobody_is_refused_at_its_field(self, cast: Cast, visitor: Visitors) -> None:
        Dataset.objects.create(cluster=cast.cluster, team=cast.teams["vision"], name="coco", volume="data")
        page = visitor("eng-vision-1").post("/jobs/new/", **self.FACTS, datasets=["secret"])
        assert page.status_code == 422
        assert "no data set" in words(page)

    def test_an_upload_is_greyed_with_the_reason_where_it_cannot_be(self, visitor: Visitors) -> None:
        page = visitor("eng-vision-1").get("/jobs/new/")
        assert "no storage on this cluster" in words(page)
        assert re.search(r'<input type="file"[^>]* disabled', html(page))

    def test_an_uploaded_archive_survives_a_problem_elsewhere(
        self, cast: Cast, visitor: Visitors, settings: Any, tmp_path: Path
    ) -> None:
        storage = give_storage(cast, settings, tmp_path)
        engineer = visitor("eng-vision-1")
        file = zip_of(train="print(1)")
        file.name = "train.zip"
        page = engineer.post("/jobs/new/", **{**self.FACTS, "image": ""}, code_file=file)
        assert page.status_code == 422
        assert "train.zip is uploaded" in words(page)
        archive = CodeArchive.objects.get()
        assert f'value="{archive.public_id}"' in html(page)
        sent = engineer.post("/jobs/new/", **self.FACTS, code_archive=archive.public_id)
        assert sent.status_code == 302, words(sent)
        assert Job.objects.get().code == {"kind": "archive", "archive": archive.public_id}
        assert (storage / "archives" / archive.public_id / "train.py").exists()

    def test_a_broken_archive_is_refused_at_its_field(
        self, cast: Cast, visitor: Visitors, settings: Any, tmp_path: Path
    ) -> None:
        give_storage(cast, settings, tmp_path)
        page = visitor("eng-vision-1").post("/jobs/new/", **self.FACTS, code_file=io.BytesIO(b"hello"))
        assert page.status_code == 422
        assert "no zip or tar file" in field_error(page, "code_file")
        assert not Job.objects.exists()

    def test_code_from_two_places_is_refused(
        self, cast: Cast, visitor: Visitors, settings: Any, tmp_path: Path
    ) -> None:
        give_storage(cast, settings, tmp_path)
        address = "https://git.example/vision/train"
        page = visitor("eng-vision-1").post("/jobs/new/", **self.FACTS, code_address=address, code_archive="x")
        assert "not from both" in field_error(page, "code_address")
