"""The state folder of one installation: where it lies, who may use it, its secrets, its log files.

Everything in it belongs to the person who runs Sluice and is closed to everybody else (folders 0700, files 0600). The
servers' own folders belong to the servers' user, who never has to enter the folders above them (see `sockets`).
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from console.embedded.errors import EmbeddedError
from console.embedded.osuser import ServiceUser

LOCK_NAME = "supervisor.lock"
CHILDREN_LOCK_NAME = "children.lock"
INSTANCE_NAME = "instance.json"
SECRETS_NAME = "secrets.json"
SIGN_IN_NAME = "sign-in.txt"
SETTING_UP_NAME = "setting-up"
LOG_LIMIT_BYTES = 10 * 1024 * 1024
SOCKET_PATH_LIMIT = 100  # sun_path holds 108 bytes on Linux and 104 on macOS, the ending zero included
LONGEST_SOCKET_NAME = "/.s.PGSQL.5432.lock"
PLAIN_PATH = re.compile(r"[A-Za-z0-9/._-]+")


@dataclass(frozen=True)
class Secrets:
    """What is drawn once per installation: losing it loses sign-ins and encrypted fields.

    It never changes, but that a restored backup may add keys (`add_fernet_keys`).
    """

    secret_key: str
    fernet_keys: str
    superuser_password: str
    database_password: str


@dataclass(frozen=True)
class Instance:
    """What another terminal needs to reach the running console; `fernet_keys` are comma-separated, newest first."""

    version: str
    database_url: str
    redis_url: str
    secret_key: str
    fernet_keys: str
    base_url: str
    demo: bool
    pid: int


def default_state_dir() -> Path:
    """SLUICE_STATE_DIR, else /var/lib/sluice for root, else sluice below the XDG state home."""
    if given := os.environ.get("SLUICE_STATE_DIR"):
        return Path(given).expanduser().absolute()
    if os.geteuid() == 0:
        return Path("/var/lib/sluice")
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state").absolute() / "sluice"


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    temporary = path.with_name(f".{path.name}.new")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


class StateDir:
    """A state folder that is ours and private. Errors: the folder is somebody else's, or holds something else."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._claim()
        except OSError as error:
            raise EmbeddedError(
                f"The state folder {path} cannot be used ({error.strerror}). Set SLUICE_STATE_DIR to a folder of yours."
            ) from error
        self.logs = self.private_folder("logs")

    def _claim(self) -> None:
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.path.stat().st_uid != os.geteuid():
            raise EmbeddedError(
                f"The state folder {self.path} belongs to another user. Start Sluice as that user, or set "
                "SLUICE_STATE_DIR to a folder of yours."
            )
        if not (self.path / LOCK_NAME).exists() and any(self.path.iterdir()):
            raise EmbeddedError(
                f"{self.path} is neither empty nor a state folder of Sluice. Set SLUICE_STATE_DIR to another folder."
            )
        self.path.chmod(0o700)
        self._open_lock(LOCK_NAME).close()

    def _open_lock(self, name: str) -> Lock:
        return Lock(os.open(self.path / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))

    def private_folder(self, name: str, user: ServiceUser | None = None) -> Path:
        """A folder 0700 in the state folder, given to `user` if one is named."""
        folder = self.path / name
        folder.mkdir(mode=0o700, exist_ok=True)
        if user is not None:
            user.own(folder)
        folder.chmod(0o700)
        return folder

    # --- one at a time --------------------------------------------------------
    def lock(self) -> Lock | None:
        """The lock of the one supervisor of this folder, None when another supervisor holds it."""
        return self._acquire(LOCK_NAME)

    def children_lock(self) -> Lock | None:
        """The lock that every child inherits and so holds until the last of them has ended, None while one is alive."""
        return self._acquire(CHILDREN_LOCK_NAME)

    def _acquire(self, name: str) -> Lock | None:
        lock = self._open_lock(name)
        if lock.acquire():
            return lock
        lock.close()
        return None

    # --- secrets and the running instance -------------------------------------
    def secrets(self, *, has_data: bool) -> Secrets:
        """The secrets of this installation, drawn on the first start.

        Errors: the file is gone although there is data, which new secrets could not open.
        """
        path = self.path / SECRETS_NAME
        if path.exists():
            return Secrets(**json.loads(path.read_text()))
        if has_data:
            raise EmbeddedError(
                f"{path} is missing, and the data beside it cannot be opened without it. Put it back from a backup, or "
                f"start anew in another folder with SLUICE_STATE_DIR."
            )
        drawn = Secrets(
            secret_key=secrets.token_urlsafe(48),
            fernet_keys=base64.urlsafe_b64encode(os.urandom(32)).decode(),
            superuser_password=secrets.token_urlsafe(32),
            database_password=secrets.token_urlsafe(32),
        )
        write_private(path, json.dumps(asdict(drawn), indent=1) + "\n")
        return drawn

    def add_fernet_keys(self, keys: Sequence[str]) -> None:
        """Also open what was sealed with these keys; new values go on being sealed with the first of our own."""
        path = self.path / SECRETS_NAME
        known = Secrets(**json.loads(path.read_text()))
        together = dict.fromkeys((*known.fernet_keys.split(","), *keys))
        write_private(path, json.dumps(asdict(replace(known, fernet_keys=",".join(together))), indent=1) + "\n")

    def read_instance(self) -> Instance | None:
        """What the running supervisor (or one that was killed) has written, None when there is nothing to read."""
        try:
            return Instance(**json.loads((self.path / INSTANCE_NAME).read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def write_instance(self, instance: Instance) -> None:
        write_private(self.path / INSTANCE_NAME, json.dumps(asdict(instance), indent=1) + "\n")

    def remove_instance(self) -> None:
        (self.path / INSTANCE_NAME).unlink(missing_ok=True)

    @property
    def sign_in_file(self) -> Path:
        return self.path / SIGN_IN_NAME

    @contextmanager
    def setting_up(self) -> Iterator[None]:
        """While this lasts the web server, which runs already, says that it is not ready."""
        mark = self.path / SETTING_UP_NAME
        write_private(mark, "")
        try:
            yield
        finally:
            mark.unlink(missing_ok=True)

    # --- sockets --------------------------------------------------------------
    def socket_folder(self, user: ServiceUser) -> Path:
        """A private folder for unix sockets: `run` here, or a new one in /tmp.

        The path must be short enough for a socket, and plain: it becomes part of addresses, whose readers disagree on
        blanks, commas, quotes and letters beyond ASCII.
        """
        run = self.path / "run"
        self.remove_socket_folder()
        if len(f"{run}{LONGEST_SOCKET_NAME}") <= SOCKET_PATH_LIMIT and PLAIN_PATH.fullmatch(str(run)):
            return self.private_folder("run", user)
        folder = Path(tempfile.mkdtemp(prefix="sluice-", dir="/tmp"))  # created 0700, and nobody could guess its name
        user.own(folder)
        run.symlink_to(folder)
        return folder

    def remove_socket_folder(self) -> None:
        """Remove the sockets of this or an earlier start, wherever they lie."""
        run = self.path / "run"
        if run.is_symlink():
            shutil.rmtree(run.readlink(), ignore_errors=True)
            run.unlink()
        elif run.exists():
            shutil.rmtree(run)

    # --- logs -----------------------------------------------------------------
    def log_file(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def open_log(self, name: str) -> int:
        """A descriptor that appends to logs/NAME.log; the caller closes it once the child has it."""
        self.bound_log(name)
        return os.open(self.log_file(name), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def bound_log(self, name: str) -> None:
        """Keep logs/NAME.log below LOG_LIMIT_BYTES: what is older moves to NAME.log.1, also under a running writer."""
        path = self.log_file(name)
        try:
            too_large = path.stat().st_size > LOG_LIMIT_BYTES
        except FileNotFoundError:
            return
        if too_large:
            shutil.copyfile(path, path.with_name(f"{path.name}.1"))
            path.with_name(f"{path.name}.1").chmod(0o600)
            os.truncate(path, 0)  # writers append, so their next line starts the file anew

    def log_tail(self, name: str, lines: int = 15) -> str:
        """The last lines of logs/NAME.log, for the message about a child that failed."""
        try:
            with self.log_file(name).open("rb") as file:
                file.seek(max(0, self.log_file(name).stat().st_size - 8192))
                text = file.read().decode(errors="replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-lines:])


class Lock:
    """An flock on an open file. It is held until every process that inherited `fd` has closed it or ended."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def acquire(self) -> bool:
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def close(self) -> None:
        os.close(self.fd)
