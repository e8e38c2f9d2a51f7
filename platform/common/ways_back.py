"""Back to where somebody came from, as the form says: a path of this console, or else a place of our choosing."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme


def path_back(request: HttpRequest, *, otherwise: str) -> str:
    """The form's ``next``, if it is a path of this site. To be led to as it is: `redirect` would take it for a name."""
    target = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return target if is_ours and target.startswith("/") else otherwise
