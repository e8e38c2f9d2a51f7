"""What an admin changed of a plan and has not saved. Pure.

A draft keeps only what differs, each value by its place, so that it can be laid over any newer plan: what somebody
else saved meanwhile stays, but for the very values that were changed here. Keys are `queue/group/field`; rules have no
group.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from quotas.domain.plan import PART_FIELDS, Plan, QueuePart

Value = int | bool | None
Draft = dict[str, Value]

RULE_FIELDS = ("rank", "strict", "reclaims")


def drafted(draft: Mapping[str, Value], typed: Plan, seen: Plan) -> Draft:
    """The draft after somebody who saw ``seen`` typed what is in ``typed``; what it does not name stays drafted."""
    values, before = dict(draft), dict(_values(typed, seen))
    for key, value in _values(typed, typed):
        if value == before[key]:
            values.pop(key, None)
        else:
            values[key] = value
    return values


def changes(draft: Mapping[str, Value], plan: Plan, groups: Collection[str]) -> Plan:
    """The queues and node groups that a draft changes, laid over ``plan``; what is gone by now is left out."""
    found: dict[str, QueuePart] = {}
    for key, value in draft.items():
        name, group, field = key.split("/")
        if name not in plan.queues or (group and group not in groups):
            continue
        queue = found.get(name) or replace(plan.queue(name), groups={})
        new: dict[str, Any] = {field: value}
        if group:
            part = queue.groups.get(group) or plan.queue(name).part(group)
            new = {"groups": {**queue.groups, group: replace(part, **new)}}
        found[name] = replace(queue, **new)
    return Plan(found)


def laid_over(plan: Plan, changed: Plan) -> Plan:
    """The whole plan with what is changed of it."""
    queues = dict(plan.queues)
    for name, part in changed.queues.items():
        queues[name] = replace(part, groups={**plan.queue(name).groups, **part.groups})
    return Plan(queues)


def _values(shape: Plan, plan: Plan) -> Iterator[tuple[str, Value]]:
    """The values of ``plan`` at the places that ``shape`` has."""
    for name, part in shape.queues.items():
        queue = plan.queue(name)
        for field in RULE_FIELDS:
            yield f"{name}//{field}", getattr(queue, field)
        for group in part.groups:
            for field in PART_FIELDS:
                yield f"{name}/{group}/{field}", getattr(queue.part(group), field)
