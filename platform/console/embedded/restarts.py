"""When a child that ended is started again. Pure: the clock is an argument."""

from __future__ import annotations

STEADY_SECONDS = 10.0
DELAYS = (0.0, 0.5, 1.0, 2.0, 4.0, 5.0)


class RestartPolicy:
    """At once after a steady run; after quick failures in a row with growing delays that end at five seconds."""

    def __init__(self) -> None:
        self.quick_failures = 0
        self.due_at: float | None = None

    def ended(self, *, started_at: float, now: float) -> None:
        """Note that the child ended at `now` (monotonic seconds)."""
        self.quick_failures = 0 if now - started_at >= STEADY_SECONDS else self.quick_failures + 1
        self.due_at = now + DELAYS[min(self.quick_failures, len(DELAYS) - 1)]

    def is_due(self, now: float) -> bool:
        """Whether a child that ended should be started now."""
        return self.due_at is not None and now >= self.due_at

    def started(self) -> None:
        """Note that the child runs again."""
        self.due_at = None
