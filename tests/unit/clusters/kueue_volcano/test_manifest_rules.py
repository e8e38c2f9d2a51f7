"""Single rules of the pods: sizes, variables, what is refused."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from clusters.backends.kueue_volcano.frameworks import rank_host
from clusters.backends.kueue_volcano.inference import deployment_manifest
from clusters.backends.kueue_volcano.manifests import job_manifest
from clusters.contract import Code, CodeKind, Mount, Rejected, WorkloadSpec
from tests.unit.clusters.kueue_volcano.shapes import A100, GIB, SHAPE, spec


def main_of(manifest: dict[str, Any]) -> dict[str, Any]:
    [container] = manifest["spec"]["template"]["spec"]["containers"]
    found: dict[str, Any] = container
    return found


def variables_of(job: WorkloadSpec) -> dict[str, str]:
    return {entry["name"]: entry.get("value", "<rank>") for entry in main_of(job_manifest(job, SHAPE))["env"]}


class TestSizes:
    @pytest.mark.parametrize("cards", range(1, 9))
    def test_full_pods_never_ask_for_more_than_nine_tenths_of_a_node(self, cards: int) -> None:
        job = job_manifest(spec(node_group="ascend", cards_per_pod=cards), SHAPE)
        asked = main_of(job)["resources"]["requests"]
        group = SHAPE.groups["ascend"]
        pods = group.cards_per_node // cards
        assert 0 < int(asked["cpu"].removesuffix("m")) * pods * 10 <= group.cpu_millis_per_node * 9
        assert 0 < int(asked["memory"]) * pods * 10 <= group.memory_bytes_per_node * 9

    def test_a_pod_without_cards_has_no_key_of_any_card(self) -> None:
        """Case C-06."""
        job = job_manifest(spec(node_group=None, cards_per_pod=0, cpu_millis=500, memory_bytes=GIB), SHAPE)
        assert main_of(job)["resources"] == {
            "requests": {"cpu": "500m", "memory": str(GIB)},
            "limits": {"cpu": "500m", "memory": str(GIB)},
        }

    def test_a_group_whose_nodes_were_never_measured_asks_for_cards_only(self) -> None:
        unmeasured = replace(A100, cpu_millis_per_node=0, memory_bytes_per_node=0)
        job = job_manifest(spec(node_group="a100"), replace(SHAPE, groups={"a100": unmeasured}))
        assert main_of(job)["resources"]["requests"] == {"nvidia.com/gpu": "4"}
        assert job["spec"]["template"]["spec"]["volumes"][0] == {"name": "shm", "emptyDir": {"medium": "Memory"}}

    def test_shared_memory_leaves_half_of_the_pods_memory(self) -> None:
        job = job_manifest(spec(), SHAPE)
        shared = job["spec"]["template"]["spec"]["volumes"][0]["emptyDir"]["sizeLimit"]
        assert int(shared) * 2 <= int(main_of(job)["resources"]["limits"]["memory"])


class TestVariables:
    def test_a_person_cannot_take_the_place_of_a_platform_variable(self) -> None:
        typed = (("PET_NNODES", "9"), ("SLUICE_JOB_ID", "x"), ("SLUICE_RANK", "0"), ("MASTER_ADDR", "evil"))
        entries = main_of(job_manifest(spec(env=typed), SHAPE))["env"]
        names = [entry["name"] for entry in entries]
        assert len(names) == len(set(names))
        assert variables_of(spec(env=typed)) == variables_of(spec())

    def test_a_person_can_replace_a_comfort(self) -> None:
        assert variables_of(spec(env=(("HOME", "/data"),)))["HOME"] == "/data"

    def test_nobody_orders_cards_from_the_container_runtime(self) -> None:
        typed = (("NVIDIA_VISIBLE_DEVICES", "all"), ("ASCEND_VISIBLE_DEVICES", "0-7"), ("CUDA_VISIBLE_DEVICES", "0"))
        with_cards = variables_of(spec(env=typed))
        assert "NVIDIA_VISIBLE_DEVICES" not in with_cards
        assert "ASCEND_VISIBLE_DEVICES" not in with_cards
        assert with_cards["CUDA_VISIBLE_DEVICES"] == "0"
        without = variables_of(spec(env=typed, node_group=None, cards_per_pod=0))
        assert without["NVIDIA_VISIBLE_DEVICES"] == without["ASCEND_VISIBLE_DEVICES"] == "void"

    def test_torch_finds_rank_and_world_itself_only_where_a_pod_is_one_process(self) -> None:
        one = variables_of(spec(pods=3, cards_per_pod=1))
        assert (one["RANK"], one["WORLD_SIZE"], one["LOCAL_RANK"]) == ("$(SLUICE_RANK)", "3", "0")
        assert "WORLD_SIZE" not in variables_of(spec(pods=3, cards_per_pod=2))

    def test_tensorflow_reads_its_cluster_as_json(self) -> None:
        config = json.loads(
            variables_of(spec(framework="tensorflow", pods=3))["TF_CONFIG"].replace("$(SLUICE_RANK)", "2")
        )
        assert config["task"] == {"type": "worker", "index": 2}
        assert config["cluster"]["worker"] == [f"j-llama-sft-rbn6cvda00-1-{rank}.jobs:2222" for rank in range(3)]

    def test_variables_are_declared_before_others_refer_to_them(self) -> None:
        for framework in ("pytorch", "tensorflow", "mindspore", "mpi", "command"):
            names = list(variables_of(spec(framework=framework)))
            values = list(variables_of(spec(framework=framework)).values())
            first_use = next((n for n, value in enumerate(values) if "$(SLUICE_RANK)" in value), len(names))
            assert names.index("SLUICE_RANK") < first_use

    def test_folders_are_named_only_where_they_are(self) -> None:
        assert not {"SLUICE_CHECKPOINT_DIR", "SLUICE_RESULTS_DIR", "SLUICE_RESUME"} & variables_of(spec()).keys()

    def test_one_pod_needs_no_name_service(self) -> None:
        for framework in ("pytorch", "tensorflow", "mindspore", "mpi"):
            job = spec(framework=framework, pods=1)
            assert rank_host(job, 0) == "localhost"
            assert ".jobs" not in json.dumps(job_manifest(job, SHAPE)["spec"])


class TestStarts:
    """Our start scripts, run by a real shell."""

    def run(self, job: WorkloadSpec, **environment: str) -> str:
        argv = [part.replace("$$", "$") for part in main_of(job_manifest(job, SHAPE))["command"]]
        path = {"PATH": "/usr/bin:/bin"}
        return subprocess.run(argv, env=path | environment, capture_output=True, text=True, check=False).stdout

    def test_rank_0_of_an_mpi_job_runs_the_command_as_typed(self) -> None:
        job = spec(framework="mpi", command="""printf '%s|' "it's" "$HOME" $((1+1))""")
        assert self.run(job, SLUICE_RANK="0", HOME="/h") == "it's|/h|2|"

    def test_the_other_ranks_of_an_mpi_job_do_not_run_it(self) -> None:
        assert self.run(spec(framework="mpi", command="echo no", image="x"), SLUICE_RANK="1") == ""

    def test_mindspore_gets_the_schedulers_number(self) -> None:
        job = spec(framework="mindspore", command='echo "$MS_SCHED_HOST"')
        assert self.run(job, MS_SCHED_HOST="localhost").strip() in ("127.0.0.1", "::1")


REFUSED: dict[str, dict[str, Any]] = {
    "another space": {"space": "kube-system/../default"},
    "an upper-case name": {"object_name": "J-1"},
    "a name with a second line": {"object_name": "j-1\n"},
    "a queue that is no word": {"local_queue": "a/b"},
    "a priority that is none": {"priority": 1_000_000},
    "a kind that is none": {"kind": "daemon"},
    "cards without a group": {"node_group": None},
    "a group without cards": {"cards_per_pod": 0},
    "no pods": {"pods": 0},
    "a secret's path": {"env_secrets": ("../x",)},
    "a variable that is no name": {"env": (("A B", "1"),)},
    "a mount over the host's": {"mounts": (Mount("v", "", "/proc"),)},
    "a mount that climbs": {"mounts": (Mount("v", "", "/sluice/../etc"),)},
    "a folder that climbs": {"mounts": (Mount("v", "a/../../b", "/sluice/x"),)},
    "an absolute folder": {"mounts": (Mount("v", "/a", "/sluice/x"),)},
    "a mount over the home": {"mounts": (Mount("v", "", "/sluice/home"),)},
    "two mounts at one path": {"mounts": (Mount("v", "", "/sluice/x"), Mount("w", "", "/sluice/x"))},
    "a checkpoint folder that is not mounted": {"checkpoint_dir": "/sluice/checkpoints"},
    "a git address with a credential": {"code": Code(CodeKind.GIT, "https://me:token@git.example/a/b")},
    "a git address of another protocol": {"code": Code(CodeKind.GIT, "ext::sh -c id")},
    "a git address that is an option": {"code": Code(CodeKind.GIT, "--upload-pack=id")},
    "a revision that is an option": {"code": Code(CodeKind.GIT, "https://git.example/a/b", "--output=x")},
    "an archive that is nowhere": {"code": Code(CodeKind.ARCHIVE)},
}


@pytest.mark.parametrize("what", sorted(REFUSED))
def test_no_object_is_made_of(what: str) -> None:
    for build in (job_manifest, deployment_manifest):
        with pytest.raises(Rejected) as refused:
            build(spec(**REFUSED[what]), SHAPE)
        assert refused.value.code == "spec_refused"


def test_a_group_the_cluster_does_not_have_is_refused() -> None:
    with pytest.raises(Rejected, match="tpu"):
        job_manifest(spec(node_group="tpu"), SHAPE)


def test_code_from_git_is_refused_where_the_cluster_has_no_image_to_fetch_it() -> None:
    job = spec(code=Code(CodeKind.GIT, "https://git.example/a/b"))
    with pytest.raises(Rejected) as refused:
        job_manifest(job, replace(SHAPE, git_image=""))
    assert refused.value.code == "no_git_image"


def test_the_grace_to_stop_is_the_pods_own() -> None:
    job = job_manifest(spec(stop_grace=timedelta(minutes=15)), SHAPE)
    assert job["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 900
