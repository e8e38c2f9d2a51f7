"""How a call to a cluster may fail."""

from __future__ import annotations


class BackendError(Exception):
    """A call to a cluster failed. ``code`` is stable, ``detail`` is the cluster's own text for admins."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(detail or code)
        self.code = code
        self.detail = detail


class Retryable(BackendError):
    """The same call may succeed later: time-out, overload, connection lost."""


class Rejected(BackendError):
    """The cluster refused this object for good; repeating the call gives the same answer."""


class Unauthorized(BackendError):
    """The credential is not accepted or lacks a right; an admin has to act."""
