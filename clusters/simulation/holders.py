"""Who holds quota, kept in the order in which the gate would take it away again."""

from __future__ import annotations

from collections.abc import Iterator

from clusters.simulation.world import Stage, Workload

Ranked = tuple[int, int, int, Workload]


def rank(workload: Workload) -> Ranked:
    """Low priority first, then the newest admission."""
    return (workload.spec.priority, -workload.run.admitted_ms, -workload.sequence, workload)


class Holders:
    """Workloads of one queue that hold quota in one node group.

    A queue admits at most one workload per cycle and cycles are at least a millisecond apart, so inside a
    priority the order of adding is the order of admission. Only a change of priority adds out of this order.
    """

    __slots__ = ("_by_priority", "_leaving")

    def __init__(self) -> None:
        self._by_priority: dict[int, dict[str, Workload]] = {}
        self._leaving: dict[str, Workload] = {}

    def add(self, workload: Workload) -> None:
        if workload.stage is Stage.EVICTING:
            self._leaving[workload.name] = workload
        else:
            self._by_priority.setdefault(workload.spec.priority, {})[workload.name] = workload

    def insert(self, workload: Workload) -> None:
        """Add one whose priority has changed: among its new equals it stands by its admission."""
        self.add(workload)
        if workload.stage is not Stage.EVICTING:
            members = self._by_priority[workload.spec.priority]
            by_admission = sorted(members.values(), key=lambda member: member.run.admitted_ms)
            self._by_priority[workload.spec.priority] = {member.name: member for member in by_admission}

    def remove(self, workload: Workload) -> None:
        if self._leaving.pop(workload.name, None) is None:
            members = self._by_priority[workload.spec.priority]
            del members[workload.name]
            if not members:
                del self._by_priority[workload.spec.priority]

    def leaving(self, below: int | None = None) -> list[Ranked]:
        """Those already told to leave."""
        return sorted(rank(w) for w in self._leaving.values() if below is None or w.spec.priority < below)

    def staying(self, below: int | None = None) -> Iterator[Ranked]:
        """All others, in the order of :func:`rank`."""
        for priority in sorted(self._by_priority):
            if below is not None and priority >= below:
                return
            for workload in reversed(self._by_priority[priority].values()):
                yield rank(workload)

    def has_any(self, below: int | None = None) -> bool:
        return bool(self.leaving(below)) or next(self.staying(below), None) is not None
