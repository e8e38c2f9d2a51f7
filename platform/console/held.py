"""`python -m console.held ARGUMENTS`: get ready to run `python ARGUMENTS`, and begin when standard input ends.

Loading the console takes a process a second. It does that while the servers start or the first state is made, so that
it begins at once when its turn comes. Whoever holds the other end of standard input lets it go by closing it.
"""

from __future__ import annotations

import importlib
import runpy
import sys

import django
from django.core.management import get_commands, load_command_class

# What `python -m celery` loads before it begins: the only module that is held so far.
CELERY_MODULES = ("celery.bin.celery", "celery.apps.worker", "celery.apps.beat")


def main() -> None:
    arguments = sys.argv[1:]
    django.setup()
    if arguments[0] == "-m":
        for module in CELERY_MODULES:
            importlib.import_module(module)
    elif (name := arguments[1]) in get_commands():
        load_command_class(get_commands()[name], name)
    sys.stdin.buffer.read()
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()
