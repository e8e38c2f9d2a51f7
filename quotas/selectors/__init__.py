"""Reads about shares and use. Every function has a fixed number of queries."""

from __future__ import annotations

from quotas.selectors.places import QueuePlace, queue_places
from quotas.selectors.rows import GroupRows, QuotaRow, quota_groups, quota_rows

__all__ = ["GroupRows", "QueuePlace", "QuotaRow", "queue_places", "quota_groups", "quota_rows"]
