"""How many physical cards lie behind the shares of a node (C-71): as far as it says so, and never a guess. Pure.

A node may say it in three ways. Sharing plugins register the devices that they divide in an annotation; feature
discovery counts cards in a label; and of a MIG profile no more than so many instances fit on one card, so that there
are bounds, which say it where they meet.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from clusters.contract import SharingMode
from clusters.domain.accelerators import Accelerator, accelerator, mig_profile

_UNSHARED = ("", "none")
_NUMBER = re.compile(r"[1-9][0-9]{0,2}")


class Device(msgspec.Struct, frozen=True):
    """One physical card as a sharing plugin registers it. ``memory`` is in MiB; 0: it does not say."""

    id: str
    shares: int = msgspec.field(default=0, name="count")
    memory: int = msgspec.field(default=0, name="devmem")
    cores: int = msgspec.field(default=0, name="devcore")  # percent


_DEVICES = msgspec.json.Decoder(list[Device])


@dataclass(frozen=True, slots=True)
class Told:
    """What a node says about the shares of one resource. ``whole``: cards that it offers whole beside them."""

    resource: str
    shares: int
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    whole: int = 0


def registered(row: Accelerator, resource: str, annotations: Mapping[str, str]) -> tuple[Device, ...]:
    """The physical cards that a plugin divides; none where the node says nothing that can be read."""
    for name in row.registers:
        text = annotations.get(name.format(kind=resource.rpartition("/")[2]), "")
        devices = {device.id: device for device in _read(text) if device.id}
        if devices:
            return tuple(devices.values())
    return ()


def divided(row: Accelerator, resource: str, shares: int, annotations: Mapping[str, str]) -> tuple[Device, ...]:
    """The registered cards if they make this number of shares: what a plugin left behind says nothing any more."""
    devices = registered(row, resource, annotations)
    return devices if len(devices) < shares <= sum(device.shares for device in devices) else ()


def _read(text: str) -> list[Device]:
    """JSON, or one device after the other with colons between them and commas within."""
    if text.startswith("["):
        try:
            return _DEVICES.decode(text)
        except msgspec.MsgspecError:
            return []
    return [device for part in text.split(":") if (device := _of_commas(part.split(","))) is not None]


def _of_commas(words: list[str]) -> Device | None:
    """id, shares and memory; then the cores, unless the next word is the model already."""
    if len(words) < 4 or not (words[1].isascii() and words[1].isdigit() and words[2].isascii() and words[2].isdigit()):
        return None
    cores = int(words[3]) if words[3].isascii() and words[3].isdigit() else 100
    return Device(words[0], int(words[1]), int(words[2]), cores)


def physical_cards(row: Accelerator, sharing: SharingMode, told: Told) -> int | None:
    """The physical cards behind what a node offers of a resource; None where it does not say."""
    if sharing is SharingMode.EXCLUSIVE:
        return told.shares
    devices = divided(row, told.resource, told.shares, told.annotations)
    if devices:
        return len(devices)
    profile = mig_profile(row, told.resource, told.labels)
    is_single = bool(profile) and not told.resource.rpartition("/")[2].startswith("mig-")
    counted = None if is_single else _number(told.labels.get(row.count_label, ""))  # in this way it counts instances
    left = counted - told.whole if counted is not None and 0 < counted - told.whole <= told.shares else None
    if sharing is not SharingMode.MIG:
        return left
    most = _most_per_card(row, told.resource, profile)
    fewest = 1 if most is None or _is_multiplied(row, told) else -(-told.shares // most)
    return fewest if fewest == (told.shares if left is None else left) else None


def _most_per_card(row: Accelerator, resource: str, profile: str) -> int | None:
    """Instances of the profile on one card; None where the catalogue does not know."""
    of_profile = accelerator(f"{resource.partition('/')[0]}/mig-{profile}") if profile else row
    return (of_profile.most_per_card if of_profile is not None else 0) or None


def _is_multiplied(row: Accelerator, told: Told) -> bool:
    """Whether one instance counts several times, because it is time-sliced on top."""
    strategies = (told.labels.get(name, "") for name in (row.sharing_label, f"{told.resource}.sharing-strategy"))
    names = (told.resource, *(told.labels.get(name, "") for name in row.model_labels))
    return any(each not in _UNSHARED for each in strategies) or any(each.lower().endswith("shared") for each in names)


def _number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) else None
