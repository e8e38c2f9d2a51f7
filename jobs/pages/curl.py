"""The same submit from a terminal, as a command to copy."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping

from django.http import HttpRequest
from django.urls import reverse

_DEFAULTS = {"kind": "training"}


def curl_command(request: HttpRequest, facts: Mapping[str, str]) -> str:
    """A curl command with these facts; the token is the reader's own to fill in."""
    body: dict[str, str | int] = {
        name: int(value) if name in ("cards", "replicas") and re.fullmatch("[0-9]{1,9}", value) else value
        for name, value in facts.items()
        if _DEFAULTS.get(name) != value
    }
    return " \\\n  ".join(
        (
            f"curl {shlex.quote(request.build_absolute_uri(reverse('api:jobs')))}",
            '-H "Authorization: Token $SLUICE_TOKEN"',
            "-H 'Content-Type: application/json'",
            f"-d {shlex.quote(json.dumps(body, ensure_ascii=False))}",
        )
    )
