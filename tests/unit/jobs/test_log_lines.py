"""One line of a log as people see it (cases C-54, C-56, C-57 and C-58): text, whatever was written."""

from __future__ import annotations

import pytest

from jobs.logs import SHOWN_LINE_MAX, shown

BAD = "\ufffd"
HALF = SHOWN_LINE_MAX // 2


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(b"", "", id="an empty line"),
        pytest.param(b"epoch 1\xe4\xf6 done", f"epoch 1{BAD}{BAD} done", id="Latin-1 in the middle"),
        pytest.param(b"\xe2\x96", BAD, id="the first half of a bar, from one of two writers"),
        pytest.param(b"\x88 50%", f"{BAD} 50%", id="its second half, from the other"),
        pytest.param(b"\x96\x88", BAD * 2, id="the tail of a character"),
        pytest.param(b"\xd1\xb5\xc1\xb7\xcd\xea\xb3\xc9", f"\u0475{BAD * 5}", id="Chinese in another encoding"),
        pytest.param(b"a\x00b", f"a{BAD}b", id="a NUL"),
        pytest.param(
            b"caf\xe9 latin-1, gbk \xd1\xb5\xc1\xb7, cut utf-8 \xe8\xae",
            f"caf{BAD} latin-1, gbk \u0475{BAD * 2}, cut utf-8 {BAD}",
            id="three encodings in one line",
        ),
        pytest.param("训练 loss=0.5 🚀".encode(), "训练 loss=0.5 🚀", id="proper text is left alone"),
        pytest.param(
            "训练\u3000完成\u00a0👩\u200d💻".encode(), "训练\u3000完成\u00a0👩\u200d💻", id="so are its blanks"
        ),
    ],
)
def test_bytes_that_are_no_text_are_shown_as_such(data: bytes, text: str) -> None:
    """C-54."""
    assert shown(data) == text


BAR = b"\r  0%|          | 0/3\r 33%|###       | 1/3\r100%|##########| 3/3"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(BAR, "100%|##########| 3/3", id="the last state of a progress bar"),
        pytest.param(BAR + b"\r", "100%|##########| 3/3", id="a bar that returns at its end"),
        pytest.param(b"loss=0.1\r", "loss=0.1", id="a line that ends as on Windows"),
        pytest.param(b"\r" * 9, "", id="nothing but returns"),
        pytest.param(b"\r 50%|##   |" * 500_000 + b"\r 51%|##   |", " 51%|##   |", id="two hours of updates"),
        pytest.param(b"\x1b[A\x1b[2K 50%|#####     |", " 50%|#####     |", id="a bar that moves the cursor up"),
        pytest.param(b"x" * 9_000 + b"\rdone", "done", id="a long state that was overwritten"),
    ],
)
def test_of_a_progress_bar_the_last_state_is_left(data: bytes, text: str) -> None:
    """C-56."""
    assert shown(data) == text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(b"\x1b[31mred\x1b[0m", "red", id="a colour"),
        pytest.param(b"F \x1b[1;31mERROR\x1b[0m first", "F ERROR first", id="two attributes"),
        pytest.param(b"\x1b[38;5;196mx\x1b[38:2::1:2:3my\x1b[?25l", "xy", id="many colours, a hidden cursor"),
        pytest.param(b"\x1b(B\x1b[mplain", "plain", id="the end of tput"),
        pytest.param(b"\x1b7saved\x1b8\x1b=", "saved", id="a saved cursor"),
        pytest.param(b"\x1b]0;title\x07after", "after", id="a title"),
        pytest.param(
            b"\x1b]8;;javascript:alert(1)\x1b\\click\x1b]8;;\x1b\\", "click", id="a link, ended by a string terminator"
        ),
        pytest.param(b"\x1b]8;;javascript:alert(3)\x07click\x1b]8;;\x07", "click", id="a link, ended by a bell"),
        pytest.param(b"\x1bPq#0;2;0;0;0\x1b\\picture", "picture", id="a picture"),
        pytest.param(b"\x1b]0;never ended", "", id="a title without an end"),
        pytest.param(b"\x1b", "", id="an escape alone"),
        pytest.param(b"\x1b[", "", id="the beginning of a colour"),
        pytest.param(b"bell[\x07] back[ab\x08c] del[\x7f]", "bell[] back[abc] del[]", id="control characters"),
        pytest.param(b"a\tb", "a\tb", id="a tab stays"),
        pytest.param("a\u2028b\u2029c\x85d".encode(), "a b cd", id="separators of lines"),
        pytest.param(
            "rtl \u202egnp.exe\u202c".encode(), "rtl [U+202E]gnp.exe[U+202C]", id="marks of direction are spelt out"
        ),
        pytest.param("\u2066a\u2069".encode(), "[U+2066]a[U+2069]", id="isolating marks as well"),
    ],
)
def test_nothing_written_acts_on_a_terminal_or_hides(data: bytes, text: str) -> None:
    """C-57."""
    assert shown(data) == text


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "</pre><h1>x",
        "{{7*7}}",
        'hx-get="/admin"',
        "&amp; '\"</pre>",
        "=cmd|' /C calc'!A0",
    ],
)
def test_mark_up_is_text_that_templates_escape(text: str) -> None:
    """C-57."""
    assert shown(text.encode()) == text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(b"x" * SHOWN_LINE_MAX, "x" * SHOWN_LINE_MAX, id="as long as may be"),
        pytest.param(b"x" * 70_000, "x" * SHOWN_LINE_MAX + "…", id="70,000 characters"),
        pytest.param(b"y" * 70_000 + b"\r", "y" * SHOWN_LINE_MAX + "…", id="the same, ended as on Windows"),
        pytest.param("é".encode() * HALF + b"z", "é" * HALF + "…", id="cut between two characters"),
        pytest.param(b"x" + "é".encode() * HALF, "x" + "é" * (HALF - 1) + "…", id="cut inside a character"),
    ],
)
def test_a_long_line_is_cut_with_a_mark(data: bytes, text: str) -> None:
    """C-58."""
    assert shown(data) == text
