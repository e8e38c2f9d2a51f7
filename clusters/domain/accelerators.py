"""Accelerators: which resource is a card, of whom, how it is shared, and what says its model.

The catalogue is `accelerators.toml`, the one place with names of resources. What no row knows and yet looks like a
device is counted under its own name and offered to the admin to name, so that a new vendor is a word of theirs and not
a release. Pure.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from clusters.contract import SharingMode


@dataclass(frozen=True, slots=True)
class Promise:
    """Labels by which a node speaks of cards, whatever it reports (C-70)."""

    resource: str
    model: str  # label that names the model
    count: str  # label that counts the cards


@dataclass(frozen=True, slots=True)
class Portion:
    """What pods ask of each virtual card beside its number: some of its memory or of its cores."""

    resource: str
    kind: str  # memory | cores
    unit: str  # of one; '' where only the vendor knows
    of_device: bool  # what a plugin registers of a device is in this unit


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One kind of card resource; the fields are those of the catalogue. ``model`` is what an admin called it."""

    pattern: str
    vendor: str
    sharing: SharingMode = SharingMode.EXCLUSIVE
    model_labels: tuple[str, ...] = ()
    family: str = ""
    interconnect: str = ""
    cut_beside: frozenset[str] = frozenset()
    sharing_label: str = ""
    count_label: str = ""
    registers: tuple[str, ...] = ()
    most_per_card: int = 0
    portions: tuple[Portion, ...] = ()
    model: str = ""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """``vendors``: titles by key. ``rows`` are tried in order."""

    vendors: Mapping[str, str]
    rows: tuple[Accelerator, ...]
    promises: tuple[Promise, ...]
    no_card: tuple[re.Pattern[str], ...]


@cache
def catalogue() -> Catalogue:
    """The catalogue, read once."""
    data = tomllib.loads(files(__package__).joinpath("accelerators.toml").read_text(encoding="utf-8"))
    vendors = data["vendor"]
    return Catalogue(
        vendors={vendor["key"]: vendor["title"] for vendor in vendors},
        rows=tuple(_row({**vendor, **resource}) for vendor in vendors for resource in vendor["resource"]),
        promises=tuple(Promise(**vendor["promised"]) for vendor in vendors if "promised" in vendor),
        no_card=tuple(re.compile(pattern, re.IGNORECASE) for pattern in data["no_card"]["patterns"]),
    )


def _row(data: Mapping[str, Any]) -> Accelerator:
    return Accelerator(
        pattern=data["pattern"],
        vendor=data["key"],
        sharing=SharingMode(data.get("sharing", SharingMode.EXCLUSIVE)),
        model_labels=tuple(data.get("model_labels", ())),
        family=data.get("family", ""),
        interconnect=data.get("interconnect", ""),
        cut_beside=frozenset(data.get("cut_beside", ())),
        sharing_label=data.get("sharing_label", ""),
        count_label=data.get("promised", {}).get("count", ""),
        registers=tuple(data.get("registers", ())),
        most_per_card=data.get("most_per_card", 0),
        portions=tuple(
            Portion(each["resource"], each["kind"], each.get("unit", ""), each.get("of_device", False))
            for each in data.get("portions", ())
        ),
    )


Names = Mapping[str, Accelerator | None]
"""What admins say of resources that no row knows, by resource; None for what is no card."""
NO_NAMES: Names = {}


def accelerator(resource: str, names: Names = NO_NAMES) -> Accelerator | None:
    """The row of a resource name, else what admins call it, else one made up from the name; None if it is no card."""
    if "/" not in resource or any(pattern.fullmatch(resource) for pattern in catalogue().no_card):
        return None
    known = _known(resource)
    if known is None and resource in names:
        return names[resource]
    return known or Accelerator(re.escape(resource), resource.partition("/")[0])


def is_known(resource: str) -> bool:
    """Whether a row of the catalogue, and not the name alone, says that this is a card."""
    return _known(resource) is not None


@lru_cache(maxsize=1_024)  # asked for every resource of every node
def _known(resource: str) -> Accelerator | None:
    return next((row for row in catalogue().rows if re.fullmatch(row.pattern, resource)), None)


def promised(labels: Mapping[str, str]) -> tuple[str, int] | None:
    """The resource and the cards that a node's labels speak of, whatever the node reports (C-70)."""
    for promise in catalogue().promises:
        cards = labels.get(promise.count, "")
        if labels.get(promise.model) and cards.isascii() and cards.isdigit() and 0 < len(cards) < 4 and int(cards) > 0:
            return promise.resource, int(cards)
    return None


def sharing_of(row: Accelerator, labels: Mapping[str, str], resources: frozenset[str]) -> SharingMode:
    """How the cards of a node are shared: a whole card's name may stand for a part of it (C-71)."""
    if row.sharing is not SharingMode.EXCLUSIVE:
        return row.sharing
    if row.cut_beside & resources:
        return SharingMode.VGPU
    if _profile_label(row, labels):
        return SharingMode.MIG
    is_sliced = bool(row.sharing_label) and labels.get(row.sharing_label, "none") not in ("", "none")
    is_sliced |= any(labels.get(name, "").endswith("-SHARED") for name in row.model_labels)
    return SharingMode.TIME_SLICED if is_sliced else SharingMode.EXCLUSIVE


_PROFILE = re.compile(r"-MIG-([\w.+]+?)(-SHARED)?$")
"""At the end of a model: whole cards of this name are instances of that profile."""


def mig_profile(row: Accelerator, resource: str, labels: Mapping[str, str]) -> str:
    """The MIG profile that a resource counts, as `1g.10gb`; '' where it counts something else."""
    kind = resource.rpartition("/")[2]
    if row.sharing is SharingMode.MIG and kind.startswith("mig-"):
        return kind.removeprefix("mig-").removesuffix(".shared")
    return _profile_label(row, labels)


def _profile_label(row: Accelerator, labels: Mapping[str, str]) -> str:
    """As the label of the model says where all cards of a node are divided alike."""
    found = (_PROFILE.search(labels.get(name, "")) for name in row.model_labels)
    return next((match[1] for match in found if match is not None), "")


def portions_of(row: Accelerator, resource: str) -> tuple[Portion, ...]:
    """The portions of the cards of this resource, under their own names."""
    return tuple(replace(each, resource=each.resource.format(resource=resource)) for each in row.portions)


@lru_cache(maxsize=1_024)  # asked for every container that asks for several things
def _card(resource: str) -> Accelerator | None:
    return accelerator(resource)


def whole_amounts(amounts: Mapping[str, int]) -> Mapping[str, int]:
    """What a container asks for, of all its cards together: portions are given for each of them (C-32)."""
    if len(amounts) < 2:
        return amounts
    total = dict(amounts)
    for resource, cards in amounts.items():
        row = _card(resource)
        for portion in portions_of(row, resource) if row is not None and cards > 1 else ():
            if portion.resource in amounts:
                total[portion.resource] = amounts[portion.resource] * cards
    return total


def selector_of(row: Accelerator, labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The labels that set nodes of this model, shared this way, apart; empty where nothing does."""
    keys = {*row.model_labels, row.sharing_label}
    return tuple(sorted((name, labels[name]) for name in keys if labels.get(name)))


def model_of(row: Accelerator, resource: str, labels: Mapping[str, str]) -> str:
    """What people call the card: `A100-SXM4-80GB`, `Ascend 910B3`, `MIG 1g.10gb`; the resource's name at worst."""
    kind = resource.rpartition("/")[2]
    said = next((labels[name] for name in row.model_labels if labels.get(name)), "")
    model = re.sub(r"^(NVIDIA|Tesla|AMD|huawei)[-_ ]+|(-MIG-[\w.+]+?)?(-SHARED)?$", "", said).replace("_", " ")
    if row.model:
        return row.model
    if profile := mig_profile(row, resource, labels):
        return f"{model} MIG {profile}".strip()
    if model and row.family and row.family.lower() not in model.lower():
        return f"{row.family} {model}"
    return model or kind


def interconnect_of(row: Accelerator, model: str) -> str:
    """How the cards of one node are joined, as far as the name of the model tells."""
    if row.interconnect or row.model:  # what an admin called it is no product's name to read more from
        return row.interconnect
    if row.vendor == "nvidia" and re.search(r"SXM|HBM3|NVL|GB\d{3}|[HB]\d00(?!.*PCIE)", model, re.IGNORECASE):
        return "NVLink"
    return "PCIe" if re.search(r"PCIE|\b(A|L|RTX|T|P|V)-?\d{1,4}", model, re.IGNORECASE) else ""
