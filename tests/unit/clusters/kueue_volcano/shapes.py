"""One cluster and one job of each sort, as the builders of objects see them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from clusters.backends.kueue_volcano.shape import ClusterShape, GroupShape
from clusters.contract import Code, CodeKind, Mount, WorkloadSpec

GIB = 2**30

H100 = GroupShape(
    resource="nvidia.com/gpu",
    selector=(("nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"),),
    cards_per_node=8,
    cpu_millis_per_node=160_000,
    memory_bytes_per_node=1_600 * GIB,
    rdma_resource="rdma/hca",
)
A100 = replace(H100, selector=(("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-80GB"),), rdma_resource="")
ASCEND = GroupShape(
    resource="huawei.com/Ascend910",
    selector=(("accelerator", "huawei-Ascend910"), ("accelerator-type", "module-910b-8")),
    cards_per_node=8,
    cpu_millis_per_node=190_001,
    memory_bytes_per_node=1_500 * GIB + 1,
)
SHAPE = ClusterShape(
    installation="01j9zz0000000000000000site",
    groups={"h100": H100, "a100": A100, "ascend": ASCEND},
    git_image="registry.example/tools/git:2.45",
)


def spec(**changed: Any) -> WorkloadSpec:
    """A PyTorch job of 2 pods with 4 cards each on H100."""
    whole: dict[str, Any] = {
        "job_ulid": "01J9ZX4T5M8K2P7QW3RBN6CVDA",
        "attempt": 1,
        "object_name": "j-llama-sft-rbn6cvda00-1",
        "spec_hash": "0123456789abcdef0123456789abcdef",
        "space": "slu-vision-7k2m9q",
        "queue": "vision",
        "local_queue": "default",
        "node_group": "h100",
        "priority": 200,
        "kind": "training",
        "framework": "pytorch",
        "image": "registry.example/vision/pytorch:2.4",
        "command": "torchrun train.py --epochs 3",
        "env": (),
        "pods": 2,
        "cards_per_pod": 4,
        "cpu_millis": 0,
        "memory_bytes": 0,
        "stop_grace": timedelta(seconds=120),
        "max_run": None,
        "display_name": "Llama SFT 第3次",
    }
    return WorkloadSpec(**(whole | changed))


CHECKPOINTS = Mount("team-files", "jobs/01J9ZX4T5M8K2P7QW3RBN6CVDA/checkpoints", "/sluice/checkpoints")
RESULTS = Mount("team-files", "jobs/01J9ZX4T5M8K2P7QW3RBN6CVDA/results", "/sluice/results")
WORK = Mount("team-files", "work", "/sluice/work")
IMAGENET = Mount("imagenet-2012", "", "/sluice/datasets/imagenet", read_only=True)
UPLOADED = Mount("team-files", "jobs/01J9ZX4T5M8K2P7QW3RBN6CVDA/code", "/sluice/code", read_only=True)

SPECS: dict[str, tuple[WorkloadSpec, ClusterShape]] = {
    "pytorch_2x4": (spec(env=(("EPOCHS", "3"), ("PRICE", "$5 $(HOME)"))), SHAPE),
    "pytorch_1x8_with_files": (
        spec(
            node_group="a100",
            pods=1,
            cards_per_pod=8,
            priority=300,
            mounts=(CHECKPOINTS, RESULTS, WORK, IMAGENET),
            checkpoint_dir=CHECKPOINTS.path,
            results_dir=RESULTS.path,
            env_secrets=("env-wandb",),
            pull_secrets=("pull-harbor",),
            as_root=False,
        ),
        replace(SHAPE, ceiling=timedelta(days=7)),
    ),
    "command_without_cards": (
        spec(
            framework="command",
            node_group=None,
            pods=1,
            cards_per_pod=0,
            cpu_millis=4_000,
            memory_bytes=16 * GIB,
            command="",
        ),
        SHAPE,
    ),
    "mpi_2x8": (spec(framework="mpi", node_group="a100", cards_per_pod=8, command="mpirun ./solve"), SHAPE),
    "mindspore_2x8_on_ascend": (
        spec(
            framework="mindspore",
            node_group="ascend",
            cards_per_pod=8,
            command="msrun --worker_num=$MS_WORKER_NUM --master_addr=$MS_SCHED_HOST train.py",
        ),
        SHAPE,
    ),
    "tensorflow_2x4_without_topology": (
        spec(framework="tensorflow", node_group="a100", command="python train.py"),
        replace(SHAPE, topology_aware=False),
    ),
    "development_1x1_from_an_archive": (
        spec(
            kind="development",
            framework="command",
            node_group="a100",
            pods=1,
            cards_per_pod=1,
            command="sleep 3600",
            code=Code(CodeKind.ARCHIVE, mount=UPLOADED),
        ),
        SHAPE,
    ),
    "pytorch_1x8_from_git_without_volcano": (
        spec(
            node_group="a100",
            pods=1,
            cards_per_pod=8,
            code=Code(CodeKind.GIT, "https://git.example/vision/train.git", "v1.2"),
        ),
        replace(SHAPE, has_volcano=False, topology_levels=("example.com/rack", "kubernetes.io/hostname")),
    ),
}
INFERENCE = (
    spec(
        kind="inference",
        framework="command",
        node_group="a100",
        cards_per_pod=1,
        pods=3,
        priority=450,
        command="serve --port 8000",
    ),
    replace(SHAPE, ceiling=timedelta(days=7)),
)
