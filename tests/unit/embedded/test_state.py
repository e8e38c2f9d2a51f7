from __future__ import annotations

import base64
import os
import stat
from pathlib import Path

import pytest

from console.embedded import state as state_module
from console.embedded.errors import EmbeddedError
from console.embedded.osuser import ServiceUser
from console.embedded.state import Instance, StateDir, default_state_dir

OURSELVES = ServiceUser("us", os.geteuid(), os.getegid(), drops=False)
INSTANCE = Instance("1", "postgresql://a", "unix://b", "key", "fernet", "http://127.0.0.1:8000/", True, 42)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_place_is_the_variable_then_the_home_of_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_STATE_DIR", "/somewhere")
    assert default_state_dir() == Path("/somewhere")
    monkeypatch.delenv("SLUICE_STATE_DIR")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert default_state_dir() == Path("/var/lib/sluice")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_STATE_HOME", "/xdg")
    assert default_state_dir() == Path("/xdg/sluice")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/a")
    assert default_state_dir() == Path("/home/a/.local/state/sluice")


def test_everything_in_it_is_closed_to_others(tmp_path: Path) -> None:
    old_umask = os.umask(0)
    try:
        state = StateDir(tmp_path / "deep" / "state")
        state.secrets(has_data=False)
        state.write_instance(INSTANCE)
        os.close(state.open_log("web"))
        lock = state.children_lock()
    finally:
        os.umask(old_umask)
    assert lock is not None
    lock.close()
    assert {mode(path) for path in (state.path, *state.path.rglob("*")) if path.is_dir()} == {0o700}
    assert {mode(path) for path in state.path.rglob("*") if path.is_file()} == {0o600}


def test_a_folder_with_something_else_in_it_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(EmbeddedError, match="neither empty nor a state folder"):
        StateDir(tmp_path)
    assert mode(tmp_path) == 0o755


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)
    with pytest.raises(EmbeddedError, match="belongs to another user"):
        StateDir(tmp_path)


def test_a_path_that_is_no_folder_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EmbeddedError, match="cannot be used"):
        StateDir(tmp_path / "file")


def test_only_one_supervisor_holds_the_lock(tmp_path: Path) -> None:
    state = StateDir(tmp_path)
    first = state.lock()
    assert first is not None
    assert StateDir(tmp_path).lock() is None
    first.close()
    second = state.lock()
    assert second is not None
    second.close()


def test_secrets_are_drawn_once_and_differ_between_installations(tmp_path: Path) -> None:
    one = StateDir(tmp_path / "one")
    drawn = one.secrets(has_data=False)
    assert one.secrets(has_data=True) == drawn
    assert len(base64.urlsafe_b64decode(drawn.fernet_keys)) == 32
    other = StateDir(tmp_path / "other").secrets(has_data=False)
    values = {*vars(drawn).values(), *vars(other).values()}
    assert len(values) == 8


def test_lost_secrets_beside_data_are_never_replaced_silently(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedError, match=r"secrets\.json is missing"):
        StateDir(tmp_path).secrets(has_data=True)
    assert not (tmp_path / "secrets.json").exists()


def test_the_running_instance_can_be_read_back_until_it_is_removed(tmp_path: Path) -> None:
    state = StateDir(tmp_path)
    assert state.read_instance() is None
    state.write_instance(INSTANCE)
    assert state.read_instance() == INSTANCE
    state.remove_instance()
    assert state.read_instance() is None


def test_a_half_written_instance_file_reads_as_none(tmp_path: Path) -> None:
    state = StateDir(tmp_path)
    (tmp_path / "instance.json").write_text('{"version": "1"')
    assert state.read_instance() is None


def test_sockets_lie_in_the_state_folder_while_the_path_is_short(tmp_path: Path) -> None:
    state = StateDir(tmp_path)
    folder = state.socket_folder(OURSELVES)
    assert folder == tmp_path / "run"
    assert mode(folder) == 0o700


@pytest.mark.parametrize("name", ["long" * 30, "with blank", "任务", "a,b", 'quo"te', "100%"])
def test_with_a_long_or_unusual_path_they_lie_in_a_private_folder_that_goes_with_the_next_start(
    tmp_path: Path, name: str
) -> None:
    state = StateDir(tmp_path / name)
    first = state.socket_folder(OURSELVES)
    (first / "old.sock").touch()
    assert len(str(first)) < 40
    assert mode(first) == 0o700
    second = state.socket_folder(OURSELVES)
    assert not first.exists()
    state.remove_socket_folder()
    assert not second.exists()
    assert not os.path.lexists(state.path / "run")


def test_a_log_that_has_grown_too_large_starts_anew_under_a_running_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_module, "LOG_LIMIT_BYTES", 100)
    state = StateDir(tmp_path)
    writer = state.open_log("web")
    os.write(writer, b"a" * 101)
    state.bound_log("web")
    os.write(writer, b"after\n")
    os.close(writer)
    assert state.log_file("web").read_bytes() == b"after\n"
    older = state.log_file("web").with_name("web.log.1")
    assert older.read_bytes() == b"a" * 101
    assert mode(older) == 0o600


def test_the_tail_of_a_log_is_its_last_lines(tmp_path: Path) -> None:
    state = StateDir(tmp_path)
    assert state.log_tail("none") == ""
    state.log_file("web").write_text("".join(f"line {number}\n" for number in range(5000)))
    assert state.log_tail("web", lines=2) == "line 4998\nline 4999"


def test_keys_of_a_restored_backup_open_and_do_not_seal(tmp_path: Path) -> None:
    state = StateDir(tmp_path / "state")
    ours = state.secrets(has_data=False).fernet_keys
    state.add_fernet_keys(["restored", ours, "restored"])
    assert state.secrets(has_data=True).fernet_keys == f"{ours},restored"
    assert mode(state.path / "secrets.json") == 0o600
