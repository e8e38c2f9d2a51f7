"""A held program loads its modules at once and begins when its standard input ends."""

from __future__ import annotations

import io
import runpy
import sys
from typing import Any

import pytest

from console import held
from console.embedded import children
from console.embedded.children import people_command, tables_command


@pytest.fixture
def happened(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a held program did, in order."""
    events: list[Any] = []

    class Input(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            events.append("let go")
            return b""

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Input()))
    for name in ("run_path", "run_module"):
        monkeypatch.setattr(runpy, name, lambda program, **_: events.append((program, list(sys.argv))))
    return events


@pytest.mark.parametrize("command", [tables_command(), people_command()], ids=lambda command: command.title)
def test_a_command_of_manage_begins_when_it_is_let_go(
    command: children.SetupCommand, happened: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, _, *arguments = children.held(command.argv)
    monkeypatch.setattr(sys, "argv", ["held", *arguments])
    held.main()
    assert happened == ["let go", (arguments[0], arguments)]
    assert arguments == list(command.argv[1:])


def test_a_module_begins_when_it_is_let_go(happened: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    argv = children.held((sys.executable, "-m", "celery", "--app", "console", "worker"))
    assert argv[:3] == (sys.executable, "-m", "console.held")
    monkeypatch.setattr(sys, "argv", ["held", *argv[3:]])
    held.main()
    assert happened == ["let go", ("celery", ["celery", "--app", "console", "worker"])]
    assert "celery.apps.worker" in sys.modules
