"""Runs what docker-compose.yml and the Dockerfile say, without containers: their commands, environments and checks.

Read from the files: every service's command, environment, health check and grace to stop, the image's files, variables
and default command. Not proved: that an image builds, and what the container runtime does with capabilities and a
read-only file system; that nothing is written into the application's folder is checked instead.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis
import yaml

from console.embedded.binaries import postgres_programs, valkey_program
from console.embedded.children import ROOT
from console.embedded.osuser import ServiceUser, choose_service_user
from console.embedded.process import ChildProcess, stop_all, wait_until
from tests.system.console import free_port

VENV = Path(sys.executable).parents[1]
IMAGE_VENV, IMAGE_APP, IMAGE_STATE = "/opt/sluice/venv", "/opt/sluice/app", "/var/lib/sluice"
SERVERS = ("postgres", "valkey")
DEFAULT_STOP_SECONDS = 10.0
START_SECONDS = 60.0
ON_CI = {name: value for name, value in os.environ.items() if name in ("LANG", "TMPDIR")}


def compose() -> dict[str, Any]:
    """The services as written, with merges resolved and variables not."""
    return dict(yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"])


def filled_example() -> dict[str, str]:
    """.env.example as somebody fills it in: every secret drawn as the line above it says."""
    values = dict(re.findall(r"^(\w+)=(.*)$", (ROOT / ".env.example").read_text(), re.MULTILINE))
    assert {name for name, value in values.items() if not value and name != "SLUICE_STORAGE_ROOT"} == {
        "SLUICE_SECRET_KEY", "SLUICE_FERNET_KEYS", "POSTGRES_PASSWORD", "VALKEY_PASSWORD",
    }  # fmt: skip
    key = subprocess.run(_maker_of_keys(), capture_output=True, text=True, check=True).stdout.strip()
    return values | {
        "SLUICE_SECRET_KEY": secrets.token_urlsafe(48),
        "SLUICE_FERNET_KEYS": key,
        "POSTGRES_PASSWORD": secrets.token_hex(24),
        "VALKEY_PASSWORD": secrets.token_hex(24),
    }


def _maker_of_keys() -> list[str]:
    """The command that the example gives for SLUICE_FERNET_KEYS."""
    lines = (ROOT / ".env.example").read_text().splitlines()
    (command,) = shlex.split(lines[lines.index("SLUICE_FERNET_KEYS=") - 1].removeprefix("# python3 -c "))
    return [sys.executable, "-c", command]


def interpolated(value: Any, variables: Mapping[str, str]) -> Any:
    """A value of the file as compose hands it on: ${NAME:?why}, ${NAME:-default} and $$."""
    if isinstance(value, dict):
        return {key: interpolated(inner, variables) for key, inner in value.items()}
    if isinstance(value, list):
        return [interpolated(inner, variables) for inner in value]
    if not isinstance(value, str):
        return value

    def replaced(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        found = variables.get(match["name"]) or (match["rest"] if match["how"] == ":-" else "")
        assert found, f"{match['name']} is not set: {match['rest']}"
        return str(found)

    return re.sub(r"\$\$|\$\{(?P<name>\w+)(?:(?P<how>:[-?])(?P<rest>[^}]*))?\}", replaced, value)


class Image:
    """The files, variables and default command that the Dockerfile gives every service of the console."""

    def __init__(self, folder: Path) -> None:
        self.app = folder / "app"
        self.app.mkdir()
        self._text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ").split("\nFROM ")[-1]
        for line in self._lines("COPY"):
            if not line.startswith("--from="):
                *sources, target = line.split()
                for source in sources:
                    self._copy(source, self.app / target)

    def _lines(self, word: str) -> list[str]:
        return re.findall(rf"^{word} +(.+)$", self._text, re.MULTILINE)

    def _copy(self, source: str, target: Path) -> None:
        path = ROOT / source
        if path.is_dir():
            shutil.copytree(path, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            place = target / path.name if target.is_dir() else target
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)

    @property
    def variables(self) -> dict[str, str]:
        """Of its ENV, with the places of this machine."""
        pairs = [word.split("=", 1) for line in self._lines("ENV") for word in shlex.split(line)]
        return {name: value.replace("$PATH", "/usr/bin:/bin") for name, value in pairs}

    @property
    def command(self) -> list[str]:
        (command,) = self._lines("CMD")
        return list(yaml.safe_load(command))

    @property
    def collect(self) -> tuple[dict[str, str], list[str]]:
        """Variables and words of the step that collects static files."""
        (step,) = [line for line in self._lines("RUN") if "collectstatic" in line]
        words = shlex.split(step.split("&&")[0])
        first = next(number for number, word in enumerate(words) if "=" not in word)
        return dict(word.split("=", 1) for word in words[:first]), words[first:]

    def files(self) -> set[Path]:
        return {path for path in self.app.rglob("*") if path.is_file()}


@dataclass
class Stack:
    """The services side by side on loopback, each with its own log below ``folder``."""

    folder: Path
    image: Image
    variables: dict[str, str]
    ports: dict[str, int]

    @classmethod
    def new(cls, folder: Path) -> Stack:
        for name in ("state", "logs"):
            (folder / name).mkdir()
        folder.chmod(0o755)
        ports = {name: free_port() for name in (*SERVERS, "web")}
        return cls(folder, Image(folder), filled_example(), ports)

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def service(self, name: str) -> dict[str, Any]:
        return dict(interpolated(compose()[name], self.variables))

    def environment(self, name: str) -> dict[str, str]:
        """What a service of the console finds: the image's variables, the file's and those of the service itself."""
        service = self.service(name)
        own = {key: str(value) for key, value in service["environment"].items()}
        assert service["env_file"] == ".env"
        together = {**ON_CI, **self.image.variables, **self.variables, **own, "PYTHONDONTWRITEBYTECODE": "1"}
        return {key: self._here(value) for key, value in together.items()}

    def words(self, name: str) -> list[str]:
        return [self._here(word) for word in self.service(name).get("command", self.image.command)]

    def _here(self, text: str) -> str:
        """A place inside the containers' network or file system as it is on this machine."""
        for inside, outside in (
            (IMAGE_VENV, str(VENV)),
            (IMAGE_APP, str(self.image.app)),
            (IMAGE_STATE, str(self.state)),
            ("@postgres:5432", f"@127.0.0.1:{self.ports['postgres']}"),
            ("@valkey:6379", f"@127.0.0.1:{self.ports['valkey']}"),
            ("0.0.0.0:8000", f"127.0.0.1:{self.ports['web']}"),
        ):
            text = text.replace(inside, outside)
        return text

    def run(self, words: Sequence[str], env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """A command inside the application's folder, to its end."""
        return subprocess.run(
            _found(words, env), cwd=self.image.app, env=dict(env), capture_output=True, text=True, timeout=120
        )

    def manage(self, *arguments: str) -> str:
        """What `docker compose exec web python manage.py …` prints."""
        done = self.run(["python", "manage.py", *arguments], self.environment("web"))
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def start(self, name: str) -> ChildProcess:
        env = self.environment(name)
        with self.log(name).open("ab") as log:
            return ChildProcess(
                _found(self.words(name), env),
                env=env,
                death_signal=signal.SIGKILL,
                output=log,
                cwd=self.image.app,
            )

    def log(self, name: str) -> Path:
        return self.folder / "logs" / f"{name}.log"

    def stop_seconds(self, name: str) -> float:
        given = self.service(name).get("stop_grace_period")
        return float(given.removesuffix("s")) if given else DEFAULT_STOP_SECONDS

    def is_healthy(self) -> bool:
        """What the container's health check of the web service says."""
        kind, *words = self.service("web")["healthcheck"]["test"]
        assert kind == "CMD"
        return self.run([*words, str(self.ports["web"])], self.environment("web")).returncode == 0

    # --- the servers ----------------------------------------------------------
    @contextmanager
    def servers(self) -> Iterator[None]:
        """PostgreSQL and Valkey with the passwords and options of the file, until the block ends."""
        user = choose_service_user(None, say=print)
        children: list[ChildProcess] = []
        try:
            self._postgres(user, children)
            self._valkey(user, children)
            yield
        finally:
            stop_all([(child, ((signal.SIGINT, 5.0),)) for child in children])

    def _postgres(self, user: ServiceUser, children: list[ChildProcess]) -> None:
        programs, service = postgres_programs(user, print), self.service("postgres")
        given = {key: str(value) for key, value in service["environment"].items()}
        data = self._owned("postgres", user)
        secret = data.parent / "postgres-password"
        secret.write_text(given["POSTGRES_PASSWORD"])
        user.own(secret)
        options = shlex.split(given["POSTGRES_INITDB_ARGS"])
        options += [f"--username={given['POSTGRES_USER']}", "--auth=scram-sha-256", "--no-sync"]
        self._as_user(user, [programs / "initdb", "-D", data, f"--pwfile={secret}", *options])
        settings = [
            f"port={self.ports['postgres']}",
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "fsync=off",
        ]
        argv = [str(programs / "postgres"), "-D", str(data)]
        options = [word for each in settings for word in ("-c", each)]
        children.append(self._server("postgres", [*argv, *options], {}, user))
        client = {
            "PGHOST": "127.0.0.1",
            "PGPORT": str(self.ports["postgres"]),
            "PGUSER": given["POSTGRES_USER"],
            "PGPASSWORD": given["POSTGRES_PASSWORD"],
        }
        kind, *check = service["healthcheck"]["test"]
        assert kind == "CMD"
        check[0] = str(programs / check[0])
        ready = lambda: subprocess.run(check, env=client, capture_output=True).returncode == 0  # noqa: E731
        assert wait_until(ready, START_SECONDS), self.log("postgres").read_text()
        subprocess.run([programs / "createdb", given["POSTGRES_DB"]], env=client, check=True)

    def _valkey(self, user: ServiceUser, children: list[ChildProcess]) -> None:
        program, service = valkey_program(user, print), self.service("valkey")
        shell, flag, script = service["command"]
        given = {key: str(value) for key, value in service["environment"].items()}
        place = f" --port {self.ports['valkey']} --bind 127.0.0.1 --dir {self._owned('valkey', user)}"
        env = {**given, "PATH": f"{program.parent}:/usr/bin:/bin"}
        children.append(self._server("valkey", [shell, flag, script + place], env, user))
        client = redis.Redis("127.0.0.1", self.ports["valkey"], password=given["VALKEY_PASSWORD"])
        with closing(client):
            assert wait_until(lambda: _answers(client), START_SECONDS), self.log("valkey").read_text()

    def _server(self, name: str, argv: Sequence[str], env: Mapping[str, str], user: ServiceUser) -> ChildProcess:
        with self.log(name).open("ab") as log:
            return ChildProcess(
                argv, env={"LC_ALL": "C", **env}, death_signal=signal.SIGKILL, output=log, user=user, cwd="/"
            )

    def _owned(self, name: str, user: ServiceUser) -> Path:
        folder = self.folder / f"{name}-data"
        folder.mkdir(mode=0o700)
        user.own(folder)
        return folder

    @staticmethod
    def _as_user(user: ServiceUser, argv: Sequence[object]) -> None:
        words = [str(word) for word in argv]
        done = subprocess.run(
            words, capture_output=True, text=True, cwd="/", env={"LC_ALL": "C"}, **user.popen_options()
        )
        assert done.returncode == 0, done.stderr


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False


def _found(words: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """The command with its program where the container's PATH has it."""
    program = shutil.which(words[0], path=env["PATH"])
    assert program is not None, f"{words[0]} is not in {env['PATH']}"
    return [program, *words[1:]]
