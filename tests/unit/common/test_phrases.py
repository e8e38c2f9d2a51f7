"""Words and sentences side by side, in each language."""

from __future__ import annotations

from django.utils import translation

from common.phrases import close_up, listed


def test_words_in_a_row_take_the_separator_of_the_language() -> None:
    with translation.override("en"):
        assert listed(["Queued", "held"]) == "Queued, held"
    with translation.override("zh-hans"):
        assert listed(["排队", "已暂停"]) == "排队、已暂停"


def test_no_words_in_a_row_are_an_empty_text() -> None:
    assert listed([]) == ""


def test_chinese_sentences_are_set_without_blanks_between_them() -> None:
    assert close_up("已用 32 卡。\n    另有 <b>1</b> 卡。 没有任务。") == "已用 32 卡。另有 <b>1</b> 卡。没有任务。"


def test_english_sentences_keep_their_blanks() -> None:
    assert close_up("All pods run. No job waits.") == "All pods run. No job waits."
