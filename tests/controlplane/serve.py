"""``make cluster``: a real control plane with eight fake 8-card nodes, for a person to connect the console to.

STATE names the folder that keeps it between runs, var/cluster unless given. Ends on Ctrl-C.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from pathlib import Path

from tests.controlplane import programs
from tests.controlplane.acting import act
from tests.controlplane.api import LOST_CONNECTION, ApiError
from tests.controlplane.nodes import NodeGroup
from tests.controlplane.plane import Account, Plane
from tests.controlplane.processes import PlaneError

FOLDER = Path(__file__).parents[2] / "var" / "cluster"
GROUPS = (
    NodeGroup("h100", count=4),
    NodeGroup("a100", count=4, product="NVIDIA-A100-SXM4-80GB"),
)

NEXT = """
The cluster runs: {nodes} nodes with 8 cards each, Kueue {kueue} and Volcano. It ends with Ctrl-C and is kept in
  {folder}

Look at it:
  export KUBECONFIG={admin}
  {kubectl} get nodes

Connect the console (docs/connect-a-cluster.md): start it with this machine's own address allowed,
  SLUICE_CLUSTER_ADDRESSES=127.0.0.0/8 make run
sign in as an administrator, add a cluster, and upload
{accounts}

Pods are played by kwok, not executed: `sleep 60; exit 3` ends after a minute, anything else when it is told to.
  {kubectl} annotate pod NAME sluice.test/exit=0
"""


def main() -> int:
    try:
        for name in programs.needed():
            if not programs.is_built(name):
                _say(f"Building {name}: all programs together take 25 to 40 minutes, once")
            programs.build(name)
        plane = Plane(Path(os.environ.get("STATE") or FOLDER), say=_say)
        plane.start()
    except (PlaneError, RuntimeError) as error:
        _say(f"The cluster did not start. {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    try:
        names = [name for group in GROUPS for name in plane.add_nodes(group)]
        _say(_next_steps(plane, len(names)))
        _wait_for_the_end(plane)
    finally:
        plane.stop(at_once=False)
    return 0


def _next_steps(plane: Plane, nodes: int) -> str:
    labels: dict[Account, str] = {
        "runtime": "jobs",
        "quota": "quotas and queues",
        "node": "labels and maintenance of nodes; may be left out",
    }
    accounts = "\n".join(f"  {plane.kubeconfig(account)}  ({label})" for account, label in labels.items())
    return NEXT.format(
        nodes=nodes,
        kueue=plane.kueue_version,
        folder=plane.folder,
        admin=plane.kubeconfig("admin"),
        kubectl=plane.kubectl,
        accounts=accounts,
    )


def _wait_for_the_end(plane: Plane) -> None:
    """Return on Ctrl-C or SIGTERM.

    :raises PlaneError: when a part ends by itself
    """
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    while not ended.wait(1.0):
        with contextlib.suppress(ApiError, LOST_CONNECTION):
            act(plane)
        for name in plane.processes.known():
            if not plane.processes.running(name):
                raise PlaneError(f"{name} ended by itself: {plane.processes.last_words(name)}")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
