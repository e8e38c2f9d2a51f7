"""Names that a cluster accepts, from names that people type (cases C-01 and C-03)."""

from __future__ import annotations

import re

import pytest

from common.ids import is_ulid, new_ulid
from common.names import OBJECT_NAME_MAX, clean_display_name, object_name, slug, space_name

SERVICE_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
SALT = "K3M5N7P9R1"


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        pytest.param("ResNet_50", "resnet-50", id="capitals and an underscore"),
        pytest.param("训练-第3次", "3", id="Chinese leaves only its ASCII digit"),
        pytest.param("训练", "job", id="Chinese alone falls back to job"),
        pytest.param("clang++ bench", "clang-bench", id="plus signs and a blank become one dash"),
        pytest.param("-exp-", "exp", id="dashes at both ends are cut off"),
        pytest.param("a..b", "a-b", id="dots become one dash"),
        pytest.param("🚀", "job", id="an emoji falls back to job"),
        pytest.param("a" * 300, "a" * 18, id="300 letters are cut"),
        pytest.param("a" * 17 + "-b", "a" * 17, id="a cut never ends in a dash"),
        pytest.param("Ünïcode", "unicode", id="accents are dropped, letters stay"),
        pytest.param("3d-unet", "3d-unet", id="a leading digit stays in the slug"),
        pytest.param("7b-sft", "7b-sft", id="a leading digit with letters"),
        pytest.param("2024-10-01", "2024-10-01", id="a date"),
        pytest.param("BERT", "bert", id="an image name in capitals"),
    ],
)
def test_the_slug_of_a_typed_name(typed: str, expected: str) -> None:
    assert slug(typed) == expected
    name = object_name(slug(typed), SALT, 1)
    assert SERVICE_NAME.fullmatch(name) and len(name) <= OBJECT_NAME_MAX


def test_an_object_name_begins_with_a_letter_and_names_the_attempt() -> None:
    assert object_name("3d-unet", SALT, 12) == "j-3d-unet-k3m5n7p9r1-12"


def test_jobs_of_the_same_display_name_have_different_object_names() -> None:
    salts = {new_ulid()[-10:] for _ in range(200)}
    assert len({object_name("bert", salt, 1) for salt in salts}) == 200


def test_a_space_names_team_and_ulid() -> None:
    assert space_name("Vision & 3D", "01J8Z6T9K3M5N7P9R1S3T5V7W9") == "slu-vision-3d-t5v7w9"
    assert space_name("视觉", "01J8Z6T9K3M5N7P9R1S3T5V7W9") == "slu-team-t5v7w9"
    assert len(space_name("a" * 100, "01J8Z6T9K3M5N7P9R1S3T5V7W9")) <= 63


@pytest.mark.parametrize(
    "typed",
    ["ResNet_50", "训练-第3次", "clang++ bench", "-exp-", "a..b", "🚀", "a" * 300, "3d-unet", "2024-10-01", "👩‍💻 run"],
)
def test_the_typed_name_is_shown_as_it_was_typed(typed: str) -> None:
    assert clean_display_name(typed) == typed


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        pytest.param("  ", "", id="blanks"),
        pytest.param("", "", id="nothing"),
        pytest.param("\u3000\u3000", "", id="wide blanks"),
        pytest.param("\t\n\x00", "", id="control characters"),
        pytest.param("\u200b\u2060", "", id="characters without width"),
        pytest.param("  bert  ", "bert", id="blanks around a name"),
        pytest.param("a\x00b\x1bc\nd", "abcd", id="control characters inside"),
        pytest.param("bert\ud800", "bert", id="half of a surrogate pair"),
        pytest.param("a" * 301, "a" * 300, id="more than 300 characters"),
    ],
)
def test_a_display_name_is_cleaned(typed: str, expected: str) -> None:
    assert clean_display_name(typed) == expected


def test_a_ulid_is_26_characters_of_its_own_alphabet() -> None:
    assert is_ulid(new_ulid())
    assert not is_ulid(new_ulid().lower())
    assert not is_ulid("01J8Z6T9K3M5N7P9R1S3T5V7WI")  # no letter I
    assert not is_ulid(new_ulid()[:-1])
    assert not is_ulid(new_ulid() + "\n")


def test_a_display_name_looks_like_no_other_one() -> None:
    assert clean_display_name("safe\u202egpj.exe\u200b\u2066\ufeff") == "safegpj.exe"
    assert clean_display_name("\u202e\u2066") == ""
    family = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
    assert clean_display_name(family) == family
