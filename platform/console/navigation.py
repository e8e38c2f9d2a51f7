"""Which console a page belongs to, and what its side bar offers (filled in below per role)."""
from __future__ import annotations
from typing import Any
from django.http import HttpRequest
def navigation(request: HttpRequest) -> dict[str, Any]:
    return {}
