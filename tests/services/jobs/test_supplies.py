"""Code, data sets and images at submit, and what a cluster is asked for because of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Team
from clusters.contract import Code, CodeKind, Mount, WorkloadSpec
from clusters.models import Cluster, CodeArchive, TeamSecret
from clusters.supplies import supplies_of
from clusters.supply_services import dataset_set, variables_set
from jobs.models import Attempt, Job
from jobs.services.submit import job_submit
from jobs.specs import workload_spec
from tests.cast import Cast
from tests.services.clusters.supplied import give_storage
from tests.services.support import problems_of
from tests.stage import BODY

GIT = {"kind": "git", "address": "https://git.example/vision/train.git", "revision": "v1.2"}


def submit(cast: Cast, **fields: Any) -> Job:
    return job_submit(actor=cast.actor("eng-vision-1"), data={**BODY, **fields}).job


def codes(cast: Cast, **fields: Any) -> dict[str, str]:
    return {attr: problem.code for attr, problem in problems_of(lambda: submit(cast, **fields)).items()}


def spec_of(job: Job) -> WorkloadSpec:
    loaded = Job.objects.select_related("team", "local_queue__queue", "group").get(pk=job.pk)
    key = (job.cluster_id, job.team_id)
    return workload_spec(loaded, Attempt.objects.get(job=job), supplies_of([key])[key])


def archive_of(cast: Cast, team: str = "vision", **fields: Any) -> CodeArchive:
    values = {"name": "c.zip", "files": 1, "size_bytes": 1, "uploaded_at": timezone.now(), **fields}
    owner = cast.users[f"eng-{team}-1"]
    return CodeArchive.objects.create(cluster=cast.cluster, team=cast.teams[team], owner=owner, **values)


class TestCode:
    @pytest.mark.parametrize("code", [None, {}, {"kind": "image"}])
    def test_by_default_the_image_brings_it(self, standing_cast: Cast, code: Any) -> None:
        job = submit(standing_cast, code=code)
        assert job.code == {}
        assert spec_of(job).code == Code()

    def test_a_git_address_and_a_revision_are_kept(self, standing_cast: Cast) -> None:
        job = submit(standing_cast, code=GIT)
        assert job.code == GIT
        assert spec_of(job).code == Code(CodeKind.GIT, GIT["address"], "v1.2")

    @pytest.mark.parametrize(
        ("address", "code"),
        [
            ("http://git.example/a/b", "malformed"),
            ("git@git.example:a/b", "malformed"),
            ("ssh://git@git.example/a/b", "credentials"),
            ("https://me:token@git.example/a/b", "credentials"),
            ("https://git.example", "malformed"),
            ("https://git.example/a b", "malformed"),
            ("https://git.example/a?token=x", "malformed"),
            ("file:///etc", "malformed"),
            ("--upload-pack=id", "malformed"),
            ("", "malformed"),
            ("https://git.example/" + "a" * 300, "malformed"),
        ],
    )
    def test_only_public_https_addresses_are_taken(self, standing_cast: Cast, address: str, code: str) -> None:
        assert codes(standing_cast, code={**GIT, "address": address}) == {"code.address": code}

    @pytest.mark.parametrize("revision", ["--output=x", "a b", "a;b", "x" * 201, "$(id)"])
    def test_a_revision_is_a_word(self, standing_cast: Cast, revision: str) -> None:
        assert codes(standing_cast, code={**GIT, "revision": revision}) == {"code.revision": "malformed"}

    @pytest.mark.parametrize(
        ("code", "problem"),
        [
            ("git", {"code": "not_an_object"}),
            ({"kind": "svn"}, {"code.kind": "unknown_choice"}),
            ({"address": "https://git.example/a"}, {"code.kind": "unknown_choice"}),
            ({**GIT, "branch": "x"}, {"code.branch": "unknown_field"}),
            ({"kind": "image", "address": "x"}, {"code.address": "unknown_field"}),
            ({**GIT, "revision": 7}, {"code": "not_text"}),
            ({"kind": ["git"]}, {"code.kind": "unknown_choice"}),
        ],
    )
    def test_what_makes_no_sense_is_said_where_it_is(
        self, standing_cast: Cast, code: Any, problem: dict[str, str]
    ) -> None:
        assert codes(standing_cast, code=code) == problem

    def test_a_cluster_without_an_image_to_fetch_code_says_so(self, standing_cast: Cast, monkeypatch: Any) -> None:
        monkeypatch.setattr("clusters.supplies.is_remote", lambda cluster: True)
        assert codes(standing_cast, code=GIT) == {"code.address": "no_git"}
        Cluster.objects.update(settings={"git_image": "registry.example/git:1"})
        assert submit(standing_cast, code=GIT).code == GIT

    def test_an_upload_is_mounted_read_only(self, standing_cast: Cast, settings: Any, tmp_path: Path) -> None:
        give_storage(standing_cast, settings, tmp_path)
        archive = archive_of(standing_cast)
        job = submit(standing_cast, code={"kind": "archive", "archive": archive.public_id})
        folder = f"archives/{archive.public_id}"
        mount = Mount("team-files", folder, "/sluice/code", read_only=True)
        assert spec_of(job).code == Code(CodeKind.ARCHIVE, mount=mount)

    @pytest.mark.parametrize("archive", ["", "../../etc", "01J9ZX4T5M8K2P7QW3RBN6CVDA"])
    def test_an_upload_that_is_not_there_is_refused(self, standing_cast: Cast, archive: str) -> None:
        assert codes(standing_cast, code={"kind": "archive", "archive": archive}) == {"code.archive": "unknown_archive"}

    def test_an_upload_of_another_team_is_not_there(self, standing_cast: Cast) -> None:
        foreign = archive_of(standing_cast, "language").public_id
        assert codes(standing_cast, code={"kind": "archive", "archive": foreign}) == {"code.archive": "unknown_archive"}

    def test_an_upload_older_than_a_day_is_refused_unless_a_job_keeps_it(self, standing_cast: Cast) -> None:
        archive = archive_of(standing_cast)
        code = {"kind": "archive", "archive": archive.public_id}
        CodeArchive.objects.update(uploaded_at=timezone.now() - timezone.timedelta(days=2))
        assert codes(standing_cast, code=code) == {"code.archive": "archive_expired"}
        CodeArchive.objects.update(uploaded_at=timezone.now())
        submit(standing_cast, code=code)
        CodeArchive.objects.update(uploaded_at=timezone.now() - timezone.timedelta(days=2))
        assert submit(standing_cast, code=code).code == code


class TestDatasets:
    def test_chosen_ones_are_mounted_read_only_under_their_names(self, standing_cast: Cast) -> None:
        place = {"cluster": standing_cast.cluster, "team": standing_cast.teams["vision"]}
        dataset_set(actor=standing_cast.actor("admin"), **place, name="imagenet", volume="data", folder="imagenet/2012")
        job = submit(standing_cast, datasets=["imagenet", "imagenet"])
        assert job.datasets == ["imagenet"]
        mount = Mount("data", "imagenet/2012", "/sluice/datasets/imagenet", read_only=True)
        assert spec_of(job).mounts == (mount,)

    def test_those_of_another_team_are_not_there(self, standing_cast: Cast) -> None:
        place = {"cluster": standing_cast.cluster, "team": standing_cast.teams["language"]}
        dataset_set(actor=standing_cast.actor("admin"), **place, name="corpus", volume="data")
        assert codes(standing_cast, datasets=["corpus"]) == {"datasets": "unknown_dataset"}

    @pytest.mark.parametrize("datasets", ["imagenet", {"imagenet": 1}, [1], ["x"] * 21])
    def test_what_is_no_list_of_names_is_refused(self, standing_cast: Cast, datasets: Any) -> None:
        assert codes(standing_cast, datasets=datasets) == {"datasets": "not_a_list"}


class TestTheTeam:
    def test_a_team_with_storage_gets_its_folders(self, standing_cast: Cast, settings: Any, tmp_path: Path) -> None:
        give_storage(standing_cast, settings, tmp_path)
        job = submit(standing_cast)
        spec = spec_of(job)
        own = f"jobs/{job.public_id}"
        assert spec.mounts == (
            Mount("team-files", f"{own}/checkpoints", "/sluice/checkpoints"),
            Mount("team-files", f"{own}/results", "/sluice/results"),
            Mount("team-files", "work", "/sluice/work"),
        )
        assert (spec.checkpoint_dir, spec.results_dir) == ("/sluice/checkpoints", "/sluice/results")

    def test_a_team_without_storage_gets_none(self, standing_cast: Cast) -> None:
        spec = spec_of(submit(standing_cast))
        assert (spec.mounts, spec.checkpoint_dir, spec.results_dir) == ((), "", "")

    def test_secrets_of_the_team_go_to_every_job_of_it(self, standing_cast: Cast) -> None:
        place = {"cluster": standing_cast.cluster, "team": standing_cast.teams["vision"]}
        variables_set(actor=standing_cast.actor("lead-vision"), **place, name="wandb", values={"A": "1"})
        assert spec_of(submit(standing_cast)).env_secrets == (TeamSecret.objects.get().object_name,)

    def test_images_of_others_are_refused_and_the_own_named(self, standing_cast: Cast) -> None:
        Team.objects.filter(slug="vision").update(image_prefixes=["registry.example/vision"])
        assert codes(standing_cast, image="registry.example/vision-evil/bert:1") == {"image": "image_not_allowed"}
        assert submit(standing_cast, image="registry.example/vision/bert:1").pk

    def test_a_team_whose_programs_must_not_be_root_says_so_to_the_cluster(self, standing_cast: Cast) -> None:
        job = submit(standing_cast)
        assert spec_of(job).as_root
        Team.objects.filter(slug="vision").update(runs_as_root=False)
        assert not spec_of(job).as_root

    @pytest.mark.parametrize("name", ["NVIDIA_VISIBLE_DEVICES", "ASCEND_VISIBLE_DEVICES"])
    def test_nobody_asks_the_container_runtime_for_cards_of_others(self, standing_cast: Cast, name: str) -> None:
        assert codes(standing_cast, env={name: "all"}) == {"env": "name_reserved"}
