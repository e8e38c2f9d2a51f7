"""Share bars: what is drawn adds up, and 100 % of the share stands at one place in every row."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from quotas.charts import ShareBar, share_bars
from quotas.domain.balance import CardCounts, QueueUse, balance
from quotas.selectors import QuotaRow


def row(**figures: int) -> QuotaRow:
    zero = dict.fromkeys(
        ("nominal", "usable", "used", "reserved", "free", "borrowed", "lent", "over", "down", "borrowable", "pending",
         "pending_jobs", "pending_stopped", "pending_jobs_stopped"), 0
    )  # fmt: skip
    return QuotaRow(
        queue="q", level="team", team="T", team_slug="t", team_id=1, cluster="c", node_group="g", group_title="G",
        unit="card", **{**zero, **figures},
    )  # fmt: skip


def kinds(bar: ShareBar) -> list[tuple[str, float]]:
    return [(segment.kind, float(segment.width)) for segment in bar.segments]


def test_a_bar_within_the_share_ends_at_the_mark() -> None:
    (bar,) = share_bars([row(nominal=30, used=15, reserved=3, free=12)])
    assert [kind for kind, _width in kinds(bar)] == ["used", "reserved", "free"]
    assert bar.mark == bar.end == "71.43"
    assert bar.percent == 60


def test_what_is_lent_or_out_of_service_is_cut_from_the_right_of_the_share() -> None:
    (bar,) = share_bars([row(nominal=10, used=2, free=4, lent=3, down=1)])
    assert [kind for kind, _width in kinds(bar)] == ["used", "free", "sick", "lent"]
    assert bar.end == bar.mark


def test_what_is_borrowed_lies_right_of_the_mark_whoever_of_the_jobs_holds_it() -> None:
    (bar,) = share_bars([row(nominal=29, used=36, reserved=4, borrowed=11)])
    assert [kind for kind, _width in kinds(bar)] == ["used", "borrowed"]
    assert bar.segments[1].x == bar.mark
    assert bar.percent == 138


def test_a_team_without_a_share_is_drawn_right_of_a_mark_at_zero() -> None:
    bars = share_bars([row(nominal=0, used=4, borrowed=4), row(nominal=8, free=8)])
    assert (bars[0].mark, bars[0].percent) == ("0", None)
    assert abs(float(bars[0].end) - float(bars[1].mark) / 2) < 0.01


def test_a_page_of_nothing_has_nothing_to_draw() -> None:
    (bar,) = share_bars([row()])
    assert (bar.segments, bar.end, bar.mark) == ((), "0", "0")


@example(uses=[QueueUse(nominal=0, reserved=2), QueueUse(nominal=1)], down=0, pool=0)
@given(
    uses=st.lists(
        st.builds(QueueUse, nominal=st.integers(0, 60), used=st.integers(0, 60), reserved=st.integers(0, 20)),
        min_size=1,
        max_size=5,
    ),
    down=st.integers(0, 20),
    pool=st.integers(0, 20),
)
def test_segments_follow_each_other_and_never_leave_the_picture(uses: list[QueueUse], down: int, pool: int) -> None:
    cards = CardCounts(sum(use.nominal for use in uses) + pool, out=down)
    found = balance({str(n): use for n, use in enumerate(uses)}, cards).queues.values()
    names = ("nominal", "usable", "used", "reserved", "free", "borrowed", "lent", "over", "down")
    bars = share_bars([row(**{name: getattr(one, name) for name in names}) for one in found])
    for bar, one in zip(bars, found, strict=True):
        at = 0.0
        for segment in bar.segments:
            assert abs(float(segment.x) - at) < 0.05
            at = float(segment.x) + float(segment.width)
        assert abs(at - float(bar.end)) < 0.05
        assert at <= 100.05
        drawn = dict(kinds(bar))
        assert ("free" in drawn) == (one.free > 0)
    marks = {bar.mark for bar in bars if bar.row.nominal}
    assert len(marks) <= 1
