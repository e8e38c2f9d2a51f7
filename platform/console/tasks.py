"""Celery's doors into the demo."""

from __future__ import annotations

from celery import shared_task


@shared_task(name="console.demo_arrivals")
def demo_arrivals_task() -> None:
    """Submit the demo's next jobs, when there is a demo."""
