"""The container deployment runs the same processes as the supervisor, and its settings file is complete."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from console.embedded.children import ROOT, SKIP_CHECKS, console_commands, people_command, tables_command

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def without_checks(argv: tuple[str, ...]) -> list[str]:
    """A command line of the supervisor as a container has it: there the system checks run at every start."""
    return [word for word in argv if word != SKIP_CHECKS]


EMBEDDED = {
    command.name: without_checks(command.argv)
    for command in console_commands("127.0.0.1:8000", Path("/var/lib/sluice"))
}


def command_of(service: str) -> list[str]:
    command: list[str] = COMPOSE["services"][service]["command"]
    return command


def test_every_process_of_the_supervisor_is_a_service() -> None:
    assert set(COMPOSE["services"]) == {*EMBEDDED, "setup", "postgres", "valkey"}


@pytest.mark.parametrize("name", ["worker", "beat"])
def test_celery_listens_to_the_same_queues_with_the_same_options(name: str) -> None:
    embedded = [word for word in EMBEDDED[name][2:] if not word.endswith("@%h") and word != "--hostname"]
    assert sorted(command_of(name)) == sorted(embedded)


def test_the_watcher_and_the_set_up_are_the_same_commands() -> None:
    assert command_of("watcher")[-1] == EMBEDDED["watcher"][-1] == "watch"
    for command in (tables_command(), people_command()):
        assert " ".join(("manage.py", *without_checks(command.argv)[2:])) in command_of("setup")[-1]


def test_the_web_server_is_the_same_program_with_the_same_kind_of_workers() -> None:
    for word in ("gunicorn", "console.wsgi:application", "gthread", "--no-control-socket"):
        assert word in EMBEDDED["web"]
        assert f'"{word}"' in DOCKERFILE


def test_only_the_web_server_is_published_and_only_on_loopback() -> None:
    published = {name: service["ports"] for name, service in COMPOSE["services"].items() if "ports" in service}
    assert list(published) == ["web"]
    assert all(port.startswith("127.0.0.1:") for port in published["web"])


def test_the_example_names_every_variable_that_the_services_need() -> None:
    needed = set(re.findall(r"\$\{(\w+)", (ROOT / "docker-compose.yml").read_text()))
    example = set(re.findall(r"^(\w+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
    assert needed | {"SLUICE_SECRET_KEY", "SLUICE_FERNET_KEYS", "SLUICE_ALLOWED_HOSTS"} <= example


def test_the_example_holds_no_secret() -> None:
    text = (ROOT / ".env.example").read_text()
    assert re.findall(r"^\w*(?:SECRET|FERNET|PASSWORD)\w*=(.+)$", text, re.MULTILINE) == []


def test_the_image_has_every_folder_of_the_product() -> None:
    for folder in ("platform", "accounts", "clusters", "jobs", "quotas", "templates", "static", "locale"):
        assert f"COPY {folder} {folder}" in DOCKERFILE
        assert f"!{folder}" in (ROOT / ".dockerignore").read_text().splitlines()
