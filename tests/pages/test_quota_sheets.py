"""The quotas page with many teams: a sheet at a time, every row somewhere, and the way to each node group."""

from __future__ import annotations

import re

from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

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


def test_the_editor_stays_small_with_thousands_of_shares_and_a_draft_of_all_of_them(db: None) -> None:
    """Bytes as they are sent, without compression; statements do not grow with teams, groups or what is drafted."""
    client = Client()
    build_crowded(200, groups=20, nodes=200)
    client.force_login(get_user_model().objects.get(username="admin"))
    address = "/admin/quotas/big/shares/"
    plain = client.get(address).content
    assert plain.count(b'name="percent.') == 48 and len(plain) < 150_000
    assert b"Page 1 of 100" in plain
    last = client.get(address, {"page": "100"}).content.decode()
    assert last.count('name="percent.group-19.team-1') == 8 and "team-199" in last
    assert client.get(address, {"team": "team 00"}).content.count(b'name="percent.') == 4 * 10
    session = client.session
    values = {f"team-{team:03}/group-{group:02}/basis_points": 40 for team in range(200) for group in range(20)}
    session["plan_drafts"] = {"big": {"version": 0, "values": values, "reason": ""}}
    session.save()
    with CaptureQueriesContext(connection) as captured:
        drafted = client.get(address).content
    assert "4000 values differ" in drafted.decode()
    assert "And 3952 more; the API has them all." in drafted.decode()
    assert len(drafted) < 180_000 and len(captured) <= 32
    assert 'value="0.4"' in drafted.decode()
