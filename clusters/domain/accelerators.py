"""Accelerators as clusters name them: which resource is a card, of whom, how it is shared, and what says its model.

The one place with names of accelerator resources. What no row knows and yet looks like a device is offered under its
own name, so that a new vendor is an admin's word away and not a release. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from clusters.contract import SharingMode

WHOLE, MIG, SLICED, VGPU = SharingMode.EXCLUSIVE, SharingMode.MIG, SharingMode.TIME_SLICED, SharingMode.VGPU


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One kind of card resource. ``pattern`` matches the whole name; the first row that matches counts."""

    pattern: str
    vendor: str
    sharing: SharingMode = WHOLE
    model_labels: tuple[str, ...] = ()  # of a node; the first that is there names the model, all of them the group
    family: str = ""  # put before a model that is a number alone
    interconnect: str = ""  # where the model does not tell


_NVIDIA = ("nvidia.com/gpu.product",)
_ASCEND = ("node.kubernetes.io/npu.chip.name", "accelerator-type", "accelerator")
_AMD = (
    "amd.com/gpu.product-name",
    "beta.amd.com/gpu.product-name",
    "amd.com/gpu.device-id",
    "beta.amd.com/gpu.device-id",
)

ACCELERATORS: tuple[Accelerator, ...] = (
    Accelerator(r"nvidia\.com/mig-.+", "nvidia", MIG, _NVIDIA),
    Accelerator(r"nvidia\.com/.+\.shared", "nvidia", SLICED, _NVIDIA),
    Accelerator(r"nvidia\.com/gpu", "nvidia", WHOLE, _NVIDIA),
    Accelerator(r"nvidia\.com/.+", "nvidia", WHOLE, _NVIDIA),
    Accelerator(r"volcano\.sh/vgpu-number", "nvidia", VGPU, _NVIDIA),
    Accelerator(r"amd\.com/gpu", "amd", WHOLE, _AMD, family="AMD"),
    Accelerator(r"amd\.com/.+", "amd", MIG, _AMD),
    Accelerator(r"habana\.ai/gaudi\d?", "intel", family="Gaudi"),
    Accelerator(r"gpu\.intel\.com/(i915|xe)", "intel"),
    Accelerator(r"huawei\.com/[Aa]scend-?\w+-\d+c.*", "ascend", VGPU, _ASCEND, family="Ascend", interconnect="HCCS"),
    Accelerator(r"huawei\.com/([Aa]scend-?\w+|npu)", "ascend", WHOLE, _ASCEND, family="Ascend", interconnect="HCCS"),
    Accelerator(r"cambricon\.com/(vmlu|mlu.*\.(share|mim).*)", "cambricon", VGPU),
    Accelerator(r"cambricon\.com/mlu\w*", "cambricon", family="MLU"),
    Accelerator(r"hygon\.com/dcunum", "hygon", VGPU),
    Accelerator(r"hygon\.com/dcu", "hygon", family="DCU"),
    Accelerator(r"iluvatar\.(com|ai)/.*vgpu", "iluvatar", VGPU),
    Accelerator(r"iluvatar\.(com|ai)/gpu", "iluvatar"),
    Accelerator(r"mthreads\.com/vgpu", "mthreads", VGPU),
    Accelerator(r"mthreads\.com/gpu", "mthreads"),
    Accelerator(r"metax-tech\.com/sgpu", "metax", VGPU),
    Accelerator(r"metax-tech\.com/gpu", "metax"),
    Accelerator(r"enflame\.com/(shared-gcu|drs-gcu|vgcu)", "enflame", VGPU),
    Accelerator(r"enflame\.com/gcu", "enflame"),
    Accelerator(r"kunlunxin\.com/vxpu", "kunlunxin", VGPU),
    Accelerator(r"kunlunxin\.com/xpu", "kunlunxin"),
    Accelerator(r"birentech\.com/gpu", "biren"),
    Accelerator(r"vastaitech\.com/va", "vastai"),
    Accelerator(r"aws\.amazon\.com/neuron", "aws"),
)

_PARTS = re.compile(
    r"""
      .*[-./](\w*mem(ory)?|\w*cores?|memory-percentage|\w*mem-percentage|vmemory|priority)  # of a card that has a name
    | aws\.amazon\.com/neuron(core|device)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NO_ACCELERATOR = re.compile(
    r"""
      ([^/]*\.)?(kubernetes\.io|k8s\.io|kubevirt\.io|openshift\.io|sluice\.dev|amazonaws\.com|k8s\.cni\.cncf\.io)/.*
    | (rdma|smarter-devices|github\.com|squat\.ai|intel\.com|mellanox\.com|networking\.[^/]*)/.*
    | nvidia\.com/(hostdev|cc|resibp|.*rdma|.*sriov).*
    """,
    re.IGNORECASE | re.VERBOSE,
)


def accelerator(resource: str) -> Accelerator | None:
    """The row of a resource name; one made up from the name for a device nobody knows; None if it is no card."""
    if "/" not in resource or _NO_ACCELERATOR.fullmatch(resource) or _PARTS.fullmatch(resource):
        return None
    return _known(resource) or Accelerator(re.escape(resource), resource.partition("/")[0])


def is_known(resource: str) -> bool:
    """Whether a row of the catalogue, and not the name alone, says that this is a card."""
    return _known(resource) is not None


def _known(resource: str) -> Accelerator | None:
    return next((row for row in ACCELERATORS if re.fullmatch(row.pattern, resource)), None)


_PROMISES = (("nvidia.com/gpu", "nvidia.com/gpu.product", "nvidia.com/gpu.count"),)
"""Resource, label that names the model, label that counts the cards."""


def promised(labels: Mapping[str, str]) -> tuple[str, int] | None:
    """The resource and the cards that a node's labels speak of, whatever the node reports (C-70)."""
    for resource, model, count in _PROMISES:
        cards = labels.get(count, "")
        if labels.get(model) and cards.isascii() and cards.isdigit() and 0 < len(cards) < 4 and int(cards) > 0:
            return resource, int(cards)
    return None


def sharing_of(row: Accelerator, labels: Mapping[str, str], resources: frozenset[str]) -> SharingMode:
    """How the cards of a node are shared: a whole card's name may stand for a part of it (C-71)."""
    if row.sharing is not WHOLE or row.vendor != "nvidia":
        return row.sharing
    if {"nvidia.com/gpumem", "nvidia.com/gpucores"} & resources:
        return VGPU
    shared = labels.get("nvidia.com/gpu.sharing-strategy", "none") not in ("", "none")
    return SLICED if shared or labels.get("nvidia.com/gpu.product", "").endswith("-SHARED") else WHOLE


def selector_of(row: Accelerator, labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The labels that set nodes of this model apart; empty where nothing does."""
    return tuple(sorted((name, labels[name]) for name in row.model_labels if labels.get(name)))


def model_of(row: Accelerator, resource: str, labels: Mapping[str, str]) -> str:
    """What people call the card: `A100-SXM4-80GB`, `Ascend 910B3`, `MIG 1g.10gb`; the resource's name at worst."""
    kind = resource.rpartition("/")[2]
    said = next((labels[name] for name in row.model_labels if labels.get(name)), "")
    model = re.sub(r"^(NVIDIA|Tesla|AMD|huawei)[-_ ]+|-(SHARED|MIG-[\w.]+)$", "", said).replace("_", " ")
    if row.sharing is MIG and kind.startswith("mig-"):
        return f"{model} MIG {kind.removeprefix('mig-')}".strip()
    if model and row.family and row.family.lower() not in model.lower():
        return f"{row.family} {model}"
    return model or kind


def interconnect_of(row: Accelerator, model: str) -> str:
    """How the cards of one node are joined, as far as the name of the model tells."""
    if row.interconnect:
        return row.interconnect
    if row.vendor == "nvidia" and re.search(r"SXM|HBM3|NVL|GB\d{3}|[HB]\d00(?!.*PCIE)", model, re.IGNORECASE):
        return "NVLink"
    return "PCIe" if re.search(r"PCIE|\b(A|L|RTX|T|P|V)-?\d{1,4}", model, re.IGNORECASE) else ""
