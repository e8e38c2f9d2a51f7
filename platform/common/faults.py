"""Named points before and after every outside call and commit, so that a test can die at each of them.

Does nothing unless a test installs a handler. Production never does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_handler: Callable[[str], None] | None = None


def reach(point: str) -> None:
    """Tell the installed handler, if any, that execution is at ``point``; the handler may raise or exit."""
    if _handler is not None:
        _handler(point)


@contextmanager
def handler(call: Callable[[str], None]) -> Iterator[None]:
    """Install ``call`` for the duration of the block (tests only)."""
    global _handler
    previous, _handler = _handler, call
    try:
        yield
    finally:
        _handler = previous
