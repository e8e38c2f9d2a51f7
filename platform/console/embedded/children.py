"""The console's own processes: the same four as in production (see docker-compose.yml), as command lines."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from console.embedded.state import Instance

ROOT = Path(__file__).resolve().parents[3]
LOCAL_HOSTS = ("127.0.0.1", "localhost", "[::1]")
WEB_THREADS = 8
WORKER_THREADS = 4
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
# The system checks have passed for every change; at each start they would cost a quarter of the time.
SKIP_CHECKS = "--skip-checks"


@dataclass(frozen=True)
class Command:
    """A process to keep alive. `death_signal` is what the kernel sends it when the supervisor is gone.

    What holds no state dies at once by SIGKILL. The web server's parent needs the moment to take its worker along.
    """

    name: str
    argv: tuple[str, ...]
    death_signal: signal.Signals


@dataclass(frozen=True)
class SetupCommand:
    """What runs once at each start. `title` is what the person reads meanwhile."""

    title: str
    argv: tuple[str, ...]


def tables_command() -> SetupCommand:
    """Before every process of the console: they all need the tables of this version."""
    return SetupCommand("Database tables", _manage("migrate", "--noinput"))


def people_command() -> SetupCommand:
    """Before the worker and the watcher, which would let the sandbox run on."""
    return SetupCommand("People and clusters", _manage("instance_setup"))


def console_commands(address: str, state: Path) -> tuple[Command, ...]:
    """The web server on `address` (HOST:PORT), the worker, the beat and the watcher."""
    web = _module("gunicorn", "console.wsgi:application", "--bind", address, "--worker-class", "gthread")
    web += ("--workers", "1", "--threads", str(WEB_THREADS), "--graceful-timeout", "2", "--no-control-socket")
    web += ("--log-level", "warning")
    celery = _module("celery", SKIP_CHECKS, "--app", "console")
    worker = (*celery, "worker", "--pool", "threads", "--concurrency", str(WORKER_THREADS), "--loglevel", "WARNING")
    worker += ("--queues", "reconcile,sync,celery", "--hostname", "embedded@%h", "--without-mingle", "--without-gossip")
    beat = (*celery, "beat", "--schedule", str(state / "beat-schedule"), "--pidfile=", "--loglevel", "WARNING")
    return (
        Command("web", web, signal.SIGTERM),
        Command("worker", worker, signal.SIGKILL),
        Command("beat", beat, signal.SIGKILL),
        Command("watcher", _manage("watch"), signal.SIGKILL),
    )


def held(argv: Sequence[str]) -> tuple[str, ...]:
    """The same program, loaded at once but begun only when its standard input ends (see console/held.py)."""
    return _module("console.held", *argv[1:])


def manage_command(arguments: Sequence[str]) -> tuple[str, ...]:
    """`manage.py` with these arguments, as a person types them."""
    return (sys.executable, str(ROOT / "manage.py"), *arguments)


def console_environment(instance: Instance, state: Path) -> dict[str, str]:
    """The environment of every process of the console: ours, and where to find the servers and keys."""
    inherited = {name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", NO_BYTECODE}}
    return (
        inherited
        | bytecode_folder(os.environ, state)
        | {
            "DATABASE_URL": instance.database_url,
            "REDIS_URL": instance.redis_url,
            "SLUICE_SECRET_KEY": instance.secret_key,
            "SLUICE_FERNET_KEYS": instance.fernet_keys,
            "SLUICE_STATE_DIR": str(state),
            "SLUICE_BASE_URL": instance.base_url,
            "SLUICE_DEMO": "1" if instance.demo else "0",
            "SLUICE_ALLOWED_HOSTS": allowed_hosts(os.environ),
            "DJANGO_SETTINGS_MODULE": "console.settings.base",
            "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "platform"))),
            "PYTHONUNBUFFERED": "1",
            "MALLOC_ARENA_MAX": os.environ.get(
                "MALLOC_ARENA_MAX", "2"
            ),  # threads share their heaps: a tenth less memory
        }
    )


def bytecode_folder(environ: Mapping[str, str], state: Path) -> dict[str, str]:
    """Who wants no bytecode beside the sources gets it in the state folder.

    Without any, each of the processes compiles two thousand modules at every start, which doubles its time.
    """
    return {"PYTHONPYCACHEPREFIX": str(state / "bytecode")} if environ.get(NO_BYTECODE) else {}


def allowed_hosts(environ: Mapping[str, str]) -> str:
    """The host names that the web server answers to: those of this machine, and what SLUICE_ALLOWED_HOSTS adds."""
    added = [host for host in environ.get("SLUICE_ALLOWED_HOSTS", "").split(",") if host]
    return ",".join(dict.fromkeys((*LOCAL_HOSTS, *added)))


def _module(name: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", name, *arguments)


def _manage(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, str(ROOT / "manage.py"), *arguments, SKIP_CHECKS)
