"""Points in time as HTML: written as Django's own formats write them, in each language and zone."""

from __future__ import annotations

import zoneinfo
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone, translation
from django.utils.formats import date_format

from common.signs import icon, moment

FULL = {"en": "j M Y, H:i:s T", "zh-hans": "Y年n月j日 H:i:s T"}
STAMP = {"en": "j M, H:i", "zh-hans": "n月j日 H:i"}
DAY = {"en": "j M Y", "zh-hans": "Y年n月j日"}
MOMENTS = [
    datetime(2024, 2, 29, 23, 59, 58, 999_999, tzinfo=UTC),
    datetime(2025, 1, 5, 0, 0, 0, tzinfo=UTC),
]


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "Europe/Berlin", "America/St_Johns"])
@pytest.mark.parametrize("at", MOMENTS)
def test_a_moment_is_written_as_django_writes_it(at: datetime, zone: str, language: str) -> None:
    with translation.override(language), timezone.override(zoneinfo.ZoneInfo(zone)):
        local = timezone.localtime(at)
        title = f'title="{date_format(local, FULL[language])}"'
        for shape, form in {"clock": "H:i", "second": "H:i:s", "stamp": STAMP[language], "day": DAY[language]}.items():
            shown = moment(at, shape)
            assert shown == (
                f'<time datetime="{at.isoformat(timespec="seconds")}" {title} data-shape="{shape}">'
                f"{date_format(local, form)}</time>"
            )


def test_the_zone_tells_two_moments_of_the_same_clock_apart() -> None:
    before, after = (datetime(2025, 10, 26, hour, 30, 7, tzinfo=UTC) for hour in (0, 1))
    with translation.override("en"), timezone.override(zoneinfo.ZoneInfo("Europe/Berlin")):
        assert "26 Oct 2025, 02:30:07 CEST" in moment(before)
        assert "26 Oct 2025, 02:30:07 CET" in moment(after)


def test_days_near_now_have_names_and_the_year_is_left_out_of_this_one() -> None:
    now = timezone.now()
    with translation.override("en"):
        assert ">today<" in moment(now, "day")
        assert ">yesterday<" in moment(now - timedelta(days=1), "day")
        assert f">{now:%H:%M}<" in moment(now, "stamp")


def test_a_day_is_remembered_for_its_language_alone() -> None:
    at = MOMENTS[0]
    with translation.override("en"):
        english = moment(at, "day")
    with translation.override("zh-hans"):
        assert moment(at, "day") != english
    with translation.override("en"):
        assert moment(at, "day") == english


def test_no_moment_is_nothing_and_an_unknown_shape_is_a_mistake() -> None:
    assert moment(None) == ""
    with pytest.raises(ValueError, match="knows clock"):
        moment(MOMENTS[0], "hour")


def test_an_icon_is_decoration_of_the_sprite() -> None:
    assert icon("clock", "sl-icon-s") == (
        '<svg class="sl-icon sl-icon-s" aria-hidden="true"><use href="/static/sluice/icons.svg#clock"></use></svg>'
    )
