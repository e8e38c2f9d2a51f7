"""One control plane for the whole session; its programs are built when they are not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from pytest_django import Settings

from clusters.backends.kueue_volcano.addresses import AllowList
from tests.controlplane import programs
from tests.controlplane.console import Console, open_console
from tests.controlplane.plane import KueueVersion, Plane, throw_away_plane
from tests.controlplane.schedulers import KUEUE_PROGRAMS

KUEUE_VARIABLE = "SLUICE_TEST_KUEUE"
PART_VARIABLE = "SLUICE_TEST_PART"
"""``apart`` runs the files of ``APART`` and ``rest`` all others, side by side on two control planes; unset runs all."""
REQUIRE_VARIABLE = "SLUICE_REQUIRE_CONTROL_PLANE"
TEST_SECONDS = 300
HERE = Path(__file__).parent
LAST = HERE / "test_rights.py"
"""Judges what all the others did, in each part."""
APART = {
    HERE / f"{name}.py"
    for name in ("test_crashes", "test_plane", "test_stories_clusters", "test_stories_crowd", "test_stories_logs")
}
"""About a quarter of the time, and not the only tests that use any right of the console."""


def kueue_version() -> KueueVersion:
    """The Kueue to test against: SLUICE_TEST_KUEUE, else the newest."""
    version = os.environ.get(KUEUE_VARIABLE, "0.19")
    if version not in KUEUE_PROGRAMS:
        raise pytest.UsageError(f"{KUEUE_VARIABLE} is one of {', '.join(get_args(KueueVersion))}, not {version}")
    return version  # type: ignore[return-value]


def part() -> str:
    """The part of this folder to run, empty for all of it."""
    named = os.environ.get(PART_VARIABLE, "")
    if named not in ("", "apart", "rest"):
        raise pytest.UsageError(f"{PART_VARIABLE} is apart or rest, not {named}")
    return named


def is_in_part(path: Path) -> bool:
    return not part() or path == LAST or (path in APART) == (part() == "apart")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.kubernetes)
            item.add_marker(pytest.mark.timeout(TEST_SECONDS))
    items.sort(key=lambda item: item.path == LAST)
    other = [item for item in items if item.path.is_relative_to(HERE) and not is_in_part(item.path)]
    if other:
        config.hook.pytest_deselected(items=other)
        items[:] = [item for item in items if item not in other]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build what is missing before the clock of the first test runs, and say so: it takes 25 to 40 minutes once."""
    if session.config.option.collectonly:
        return
    planned = [item for item in session.items if "shared_plane" in getattr(item, "fixturenames", ())]
    if not planned:
        return
    if programs.find_go() is None:  # the sources are asked for also when everything is built
        if os.environ.get(REQUIRE_VARIABLE) == "1":
            raise pytest.UsageError(f"The control plane cannot be built: {programs.NO_GO}")
        for item in planned:
            item.add_marker(pytest.mark.skip(reason=programs.NO_GO))
        return
    missing = [name for name in programs.needed(KUEUE_PROGRAMS[kueue_version()]) if not programs.is_built(name)]
    say = Speaker(session.config)
    for number, name in enumerate(missing, start=1):
        say(f"Building {name} ({number} of {len(missing)}; all together 25 to 40 minutes, once)")
        programs.build(name)


@pytest.fixture(autouse=True)
def loopback_is_allowed(settings: Settings) -> None:
    """Clusters on this very machine are refused unless an administrator allows them."""
    settings.SLUICE = {**settings.SLUICE, "CLUSTER_ADDRESSES": AllowList.parse("127.0.0.0/8")}


@pytest.fixture(scope="session")
def shared_plane(request: pytest.FixtureRequest) -> Iterator[Plane]:
    """The session's control plane, as the last test left it."""
    with throw_away_plane(kueue=kueue_version(), say=Speaker(request.config)) as plane:
        yield plane


@pytest.fixture
def plane(shared_plane: Plane) -> Plane:
    """A control plane with nothing on it, not even nodes."""
    shared_plane.reset()
    return shared_plane


@pytest.fixture
def console(shared_plane: Plane, transactional_db: None) -> Console:
    """The console on a fresh plane: two teams with half each of four nodes of eight cards."""
    return open_console(shared_plane)


@pytest.fixture(scope="session")
def whole_folder(request: pytest.FixtureRequest) -> bool:
    """Whether every test of this folder runs in this session, or all but those that run apart."""
    option = request.config.option
    asked_for = {Path(argument).resolve() for argument in request.config.args}
    is_narrowed = bool(option.keyword or option.markexpr) or part() == "apart"
    return not is_narrowed and asked_for <= {HERE, HERE.parent, request.config.rootpath}


class Speaker:
    """Writes a line to the terminal past the capture of output."""

    def __init__(self, config: pytest.Config) -> None:
        self._capture = config.pluginmanager.getplugin("capturemanager")
        self._terminal = config.pluginmanager.getplugin("terminalreporter")

    def __call__(self, line: str) -> None:
        if self._terminal is None:  # a worker of a parallel run
            return
        with self._capture.global_and_fixture_disabled():
            self._terminal.write_line(line)
