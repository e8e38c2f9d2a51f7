"""Turning pages shows every row once, forwards and backwards, also while rows arrive (case C-87)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounts.models import User
from common.pages import Page, keyset_page
from tests.builders import DAY

SIZE = 4
minutes = st.lists(st.integers(0, 5), max_size=14)  # several rows share a moment


def person(number: int, minute: int) -> User:
    return User(username=f"user-{number}", date_joined=DAY + timedelta(minutes=minute))


def page(cursor: str | None) -> Page[User]:
    return keyset_page(User.objects.all(), cursor, field="date_joined", size=SIZE)


@pytest.mark.django_db
@settings(max_examples=25)
@given(minutes, minutes)
def test_every_row_is_on_one_page_whichever_way_one_turns(old: list[int], new: list[int]) -> None:
    User.objects.all().delete()
    User.objects.bulk_create([person(number, minute) for number, minute in enumerate(old)])
    newest_first = list(User.objects.order_by("-date_joined", "-pk"))

    pages = [page(None)]
    while (cursor := pages[-1].older) is not None:
        pages.append(page(cursor))
        if len(pages) == 2:  # rows that arrive while somebody reads do not shift what is older
            User.objects.bulk_create([person(100 + number, 10 + minute) for number, minute in enumerate(new)])
    assert [row.pk for one in pages for row in one.rows] == [row.pk for row in newest_first]
    assert all(len(one.rows) == SIZE for one in pages[:-1])
    assert pages[0].newer is None

    back = [pages[-1]]
    while (cursor := back[-1].newer) is not None:
        back.append(page(cursor))
        assert back[-1].older is not None
    arrived = len(new) if len(pages) > 1 else 0
    assert sum(len(one.rows) for one in back) == len(old) + arrived
    shown = [row.pk for one in reversed(back) for row in one.rows]
    assert shown == [row.pk for row in User.objects.order_by("-date_joined", "-pk")]
