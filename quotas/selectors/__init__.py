"""Reads about shares and use. Every function has a fixed number of queries."""

from __future__ import annotations

from quotas.selectors.listing import QuotaFilters, QuotaPage, queue_rows, quota_page
from quotas.selectors.places import QueuePlace, queue_places
from quotas.selectors.rows import LEVELS, GroupRows, QuotaRow, quota_groups, quota_rows

__all__ = [
    "LEVELS",
    "GroupRows",
    "QueuePlace",
    "QuotaFilters",
    "QuotaPage",
    "QuotaRow",
    "queue_places",
    "queue_rows",
    "quota_groups",
    "quota_page",
    "quota_rows",
]
