"""A plan as somebody sent it, in the shape of `quotas.plans.content`; what is left out stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from common.errors import FieldProblem, InvalidInput
from common.texts import storable
from quotas.domain.plan import PART_FIELDS, GroupPart, Plan, QueuePart


def plan_from(value: Any, before: Plan) -> Plan:
    """The queues that are named, with what is not said of them taken from ``before``. Raises InvalidInput."""
    reader = _Reader()
    queues = {
        name: reader.queue(f"queues.{storable(name)}", part, before.queue(name))
        for name, part in reader.object("queues", value).items()
    }
    if reader.problems:
        raise InvalidInput(reader.problems)
    return Plan(queues)


_OF_QUEUE = frozenset({"rank", "strict", "reclaims", "groups"})
_OF_PART = frozenset({*PART_FIELDS, "nominal"})
"""Cards follow from the share: they are read, and sent back with a plan, and decide nothing."""


class _Reader:
    """Reads values of the right kind and notes the others."""

    def __init__(self) -> None:
        self.problems: list[FieldProblem] = []

    def object(self, attr: str, value: Any) -> Mapping[str, Any]:
        if isinstance(value, dict):
            return value
        self.problems.append(FieldProblem(attr, "not_an_object", _("Send an object with names and their values.")))
        return {}

    def known(self, attr: str, given: Mapping[str, Any], names: frozenset[str]) -> None:
        """Note names that mean nothing: a misspelt one would silently leave everything as it is."""
        for name in sorted(set(given) - names):
            message = _("This field is not known. Check its spelling.")
            self.problems.append(FieldProblem(f"{attr}.{storable(name)}", "unknown_field", message))

    def queue(self, attr: str, value: Any, before: QueuePart) -> QueuePart:
        given = self.object(attr, value)
        self.known(attr, given, _OF_QUEUE)
        groups = dict(before.groups)
        for group, part in self.object(f"{attr}.groups", given.get("groups", {})).items():
            groups[group] = self.part(f"{attr}.groups.{storable(group)}", part, before.part(group))
        return QueuePart(
            rank=self.number(f"{attr}.rank", given.get("rank", before.rank)),
            strict=self.truth(f"{attr}.strict", given.get("strict", before.strict)),
            reclaims=self.truth(f"{attr}.reclaims", given.get("reclaims", before.reclaims)),
            groups=groups,
        )

    def part(self, attr: str, value: Any, before: GroupPart) -> GroupPart:
        given = self.object(attr, value)
        self.known(attr, given, _OF_PART)
        return GroupPart(
            basis_points=self.number(f"{attr}.basis_points", given.get("basis_points", before.basis_points)),
            borrow_basis_points=self.limit(attr, given, "borrow_basis_points", before.borrow_basis_points),
            lend_basis_points=self.limit(attr, given, "lend_basis_points", before.lend_basis_points),
        )

    def limit(self, attr: str, given: Mapping[str, Any], name: str, before: int | None) -> int | None:
        value = given.get(name, before)
        return None if value is None else self.number(f"{attr}.{name}", value)

    def number(self, attr: str, value: Any) -> int:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        self.problems.append(FieldProblem(attr, "not_a_number", _("Send a whole number.")))
        return 0

    def truth(self, attr: str, value: Any) -> bool:
        if isinstance(value, bool):
            return value
        self.problems.append(FieldProblem(attr, "not_a_boolean", _("Send true or false.")))
        return False
