"""Labels and annotations as far as they mean something to us. Pure."""

from __future__ import annotations

from sys import intern

import msgspec
from msgspec import field

from clusters.backends.kueue_volcano import names


class Marks(msgspec.Struct, frozen=True, gc=False):
    """The labels or annotations that mean something to us, on any object."""

    installation: str = field(default="", name=names.INSTALLATION)
    job: str = field(default="", name=names.JOB)
    attempt: str = field(default="", name=names.ATTEMPT)
    group: str = field(default="", name=names.GROUP)
    pods: str = field(default="", name=names.PODS)
    cards: str = field(default="", name=names.CARDS)
    resource: str = field(default="", name=names.RESOURCE)
    avoids: str = field(default="", name=names.AVOIDS)
    queue: str = field(default="", name=names.QUEUE_NAME)
    priority_class: str = field(default="", name=names.PRIORITY_CLASS)
    owner_uid: str = field(default="", name=names.WORKLOAD_JOB_UID)
    controller_uid: str = field(default="", name=names.CONTROLLER_UID)
    index: str = field(default="", name=names.COMPLETION_INDEX)

    def __post_init__(self) -> None:
        for name in ("installation", "attempt", "group", "pods", "cards", "resource", "queue", "priority_class"):
            if value := getattr(self, name):
                msgspec.structs.force_setattr(self, name, intern(value))


NO_MARKS = Marks()
