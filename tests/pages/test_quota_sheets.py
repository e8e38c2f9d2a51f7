"""The quotas page with many teams: a sheet at a time, every row somewhere, and the way to each node group."""

from __future__ import annotations

import re

from django.contrib.auth import get_user_model
from django.test import Client

from tests.crowded_quotas import build_crowded


def test_two_hundred_teams_are_read_a_sheet_at_a_time(db: None) -> None:
    build_crowded(120, groups=3, nodes=20)
    client = Client()
    client.force_login(get_user_model().objects.get(username="admin"))
    seen: list[str] = []
    path: str | None = "/admin/quotas/"
    while path is not None:
        text = client.get(path).content.decode()
        found = re.findall(r'<tr>\s*<th scope="row">([^<]+)</th>\s*<td>', text)
        assert 0 < len(found) <= 48
        seen += found
        onward = re.search(r'href="(\?page=\d+)" rel="next"', text)
        path = f"/admin/quotas/{onward[1]}" if onward else None
    assert len(seen) == 3 * 120
    assert all(seen.count(team) == 3 for team in set(seen))
    first = client.get("/admin/quotas/").content.decode()
    assert "Page 1 of 9" in first
    assert 'href="?page=4"' in first  # where the second group begins


def test_a_page_that_is_not_there_is_the_nearest_one(db: None) -> None:
    build_crowded(60, groups=1, nodes=5)
    client = Client()
    client.force_login(get_user_model().objects.get(username="admin"))
    for asked, number in (("99", 2), ("0", 1), ("x", 1), ("", 1), ("²", 1)):
        assert f"Page {number} of 2" in client.get("/admin/quotas/", {"page": asked}).content.decode()
