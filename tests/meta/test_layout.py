"""The shape of the repository: what must not be shadowed, and what must not grow without a reason."""

from __future__ import annotations

import ast
import platform
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = ("accounts", "clusters", "jobs", "quotas", "platform")

MODULE_LINES, FUNCTION_LINES, TEMPLATE_LINES = 400, 50, 200
LONG_MODULES: dict[str, str] = {}
LONG_FUNCTIONS: dict[str, str] = {}


def modules() -> Iterator[Path]:
    for folder in CODE:
        yield from (path for path in (ROOT / folder).rglob("*.py") if "migrations" not in path.parts)
    yield ROOT / "manage.py"


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_platform_is_the_standard_librarys_module() -> None:
    assert platform.python_version()
    assert Path(platform.__file__).parent == Path(sysconfig.get_path("stdlib"))
    assert not (ROOT / "platform" / "__init__.py").exists()


def test_the_composition_root_has_no_code_in_its_package() -> None:
    assert (ROOT / "platform" / "console" / "__init__.py").read_text() == ""


def test_no_module_is_longer_than_it_may_be_without_a_reason() -> None:
    long = {name_of(path) for path in modules() if lines_of(path) > MODULE_LINES}
    assert long == set(LONG_MODULES)


def test_no_function_is_longer_than_it_may_be_without_a_reason() -> None:
    long = {
        f"{name_of(path)}:{node.name}"
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno >= FUNCTION_LINES
    }
    assert long == set(LONG_FUNCTIONS)


def test_no_template_is_longer_than_it_may_be() -> None:
    templates = list((ROOT / "templates").rglob("*.html"))
    assert templates
    assert [name_of(path) for path in templates if lines_of(path) > TEMPLATE_LINES] == []


def test_every_module_says_what_it_owns() -> None:
    silent = [
        name_of(path)
        for path in modules()
        if (text := path.read_text(encoding="utf-8")).strip() and ast.get_docstring(ast.parse(text)) is None
    ]
    assert silent == []


SECRETIVE = ("/root/", "/home/", "/tmp/")


@pytest.mark.parametrize("folder", [*CODE, "templates", "deploy", "docs"])
def test_nothing_names_a_folder_of_one_machine(folder: str) -> None:
    found = [
        f"{name_of(path)}: {word}"
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".html", ".md", ".sh", ".yaml", ".yml"} and path.is_file()
        for word in SECRETIVE
        if word in path.read_text(encoding="utf-8")
    ]
    assert found == []
