"""Image references: what is one, and what to say about what is not."""

from __future__ import annotations

import pytest

from jobs.domain.images import image_problem, is_allowed, repository_of

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


class TestWhoseImages:
    @pytest.mark.parametrize(
        ("image", "repository"),
        [
            ("ubuntu", "docker.io/library/ubuntu"),
            ("ubuntu:24.04", "docker.io/library/ubuntu"),
            ("pytorch/pytorch:2.4", "docker.io/pytorch/pytorch"),
            ("registry.example:5000/team/bert:1", "registry.example:5000/team/bert"),
            ("Registry.Example/team/bert", "registry.example/team/bert"),
            ("localhost/bert", "localhost/bert"),
            (f"registry.example/team/bert@{DIGEST}", "registry.example/team/bert"),
            (f"registry.example/team/bert:1@{DIGEST}", "registry.example/team/bert"),
        ],
    )
    def test_a_repository_is_written_out_as_a_puller_understands_it(self, image: str, repository: str) -> None:
        assert repository_of(image) == repository

    @pytest.mark.parametrize(
        ("image", "prefix", "allowed"),
        [
            ("registry.example/team/bert:1", "registry.example/team/", True),
            ("registry.example/team/bert:1", "registry.example/team", True),
            ("registry.example/team/bert:1", "registry.example/team/bert", True),
            ("registry.example/team/bert:1", "registry.example", True),
            ("REGISTRY.example/team/bert:1", "registry.Example/team", True),
            ("registry.example/team-evil/bert:1", "registry.example/team", False),
            ("registry.example/team-evil/bert:1", "registry.example/team/", False),
            ("registry.example.evil/team/bert:1", "registry.example", False),
            ("evil.example/registry.example/team/bert", "registry.example/team", False),
            ("registry.example:5000/team/bert", "registry.example", False),
            ("registry.example/team/bert-evil", "registry.example/team/bert", False),
            ("pytorch/pytorch:2.4", "pytorch/", True),
            ("pytorch/pytorch:2.4", "docker.io/pytorch", True),
            ("docker.io/pytorch/pytorch:2.4", "pytorch/pytorch", True),
            ("pytorch-evil/pytorch", "pytorch/", False),
            ("ubuntu:24.04", "ubuntu", True),
            ("ubuntu/evil", "ubuntu", False),
            ("team", "registry.example", False),
        ],
    )
    def test_a_prefix_ends_where_a_name_ends(self, image: str, prefix: str, allowed: bool) -> None:
        assert is_allowed(image, [prefix]) is allowed

    def test_no_prefix_allows_every_image(self) -> None:
        assert is_allowed("anything.example/x", [])
