"""Image references: what is one, and what to say about what is not."""

from __future__ import annotations

import pytest

from jobs.domain.images import image_problem

DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    "text",
    [
        "bert",
        "bert:1.0",
        "team/bert",
        "docker.io/library/python:3.11-slim",
        "registry.example/team/bert:latest",
        "registry.example:5000/team/bert",
        "localhost/bert",
        "localhost:5000/bert:a_B.c-1",
        "Registry.Example/team/bert",
        f"registry.example/bert@{DIGEST}",
        f"registry.example/bert:1.0@{DIGEST}",
        "10.0.0.7:5000/a/b/c/d",
        "a__b/c-d/e.f/g---h",
        "bert:" + "t" * 128,
        "sandbox.invalid/missing:1",
    ],
)
def test_these_are_images(text: str) -> None:
    assert image_problem(text) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "blank"),
        ("   ", "blank"),
        ("a" * 501, "too_long"),
        ("bert :1.0", "spaces"),
        ("bert\u3000base", "spaces"),
        ("bert\n", "spaces"),
        ("https://registry.example/bert", "scheme"),
        ("docker://bert", "scheme"),
        ("registry.local/team/BERT:latest", "upper_case"),
        ("Bert", "upper_case"),
        ("BERT:1.0", "upper_case"),
        ("Team/bert", None),  # a capital makes it a host, as every registry client reads it
        ("bert:", "malformed"),
        ("bert:-1", "malformed"),
        ("bert:" + "t" * 129, "malformed"),
        (":1.0", "malformed"),
        ("/bert", "malformed"),
        ("bert/", "malformed"),
        ("team//bert", "malformed"),
        ("bert@sha256:abc", "malformed"),
        (f"bert@{DIGEST}x", "malformed"),
        ("-bert", "malformed"),
        ("bert-", "malformed"),
        ("bert..base", "malformed"),
        ("训练", "malformed"),
        ("🚀", "malformed"),
        ("bert;rm -rf", "spaces"),
        ("bert;ls", "malformed"),
        ("<script>", "malformed"),
        ("bert\x00", "malformed"),
        ("registry.example:port/bert", "malformed"),
    ],
)
def test_the_problem_with_what_is_no_image(text: str, problem: str | None) -> None:
    assert image_problem(text) == problem


@pytest.mark.parametrize("text", ["a-" * 249 + "a", "a." * 249 + "!", "a" * 499 + "!", "a/" * 249 + "!", "-" * 500])
def test_hostile_text_is_answered_at_once(text: str) -> None:
    assert image_problem(text) in {None, "malformed"}
