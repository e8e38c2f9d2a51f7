"""What admins type about a node group, checked: each problem one sentence at its field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from clusters.group_models import GroupProposal
from clusters.group_nodes import selector_of_group
from clusters.group_preview import Picture, Preview, preview
from clusters.models import NodeGroup
from common.errors import FieldProblem, InvalidInput
from common.names import clean_display_name
from common.phrases import listed

TITLE_MAX, INTERCONNECT_MAX, LABELS_MAX, POSITION_MAX = 100, 40, 10, 9_999
NODES_NAMED = 3
_WORD = r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
_KEY = re.compile(rf"([a-z0-9]([a-z0-9.-]{{0,251}}[a-z0-9])?/)?{_WORD}")
_VALUE = re.compile(rf"({_WORD})?")


@dataclass(frozen=True, slots=True)
class Words:
    """What a group is called, where it stands, and which labels a node of it carries."""

    title: str
    interconnect: str
    position: int
    selector: tuple[tuple[str, str], ...]


def checked_words(
    picture: Picture, row: NodeGroup | GroupProposal, data: Mapping[str, Any], *, position: int
) -> tuple[Words, Preview]:
    """What was typed over what the group has now, and the nodes it comes to. Raises InvalidInput with every problem.

    ``position`` is the one to keep when none is given.
    """
    problems: list[FieldProblem] = []
    title = _line(data.get("title", row.title), "title", TITLE_MAX, problems)
    if not title and not problems:
        problems.append(FieldProblem("title", "blank", _("Give the group a name.")))
    if any(other.slug != row.slug and other.title.casefold() == title.casefold() for other in _named(picture)):
        problems.append(FieldProblem("title", "taken", _("Another node group of this cluster has this name.")))
    interconnect = _line(data.get("interconnect", row.interconnect), "interconnect", INTERCONNECT_MAX, problems)
    position = _position(data.get("position", position), problems)
    selector = selector_of_group(row)
    if "selector" in data:
        selector = _selector(data["selector"], problems)
    if selector != selector_of_group(row) and not any(node.labels for node in picture.nodes.values()):
        message = _("The nodes of this cluster carry no labels that could be chosen.")
        problems.append(FieldProblem("selector", "no_labels", message))
    found = preview(picture, row, selector)
    if not any(problem.attr == "selector" for problem in problems):
        problems += _member_problems(row, selector, found)
    if problems:
        raise InvalidInput(problems)
    return Words(title, interconnect, position, selector), found


def _named(picture: Picture) -> Iterable[NodeGroup | GroupProposal]:
    return (*picture.groups.values(), *(row for row in picture.proposals.values() if row.is_aside))


def _line(value: object, attr: str, limit: int, problems: list[FieldProblem]) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if not isinstance(value, str):
        problems.append(FieldProblem(attr, "invalid", _("Write this as a text.")))
    elif clean_display_name(text) != text and len(text) <= limit:
        message = _("This holds characters that cannot be seen. Type it anew.")
        problems.append(FieldProblem(attr, "invisible", message))
    elif len(text) > limit:
        message = _("Write at most %(count)d characters.") % {"count": limit}
        problems.append(FieldProblem(attr, "too_long", message))
    return text


def _position(value: object, problems: list[FieldProblem]) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= POSITION_MAX:
        return value
    message = _("Write a whole number from 0 to %(count)d.") % {"count": POSITION_MAX}
    problems.append(FieldProblem("position", "invalid", message))
    return 0


def _selector(value: object, problems: list[FieldProblem]) -> tuple[tuple[str, str], ...]:
    def refuse(code: str, message: str) -> tuple[tuple[str, str], ...]:
        problems.append(FieldProblem("selector", code, message))
        return ()

    if not isinstance(value, Mapping) or not all(isinstance(part, str) for pair in value.items() for part in pair):
        return refuse("invalid", _("Write labels as names with values."))
    if not value:
        return refuse("blank", _("Name at least one label, or every node would be a member."))
    if len(value) > LABELS_MAX:
        return refuse("too_many", _("Name at most %(count)d labels.") % {"count": LABELS_MAX})
    for key, text in value.items():
        if not _KEY.fullmatch(key):
            message = _("No label can be called %(label)s. Write it as the cluster does, such as %(example)s.")
            return refuse("label_name", message % {"label": clean_display_name(key)[:80], "example": "site/fabric"})
        if not _VALUE.fullmatch(text):
            message = _("The label %(label)s cannot have this value: at most 63 letters, digits, dots and dashes.")
            return refuse("label_value", message % {"label": key})
    return tuple(sorted(value.items()))


def _member_problems(
    row: NodeGroup | GroupProposal, selector: tuple[tuple[str, str], ...], found: Preview
) -> list[FieldProblem]:
    """Labels that nobody touched are left alone: a confirmed group may have lost its last node."""
    is_new = isinstance(row, GroupProposal)
    if selector == selector_of_group(row) and not is_new:
        return []
    if found.contested:
        count = len(found.contested)
        message = ngettext(
            "%(count)d node would belong to two groups: %(nodes)s, also in %(group)s. "
            "Name a label by which they differ.",
            "%(count)d nodes would belong to two groups: %(nodes)s, also in %(group)s. "
            "Name a label by which they differ.",
            count,
        ) % {
            "count": count,
            "nodes": listed(sorted(found.contested)[:NODES_NAMED]),
            "group": found.contested[min(found.contested)],
        }
        return [FieldProblem("selector", "contested", message)]
    if not found.members:
        message = _("No node with %(resource)s carries these labels.") % {"resource": row.resource}
        return [FieldProblem("selector", "no_nodes", message)]
    return []
