"""Memory and cores of virtual cards in answers of the API."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from rest_framework import serializers

from clusters.contract import CardPart


class CardPartOut(serializers.Serializer[Any]):
    """Memory or cores of virtual cards, as the pods on the nodes ask for them. Never added to cards."""

    resource = serializers.CharField()
    unit = serializers.CharField(allow_blank=True, help_text="Of all amounts; empty: the vendor's own.")
    capacity = serializers.IntegerField(allow_null=True, help_text="Null: not known of every node.")
    asked = serializers.IntegerField(help_text="By all pods that are placed there, for all their cards together.")
    used = serializers.IntegerField(help_text="Asked for by those of them that run.")
    unsaid = serializers.IntegerField(
        help_text="Virtual cards of pods that name no amount of this kind: they may take more than is asked for."
    )


def parts_body(parts: Iterable[CardPart]) -> list[dict[str, Any]]:
    return [asdict(part) for part in parts]
