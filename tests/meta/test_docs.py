"""Docs that describe tables say what the tables say."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from clusters.domain.states import CONDITIONS
from console import doc_settings, doc_tables

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_generated_pages_are_current() -> None:
    """`manage.py docs_tables` writes them anew."""
    assert doc_tables.stale(DOCS) == []


def test_the_checked_in_document_of_the_api_is_current() -> None:
    """`manage.py spectacular --file docs/openapi.yaml` writes it anew."""
    written = StringIO()
    call_command("spectacular", validate=True, fail_on_warn=True, stdout=written)
    assert written.getvalue().strip() == (DOCS / "openapi.yaml").read_text(encoding="utf-8").strip()


def test_every_condition_of_the_rule_table_has_words() -> None:
    assert set(doc_tables._CONDITION_WORDS) == set(CONDITIONS)


def test_every_setting_that_is_read_is_described_and_none_besides() -> None:
    assert doc_settings.described() == set(doc_settings.settings_read())


def test_the_example_of_containers_names_known_settings_only() -> None:
    names = set(re.findall(r"^([A-Z_]+)=", (DOCS.parent / ".env.example").read_text(), re.MULTILINE))
    servers_own = {"POSTGRES_PASSWORD", "VALKEY_PASSWORD"}
    assert names - servers_own <= doc_settings.described()


@pytest.mark.parametrize("page", sorted(path.name for path in DOCS.glob("*.md") if ".zh-CN" not in path.name))
def test_every_page_has_a_twin_in_chinese(page: str) -> None:
    assert (DOCS / page.replace(".md", ".zh-CN.md")).exists()


@pytest.mark.parametrize("page", sorted(path.name for path in DOCS.glob("*.md")))
def test_a_test_that_a_page_names_exists(page: str) -> None:
    named = re.findall(r"`(tests/[\w./-]+)`", (DOCS / page).read_text(encoding="utf-8"))
    assert [path for path in named if not (DOCS.parent / path).exists()] == []
