"""Scheduler words stay with the schedulers: nobody but an operator ever reads one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

ROOT = Path(__file__).resolve().parents[2]
WORDS = (
    "workload", "clusterqueue", "cluster queue", "localqueue", "cohort", "resourceflavor", "resource flavor",
    "podgroup", "pod group", "minmember", "partition", "qos", "kueue", "volcano", "slurm",
)  # fmt: skip
"""Business words that look alike are other words: a *local queue* is ours, a `LocalQueue` is not."""
FORBIDDEN = re.compile(rf"(?<![a-z])({'|'.join(WORDS)})s?(?![a-z])", re.IGNORECASE)
NOT_SHOWN = re.compile(r"\{% comment %\}.*?\{% endcomment %\}|\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<!--.*?-->", re.DOTALL)
"""Comments, and the template's own code; the sentences inside it are in the catalogues."""


def found(text: str) -> list[str]:
    return sorted({match[0].lower() for match in FORBIDDEN.finditer(text)})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Waiting in the team's local queue.", []),
        ("The queue of the cluster, a part, the partial.", []),
        ("LocalQueue x in ClusterQueue y", ["clusterqueue", "localqueue"]),
        ("Workloads of a cohort", ["cohort", "workloads"]),
        ("its PodGroup with minMember 2", ["minmember", "podgroup"]),
        ("QOS normal, partition gpu", ["partition", "qos"]),
    ],
)
def test_the_search_finds_scheduler_words_and_no_others(text: str, words: list[str]) -> None:
    assert found(text) == words


def templates() -> list[Path]:
    return sorted((ROOT / "templates").rglob("*.html"))


def test_no_page_says_a_scheduler_word() -> None:
    assert templates()
    hits = {path.name: found(NOT_SHOWN.sub("", path.read_text(encoding="utf-8"))) for path in templates()}
    assert {name: words for name, words in hits.items() if words} == {}


def catalogues() -> list[Path]:
    return sorted((ROOT / "locale").rglob("*.po"))


def for_operators() -> set[str]:
    """Sentences of the preflight table: it tells those who run a cluster which part of it to set how."""
    tree = ast.parse((ROOT / "clusters" / "preflight" / "texts.py").read_text(encoding="utf-8"))
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def messages(path: Path) -> Iterator[str]:
    operators = for_operators()
    with path.open("rb") as file:
        for message in read_po(file):
            if message.id in operators:
                continue
            for text in (message.id, message.string):
                yield from (text,) if isinstance(text, str) else text


def test_no_sentence_and_no_translation_says_a_scheduler_word() -> None:
    assert catalogues()
    for path in catalogues():
        said = {text: words for text in messages(path) if (words := found(text))}
        assert said == {}


def test_a_job_has_one_name_in_chinese() -> None:
    """As in the glossary: who reads a page and then its document shall not look for a second thing."""
    pages = [*(ROOT / "docs").glob("*.zh-CN.md"), ROOT / "README.zh-CN.md", *catalogues()]
    assert len(pages) > 10
    assert [page.name for page in pages if "作业" in page.read_text(encoding="utf-8")] == []


def test_the_api_says_no_scheduler_word() -> None:
    assert found((ROOT / "docs" / "openapi.yaml").read_text(encoding="utf-8")) == []
