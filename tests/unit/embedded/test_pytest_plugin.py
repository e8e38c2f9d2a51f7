"""The plugin that gives tests their servers, seen from outside: whole pytest runs in folders of their own."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

from console.embedded.process import wait_until

PATIENCE_SECONDS = 30.0


def start_pytest(folder: Path, code: str, *, options: tuple[str, ...] = (), **env: str) -> subprocess.Popen[str]:
    """Run pytest on one test file in `folder`, whose servers live in `folder`/tmp."""
    (folder / "tmp").mkdir(exist_ok=True)
    (folder / "test_it.py").write_text(code)
    plugins = ("-p", "console.embedded.pytest_plugin", "-p", "no:django", "-p", "no:cacheprovider")
    names = ("PYTEST_XDIST_WORKER", "DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE")
    clean = {name: value for name, value in os.environ.items() if name not in names}
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-c",
            os.devnull,
            "--rootdir",
            str(folder),
            *plugins,
            *options,
            "test_it.py",
        ],
        cwd=folder,
        env=clean | {"TMPDIR": str(folder / "tmp")} | env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def leftovers(folder: Path) -> list[Path]:
    return list((folder / "tmp").glob("sluice-test-*"))


def servers_ended(server_folder: Path) -> bool:
    with (server_folder / "children.lock").open("r+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


USES_BOTH = """
import os, psycopg, redis

def test_both_answer():
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        assert connection.execute("SHOW fsync").fetchone() == ("off",)
    client = redis.from_url(os.environ["REDIS_URL"])
    assert client.ping()
    client.close()

def test_both_answer_again():
    test_both_answer()
"""


def test_parallel_workers_share_two_servers_that_vanish_with_the_run(tmp_path: Path) -> None:
    with start_pytest(tmp_path, USES_BOTH, options=("-n", "2")) as run:
        output, _ = run.communicate(timeout=100)
    assert "2 passed" in output, output
    assert not leftovers(tmp_path)


def test_servers_that_the_caller_names_are_used_and_none_is_started(tmp_path: Path) -> None:
    code = "import os\ndef test_it(): assert (os.environ['DATABASE_URL'], os.environ['REDIS_URL']) == ('a', 'b')\n"
    with start_pytest(tmp_path, code, SLUICE_TEST_DATABASE_URL="a", SLUICE_TEST_REDIS_URL="b") as run:
        output, _ = run.communicate(timeout=100)
    assert "1 passed" in output, output
    assert not leftovers(tmp_path)


def test_a_killed_run_leaves_no_server_and_the_next_run_removes_its_folder(tmp_path: Path) -> None:
    code = "import pathlib, time\ndef test_it():\n    pathlib.Path('up').touch()\n    time.sleep(600)\n"
    with start_pytest(tmp_path, code) as run:
        assert wait_until((tmp_path / "up").exists, PATIENCE_SECONDS)
        (servers,) = leftovers(tmp_path)
        assert not servers_ended(servers)
        run.kill()
    assert wait_until(lambda: servers_ended(servers), PATIENCE_SECONDS)

    os.utime(servers / "children.lock", (0, 0))
    with start_pytest(tmp_path, USES_BOTH) as run:
        output, _ = run.communicate(timeout=100)
    assert "2 passed" in output, output
    assert not leftovers(tmp_path)
