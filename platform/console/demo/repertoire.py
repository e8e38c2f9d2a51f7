"""Words for demo jobs: names, images, commands, run times. The same occasion always gives the same job.

Names mix English and Chinese as people's own do; they are data and are never translated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from clusters.simulation.randomness import draw, draw_between, draw_unit
from console.demo.layout import A100, ASCEND, H100, PEOPLE, SLICES
from console.demo.situation import Request
from jobs.domain.words import Framework, Kind, Priority

T = TypeVar("T")

FAILING = 0.13
"""Part of the jobs whose program fails."""
RETRYING = 0.3
"""Part of those that ask for one more try."""
FAILS_WITHIN_S = (90, 1_500)

_SLEEP = re.compile(r"\bsleep (\d+)\b")


@dataclass(frozen=True, slots=True)
class Part:
    """What the director wants on stage. ``minutes`` = shortest and longest run time; None = until stopped."""

    team: str
    group: str | None
    cards: int
    minutes: tuple[int, int] | None
    priority: Priority = Priority.NORMAL
    kind: Kind = Kind.TRAINING
    may_fail: bool = True
    may_retry: bool = True
    held: bool = False


_TRAINING = {
    "vision": (
        "lane-seg-swin-v{n}", "行人重识别-微调-{n}", "bev-fusion-night-{n}", "点云补全-消融{n}", "dinov2-distill-{n}",
        "夜间检测-v{n}", "ocr-竖排-微调-{n}", "sam-adapter-lr{n}", "depth-稀疏监督-{n}", "traffic-sign-resnet-{n}",
        "遥感分割-{n}", "detr-small-objects-{n}",
    ),
    "language": (
        "sft-客服对话-{n}", "reward-model-v{n}", "translate-zh-de-{n}", "摘要-dpo-{n}", "embed-检索-{n}",
        "moe-warmup-{n}", "code-infill-{n}", "法律问答-lora-{n}", "asr-distill-{n}", "分词器-扩充-{n}",
        "toxicity-classifier-{n}", "math-rl-{n}",
    ),
    "robotics": (
        "grasp-ppo-{n}", "四足步态-模仿-{n}", "sim2real-随机化-{n}", "slam-回环-{n}", "diffusion-policy-arm-{n}",
        "导航-长廊-{n}", "tactile-vae-{n}", "mpc-残差-{n}", "dagger-stack-{n}", "双臂-装配-{n}",
    ),
}  # fmt: skip
_LARGE = {
    "vision": ("vit-h-pretrain-{n}", "视频大模型-预训练-{n}", "occ-net-全场景-{n}", "clip-zh-large-{n}"),
    "language": ("7b-续训-阶段{n}", "longctx-128k-{n}", "13b-sft-全量-{n}", "moe-8x3b-{n}"),
    "robotics": ("world-model-{n}", "vla-预训练-{n}", "isaac-batch-{n}", "通用抓取-全量-{n}"),
}
_DEVELOPMENT = {
    "vision": ("notebook-标注检查-{n}", "debug-dataloader-{n}", "onnx-export-{n}"),
    "language": ("notebook-prompt-{n}", "profile-attention-{n}", "评测-调试-{n}"),
    "robotics": ("notebook-仿真-{n}", "urdf-viewer-{n}", "policy-probe-{n}"),
}
_WITHOUT_CARDS = {
    "vision": ("make-tfrecords-{n}", "图片去重-{n}"),
    "language": ("清洗-抓取语料-{n}", "tokenize-corpus-{n}"),
    "robotics": ("rosbag-to-parquet-{n}", "轨迹切片-{n}"),
}
_IMAGES = {
    Framework.PYTORCH: ("registry.example/base/pytorch:2.7-cuda12.6", "registry.example/base/pytorch:2.5-cuda12.4"),
    Framework.TENSORFLOW: ("registry.example/base/tensorflow:2.18-gpu",),
    Framework.MINDSPORE: ("registry.example/base/mindspore:2.5-cann8",),
    Framework.MPI: ("registry.example/base/openmpi:5.0-cuda12.6",),
    Framework.COMMAND: ("registry.example/base/python:3.11",),
}
_FRAMEWORKS = {
    H100: (Framework.PYTORCH,) * 5 + (Framework.MPI,),
    A100: (Framework.PYTORCH,) * 6 + (Framework.TENSORFLOW,) * 2 + (Framework.MPI, Framework.COMMAND),
    # Only MindSpore, and MindSpore only here: a person's next job without a card model goes to the vendor of
    # their last one of the same framework.
    ASCEND: (Framework.MINDSPORE,),
    SLICES: (Framework.PYTORCH, Framework.PYTORCH, Framework.TENSORFLOW, Framework.COMMAND),
    None: (Framework.COMMAND,),
}
_EXIT_CODES = (1, 1, 1, 1, 2, 3, 134)
_LEADS_SUBMIT = 1
_ENGINEERS_SUBMIT = 3
"""Weights: an engineer submits three times as often as a lead."""


def pick(items: Sequence[T], seed: int, *key: object) -> T:
    """One of them, the same for the same key."""
    return items[draw(seed, *key) % len(items)]


def compose(seed: int, part: Part, *occasion: object) -> Request:
    """The job that plays a part on this occasion (a moment, usually)."""
    key = (*occasion, part.team, part.group, part.cards, part.priority.value)
    framework = pick(_FRAMEWORKS[part.group], seed, *key, "framework")
    name = pick(_titles(part), seed, *key, "title").format(n=draw_between(1, 48, seed, *key, "number"))
    fails = part.may_fail and part.minutes is not None and draw_unit(seed, *key, "fails") < FAILING
    retries = fails and part.may_retry and draw_unit(seed, *key, "retries") < RETRYING
    return Request(
        team=part.team,
        owner=pick(_OWNERS[part.team], seed, *key, "owner"),
        group=part.group,
        cards=part.cards,
        priority=part.priority,
        kind=part.kind,
        framework=framework.value,
        name=name,
        image=pick(_IMAGES[framework], seed, *key, "image"),
        command=_command(seed, part, fails, *key),
        retry_limit=1 if retries else 0,
        held=part.held,
    )


def planned_run_ms(command: str) -> int | None:
    """How long a job of the repertoire runs; None = until it is stopped."""
    found = _SLEEP.search(command)
    return int(found[1]) * 1_000 if found else None


def _titles(part: Part) -> Sequence[str]:
    if part.kind is Kind.DEVELOPMENT:
        return _DEVELOPMENT[part.team]
    if not part.cards:
        return _WITHOUT_CARDS[part.team]
    return (_LARGE if part.cards >= 8 else _TRAINING)[part.team]


def _command(seed: int, part: Part, fails: bool, *key: object) -> str:
    if part.kind is Kind.DEVELOPMENT:
        program = "jupyter lab --no-browser"
    elif not part.cards:
        program = "python prepare.py --workers 16"
    else:
        program = f"python train.py --config configs/base.yaml --seed {draw_between(1, 9_999, seed, *key, 'seed')}"
    if part.minutes is None:
        return f"{program}; sleep infinity"
    shortest, longest = part.minutes
    seconds = draw_between(shortest * 60, longest * 60, seed, *key, "run")
    if not fails:
        return f"{program}; sleep {seconds}; exit 0"
    seconds = min(seconds, draw_between(*FAILS_WITHIN_S, seed, *key, "fails after"))
    return f"{program}; sleep {seconds}; exit {pick(_EXIT_CODES, seed, *key, 'code')}"


def _owners() -> dict[str, tuple[str, ...]]:
    owners: dict[str, list[str]] = {}
    for person in PEOPLE:
        if person.team is not None:
            weight = _LEADS_SUBMIT if person.role == "lead" else _ENGINEERS_SUBMIT
            owners.setdefault(person.team, []).extend([person.username] * weight)
    return {team: tuple(names) for team, names in owners.items()}


_OWNERS = _owners()
