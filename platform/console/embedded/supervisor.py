"""Runs the console on one machine: PostgreSQL, Valkey, web, worker, beat and watcher, from first start to last signal.

Until the console is ready a child that keeps failing ends everything, with the end of its log. Afterwards nothing does
but a signal: every child that ends is started again.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from console.embedded import postgres, valkey
from console.embedded.children import (
    ROOT,
    Command,
    SetupCommand,
    console_commands,
    console_environment,
    held,
    manage_command,
    people_command,
    tables_command,
)
from console.embedded.errors import EmbeddedError
from console.embedded.osuser import choose_service_user
from console.embedded.postgres import Postgres, data_folders
from console.embedded.process import ChildProcess, stop_all
from console.embedded.restarts import RestartPolicy
from console.embedded.servers import wait_for_server
from console.embedded.state import Instance, Lock, StateDir, default_state_dir
from console.embedded.terminal import Terminal
from console.embedded.valkey import Valkey
from console.embedded.web import WebAddress
from console.version import product_version

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
APP_STOP_LADDER = ((signal.SIGTERM, 3.0),)
TICK_SECONDS = 0.1
LEFTOVER_SECONDS = 15.0
QUICK_FAILURES_BEFORE_READY = 4
STILL_WAITING_SECONDS = 30.0
LOG_CHECK_SECONDS = 60.0


class StopRequested(Exception):
    """A signal asked us to stop; raised only at the places that wait."""


@dataclass
class Watched:
    """A child to keep alive."""

    name: str
    spawn: Callable[[], ChildProcess]
    stop_ladder: Sequence[tuple[signal.Signals, float]]
    child: ChildProcess
    restarts: RestartPolicy = field(default_factory=RestartPolicy)


class Supervisor:
    """One run. `run` returns after a signal has stopped everything. Errors: EmbeddedError, with everything stopped."""

    def __init__(self, terminal: Terminal, environ: Mapping[str, str] = os.environ) -> None:
        self._terminal = terminal
        self._environ = environ
        self._stopping = False
        self._servers: list[Watched] = []
        self._apps: list[Watched] = []
        self._setups: list[ChildProcess] = []
        self._closers: list[Callable[[], None]] = []

    def run(self) -> None:
        self._listen_to_signals()
        started = time.monotonic()
        address = WebAddress.from_environment(self._environ)
        state = StateDir(default_state_dir())
        lock = state.lock()
        if lock is None:
            raise EmbeddedError(_already_running(state))
        try:
            self._run_locked(state, address, started)
        except StopRequested:
            return
        finally:
            self._stop_everything(state)
            lock.close()
            if self._stopping:
                self._terminal.say("Stopped.")

    def run_command(self, argv: Sequence[str]) -> int:
        """Run one `manage.py` command on this terminal and return its exit code.

        Where the console does not run, its servers are started for the command and stopped after it.
        """
        self._listen_to_signals()
        state = StateDir(default_state_dir())
        lock = state.lock()
        if lock is None:
            return self._command(argv, {**self._environ})
        try:
            children_lock = self._children_lock(state)
            self._closers.append(children_lock.close)
            instance, start_servers = self._servers_of(state, WebAddress.from_environment(self._environ), children_lock)
            start_servers()
            return self._command(argv, console_environment(instance, state.path))
        finally:
            self._stop_everything(state)
            lock.close()

    def _command(self, argv: Sequence[str], env: Mapping[str, str]) -> int:
        """The command's exit code. Raises StopRequested, with the command ended."""
        child = ChildProcess(manage_command(argv), env=env, death_signal=signal.SIGKILL, cwd=Path.cwd())
        try:
            while child.running:
                self._pause(TICK_SECONDS)
        finally:
            stop_all([(child, APP_STOP_LADDER)])
        return child.exit_code or 0

    def _run_locked(self, state: StateDir, address: WebAddress, started: float) -> None:
        children_lock = self._children_lock(state)
        self._closers.append(children_lock.close)
        address.require_free()
        self._terminal.say(f"Sluice {product_version()} starts; its state lies in {state.path}.")
        instance, start_servers = self._servers_of(state, address, children_lock)
        env = console_environment(instance, state.path)
        first_start = not state.sign_in_file.exists()
        web, *others = console_commands(address.bind, state.path)
        tables = self._held_setup(tables_command(), state, env, children_lock)
        start_servers()
        people = self._held_setup(people_command(), state, env, children_lock)  # finds bytecode that the first has made
        state.write_instance(instance)
        self._closers.append(state.remove_instance)
        self._set_up(tables_command(), tables, state)
        with state.setting_up():  # meanwhile the others load their modules, which takes as long
            self._apps.append(self._watched_app(web, state, env, children_lock))
            waiting = [self._watched_app(command, state, env, children_lock, is_held=True) for command in others]
            self._apps += waiting
            self._set_up(people_command(), people, state)
        with self._terminal.step("Web, worker, beat, watcher"):
            for watched in waiting:
                watched.child.write_and_close_stdin(b"")
            self._wait_until_ready(state, address)
        self._announce(state, address, time.monotonic() - started, first_start)
        self._keep_alive(state)

    # --- signals --------------------------------------------------------------
    def _listen_to_signals(self) -> None:
        for signum in STOP_SIGNALS:
            if signum != signal.SIGHUP or signal.getsignal(signum) != signal.SIG_IGN:  # nohup means: stay
                signal.signal(signum, self._on_signal)

    def _on_signal(self, signum: int, frame: FrameType | None) -> None:
        self._stopping = True  # further signals change nothing: the stop is bounded in time

    def _pause(self, seconds: float) -> None:
        """Sleep, unless a signal has asked to stop."""
        if self._stopping:
            raise StopRequested
        time.sleep(seconds)
        if self._stopping:
            raise StopRequested

    # --- start ----------------------------------------------------------------
    def _children_lock(self, state: StateDir) -> Lock:
        """Wait for what a supervisor that was killed has left: the kernel has told all of it to end."""
        deadline = time.monotonic() + LEFTOVER_SECONDS
        lock = state.children_lock()
        if lock is None:
            self._terminal.say("Waiting for the processes of an earlier start to end.")
        while lock is None:
            if time.monotonic() > deadline:
                raise EmbeddedError(
                    f"Processes of an earlier start still run: end those that fuser {state.path}/children.lock shows."
                )
            self._pause(TICK_SECONDS)
            lock = state.children_lock()
        return lock

    def _servers_of(
        self, state: StateDir, address: WebAddress, children_lock: Lock
    ) -> tuple[Instance, Callable[[], None]]:
        """PostgreSQL and Valkey, each unless the environment names another server, and what starts them."""
        say = self._terminal.say
        database_url = self._environ.get("DATABASE_URL", "")
        redis_url = self._environ.get("REDIS_URL", "")
        folders = data_folders(state.path)
        secrets = state.secrets(has_data=bool(folders))
        if database_url:
            say("  PostgreSQL: the server of DATABASE_URL")
        if redis_url:
            say("  Valkey: the server of REDIS_URL")
        if not (database_url and redis_url):
            user = choose_service_user(folders[-1] if folders else None, say)
            sockets = state.socket_folder(user)
            self._closers.append(state.remove_socket_folder)
        database = None if database_url else Postgres(state, user, secrets, sockets, say=say)
        broker = None if redis_url else Valkey(state, user, sockets, say=say)

        def start() -> None:
            if database is not None:
                self._start_postgres(database, state, [children_lock.fd])
            if broker is not None:
                self._start_valkey(broker, state, [children_lock.fd])

        instance = Instance(
            version=product_version(),
            database_url=database.url if database is not None else database_url,
            redis_url=broker.url if broker is not None else redis_url,
            secret_key=secrets.secret_key,
            fernet_keys=secrets.fernet_keys,
            base_url=self._environ.get("SLUICE_BASE_URL") or address.url,
            demo=self._environ.get("SLUICE_DEMO", "1") != "0",
            pid=os.getpid(),
        )
        return instance, start

    def _start_postgres(self, database: Postgres, state: StateDir, inherited: Sequence[int]) -> None:
        self._closers.append(database.close)
        with self._terminal.step(f"PostgreSQL {database.version}"):
            database.prepare(inherited)
            server = self._watch_server(postgres.LOG_NAME, lambda: database.spawn(inherited), postgres.STOP_LADDER)
            wait_for_server(database, server.child, state, postgres.LOG_NAME, pause=self._pause)
            database.ensure_database()

    def _start_valkey(self, broker: Valkey, state: StateDir, inherited: Sequence[int]) -> None:
        self._closers.append(broker.close)
        with self._terminal.step("Valkey"):
            server = self._watch_server(valkey.LOG_NAME, lambda: broker.spawn(inherited), valkey.STOP_LADDER)
            wait_for_server(broker, server.child, state, valkey.LOG_NAME, pause=self._pause)

    def _watch_server(
        self, name: str, spawn: Callable[[], ChildProcess], ladder: Sequence[tuple[signal.Signals, float]]
    ) -> Watched:
        watched = Watched(name, spawn, ladder, spawn())
        self._servers.append(watched)
        return watched

    def _watched_app(
        self, command: Command, state: StateDir, env: Mapping[str, str], children_lock: Lock, *, is_held: bool = False
    ) -> Watched:
        """`is_held`: its first process waits for the end of its standard input; later ones begin at once."""

        def spawn(*, is_held: bool = False) -> ChildProcess:
            return _spawn_app(
                command.name, command.argv, command.death_signal, state, env, children_lock, is_held=is_held
            )

        return Watched(command.name, spawn, APP_STOP_LADDER, spawn(is_held=is_held))

    def _held_setup(
        self, command: SetupCommand, state: StateDir, env: Mapping[str, str], children_lock: Lock
    ) -> ChildProcess:
        child = _spawn_app("setup", command.argv, signal.SIGTERM, state, env, children_lock, is_held=True)
        self._setups.append(child)
        return child

    def _set_up(self, command: SetupCommand, child: ChildProcess, state: StateDir) -> None:
        """Let go a command that brings the database to this version. Raises EmbeddedError when it fails."""
        with self._terminal.step(command.title):
            child.write_and_close_stdin(b"")
            while child.running:
                self._pause(TICK_SECONDS)
        if child.exit_code != 0:
            raise EmbeddedError(_failed(command.title, "setup", child, state))

    def _wait_until_ready(self, state: StateDir, address: WebAddress) -> None:
        reminder = time.monotonic() + STILL_WAITING_SECONDS
        while not address.is_ready():
            self._revive(state)
            for watched in (*self._servers, *self._apps):
                if watched.restarts.quick_failures >= QUICK_FAILURES_BEFORE_READY:
                    raise EmbeddedError(_failed(watched.name, watched.name, watched.child, state))
            if time.monotonic() > reminder:
                self._terminal.say(f"  Still waiting for {address.url}readyz; the logs are in {state.logs}.")
                reminder = time.monotonic() + STILL_WAITING_SECONDS
            self._pause(TICK_SECONDS)

    def _announce(self, state: StateDir, address: WebAddress, seconds: float, first_start: bool) -> None:
        say = self._terminal.say
        say(f"READY  {address.url}  (after {seconds:.1f} s; Ctrl-C stops everything)")
        if not address.is_local and not self._environ.get("SLUICE_ALLOWED_HOSTS"):
            say("Other machines are answered once SLUICE_ALLOWED_HOSTS names the host names that they use.")
        if state.sign_in_file.exists():
            if first_start:
                say(state.sign_in_file.read_text().rstrip())
            say(f"How to sign in as each role: {state.sign_in_file}")

    # --- keep alive -----------------------------------------------------------
    def _keep_alive(self, state: StateDir) -> None:
        log_check = time.monotonic() + LOG_CHECK_SECONDS
        while True:
            self._revive(state)
            if time.monotonic() > log_check:
                for watched in (*self._servers, *self._apps):
                    state.bound_log(watched.name)
                log_check = time.monotonic() + LOG_CHECK_SECONDS
            self._pause(TICK_SECONDS)

    def _revive(self, state: StateDir) -> None:
        """Start again what has ended and is due."""
        for watched in (*self._servers, *self._apps):
            now = time.monotonic()
            if watched.child.running:
                continue
            if watched.restarts.due_at is None:
                watched.restarts.ended(started_at=watched.child.started_at, now=now)
                what = _how_it_ended(watched.child)
                self._terminal.note(f"{watched.name} {what}; starting it again (log: {state.log_file(watched.name)}).")
            if watched.restarts.is_due(now):
                try:
                    watched.child = watched.spawn()
                except OSError as error:  # no memory, no process number, no disk: that may pass
                    watched.restarts.ended(started_at=now, now=now)
                    self._terminal.note(f"{watched.name} cannot be started ({error.strerror}); trying again.")
                else:
                    watched.restarts.started()

    # --- stop -----------------------------------------------------------------
    def _stop_everything(self, state: StateDir) -> None:
        """First what uses the servers, then the servers; within five seconds, whatever they are doing."""
        if self._stopping:
            self._terminal.say("Stopping.")
        apps = [(watched.child, watched.stop_ladder) for watched in self._apps]
        stop_all([*apps, *((child, APP_STOP_LADDER) for child in self._setups)])
        stop_all([(watched.child, watched.stop_ladder) for watched in self._servers])
        for close in reversed(self._closers):
            close()


def _spawn_app(
    name: str,
    argv: Sequence[str],
    death_signal: signal.Signals,
    state: StateDir,
    env: Mapping[str, str],
    children_lock: Lock,
    *,
    is_held: bool = False,
) -> ChildProcess:
    log = state.open_log(name)
    try:
        return ChildProcess(
            held(argv) if is_held else argv,
            env=env,
            death_signal=death_signal,
            output=log,
            stdin=subprocess.PIPE if is_held else subprocess.DEVNULL,
            cwd=ROOT,
            pass_fds=[children_lock.fd],
        )
    finally:
        os.close(log)


def _already_running(state: StateDir) -> str:
    running = state.read_instance()
    where = f" at {running.base_url} (process {running.pid})" if running else ""
    return (
        f"Sluice already runs from {state.path}{where}. Stop it first (Ctrl-C in its terminal), or start a second one "
        "with another folder and port: SLUICE_STATE_DIR=… make run PORT=…"
    )


def _how_it_ended(child: ChildProcess) -> str:
    code = child.exit_code
    if code is not None and code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


def _failed(title: str, log_name: str, child: ChildProcess, state: StateDir) -> str:
    return (
        f"{title}: the process {_how_it_ended(child)}. Its log is {state.log_file(log_name)}; the last lines:\n"
        f"{state.log_tail(log_name)}"
    )
