from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from console.embedded import osuser
from console.embedded.errors import EmbeddedError
from console.embedded.osuser import choose_service_user


class Passwd:
    """A user database of our own, which `useradd` writes to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
        self.entries = {name: number for number, name in enumerate(names, start=900)}
        self.commands: list[list[str]] = []
        self.said: list[str] = []
        self.useradd_works = True
        monkeypatch.setattr(pwd, "getpwnam", self.by_name)
        monkeypatch.setattr(pwd, "getpwuid", self.by_uid)
        monkeypatch.setattr(subprocess, "run", self.run)
        monkeypatch.setattr(osuser.shutil, "which", lambda name, path: f"/usr/sbin/{name}")
        monkeypatch.delenv("SLUICE_NO_INSTALL", raising=False)

    def _entry(self, name: str, uid: int) -> pwd.struct_passwd:
        return pwd.struct_passwd((name, "x", uid, uid + 1, "", "/nonexistent", "/usr/sbin/nologin"))

    def by_name(self, name: str) -> pwd.struct_passwd:
        return self._entry(name, self.entries[name])

    def by_uid(self, uid: int) -> pwd.struct_passwd:
        names = {number: name for name, number in self.entries.items()}
        return self._entry(names[uid], uid)

    def run(self, command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        assert self.said, "the user is told before anything is added"
        self.commands.append(command)
        if self.useradd_works:
            self.entries[command[-1]] = 990
        return subprocess.CompletedProcess(command, 0 if self.useradd_works else 1, "", "no space")


@pytest.fixture
def as_root(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Passwd]:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return lambda *names: Passwd(monkeypatch, *names)


def test_an_ordinary_user_runs_the_servers_as_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    passwd = Passwd(monkeypatch, "me")
    monkeypatch.setattr(os, "geteuid", lambda: 900)
    user = choose_service_user(None, passwd.said.append)
    assert (user.name, user.uid, user.drops, user.popen_options()) == ("me", 900, False, {})
    assert not passwd.said


def test_a_user_without_a_name_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    Passwd(monkeypatch, "me")
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(EmbeddedError, match="user id 12345 has none"):
        choose_service_user(None, print)


def test_root_says_which_user_it_adds_and_then_adds_it(as_root: Callable[..., Passwd]) -> None:
    passwd = as_root("nobody")
    user = choose_service_user(None, passwd.said.append)
    assert (user.name, user.uid, user.gid, user.drops) == ("sluice-db", 990, 991, True)
    assert user.popen_options() == {"user": 990, "group": 991, "extra_groups": []}
    (command,) = passwd.commands
    assert {"--system", "--no-create-home", "/usr/sbin/nologin"} <= set(command)
    assert "adding the system user sluice-db" in passwd.said[0]


def test_a_system_user_that_exists_is_used_without_a_word(as_root: Callable[..., Passwd]) -> None:
    passwd = as_root("nobody", "sluice-db")
    assert choose_service_user(None, passwd.said.append).name == "sluice-db"
    assert not passwd.said
    assert not passwd.commands


def test_where_installs_are_forbidden_root_falls_back_to_nobody(
    as_root: Callable[..., Passwd], monkeypatch: pytest.MonkeyPatch
) -> None:
    passwd = as_root("nobody")
    monkeypatch.setenv("SLUICE_NO_INSTALL", "1")
    assert choose_service_user(None, passwd.said.append).name == "nobody"
    assert not passwd.commands
    assert "SLUICE_NO_INSTALL=1" in passwd.said[0]


def test_root_falls_back_to_nobody_when_the_user_cannot_be_added(as_root: Callable[..., Passwd]) -> None:
    passwd = as_root("nobody")
    passwd.useradd_works = False
    assert choose_service_user(None, passwd.said.append).name == "nobody"
    assert "no space" in passwd.said[-1]


def test_root_without_any_user_to_switch_to_is_told_what_to_do(as_root: Callable[..., Passwd]) -> None:
    passwd = as_root()
    passwd.useradd_works = False
    with pytest.raises(EmbeddedError, match="start Sluice as an ordinary user"):
        choose_service_user(None, passwd.said.append)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_data_that_exists_keeps_its_owner(as_root: Callable[..., Passwd], tmp_path: Path) -> None:
    passwd = as_root("nobody", "sluice-db", "earlier")
    os.chown(tmp_path, 902, 902)
    assert choose_service_user(tmp_path, passwd.said.append).name == "earlier"
