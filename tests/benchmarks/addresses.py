"""`python -m tests.benchmarks.addresses NAME…`: the paths of these names for what KNOWN tells of, as JSON.

Lists are also asked for as people narrow them, and far back in time; such a name goes on after a question mark.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from urllib.parse import urlencode

NARROWED = {
    "jobs:list": ("whose=team", "state=failed", "state=failed&search=job", "group=h100"),
    "team:jobs": ("state=succeeded",),
    "admin_console:jobs": ("state=live", "team=vision"),
    "api:jobs": ("state=ended", "owner=me", "team=vision&state=running"),
}
FAR_BACK = ("jobs:list", "team:jobs", "admin_console:jobs", "api:jobs")
ABSENT = {"admin_console:plan_restore", "admin_console:adopt", "admin_console:take_over"}
"""About something that these databases do not have: an older version of a plan, quotas set from outside."""
SHARED = {"admin_console:sharing", "api:sharing"}
"""About a node group whose cards are shared."""
QUERIES = {"jobs:preview": "framework=pytorch&cards=8"}


def main(names: list[str]) -> None:
    import django

    django.setup()
    from django.urls import NoReverseMatch, reverse

    from common.pages import Cursor
    from jobs.models import Job

    known = json.loads(os.environ["KNOWN"])
    own = Job.objects.filter(owner__username="eng-vision-1").order_by("submitted_at")
    oldest = own[own.count() // 10]
    back = urlencode({"cursor": Cursor(oldest.submitted_at, oldest.pk).encode()})
    job = {"public_id": known["job"]}
    node, queue = {"cluster": known["cluster"], "node": "h100-01"}, {"queue": "vision"}
    arguments = (
        *({}, job, {**job, "operation": "cancel"}, {"team": "vision"}, {"cluster": known["cluster"]}),
        *({**node, "act": "cordon"}, queue, {**queue, "local": "default"}),
        {"cluster": known["cluster"], "group": "h100"},
    )

    def path_of(name: str) -> str:
        if name in SHARED:
            return reverse(name, kwargs={"cluster": known["cluster"], "group": "slices"})
        for kwargs in arguments:
            with suppress(NoReverseMatch):
                return reverse(name, kwargs=kwargs)
        raise LookupError(name)

    paths = {}
    for name in (each for each in names if each not in ABSENT):
        path = path_of(name)
        paths[name] = f"{path}?{QUERIES[name]}" if name in QUERIES else path
        for query in NARROWED.get(name, ()):
            paths[f"{name}?{query}"] = f"{path}?{query}"
        if name in FAR_BACK:
            paths[f"{name}?far-back"] = f"{path}?{back}"
    sys.stdout.write(json.dumps(paths))


if __name__ == "__main__":
    main(sys.argv[1:])
