"""The garbage collector, paused while many objects are made that cannot be garbage yet.

Each collection looks at all of them again: a quarter of the time in which the state of ten thousand jobs is read.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_pausing = 0
_was_enabled = True


@contextmanager
def collection_paused() -> Iterator[None]:
    """No search for cyclic garbage during the block, in the whole process. May be nested and used by many threads.

    For blocks that make large trees and end soon; what is let go without being part of a cycle is freed as ever.
    """
    _pause()
    try:
        yield
    finally:
        _resume()


def _pause() -> None:
    global _pausing, _was_enabled
    with _lock:
        if _pausing == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _pausing += 1


def _resume() -> None:
    global _pausing
    with _lock:
        _pausing -= 1
        if _pausing == 0 and _was_enabled:
            gc.enable()
