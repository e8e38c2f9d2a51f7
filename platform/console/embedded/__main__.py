"""`python -m console.embedded`: what `make run` calls."""

from __future__ import annotations

import argparse
import signal
import sys

from console.embedded.errors import EmbeddedError
from console.embedded.process import die_with_parent
from console.embedded.supervisor import StopRequested, Supervisor
from console.embedded.terminal import Terminal

INTERRUPTED = 130  # as a shell reports Ctrl-C


def main() -> int:
    """Run until a signal; 1 with a sentence on standard error when that is impossible."""
    parser = argparse.ArgumentParser(prog="python -m console.embedded", description="Run the console on this machine.")
    parser.add_argument(
        "--stop-with-parent", action="store_true", help="also stop when the process that started it ends"
    )
    parser.add_argument(
        "--manage", nargs=argparse.REMAINDER, metavar="COMMAND", help="run a command of manage.py, with the servers"
    )
    options = parser.parse_args()
    if options.stop_with_parent:
        die_with_parent(signal.SIGTERM)
    try:
        if options.manage:
            return Supervisor(Terminal(sys.stderr)).run_command(options.manage)
        Supervisor(Terminal()).run()
    except StopRequested:
        return INTERRUPTED
    except EmbeddedError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:  # a full disk, a folder that refuses owners: everything has been stopped
        print(f"Sluice ended: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
