"""B17: pages and endpoints about nodes and the water level with 5,000 nodes, and with no more than one sheet shows.

Two consoles run beside each other, one on each database, and are asked in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.benchmarks import stack
from tests.benchmarks.database import durable_servers
from tests.benchmarks.filled import Filled
from tests.benchmarks.measure import Row
from tests.benchmarks.quota_pages import compared
from tests.crowded_quotas import GROUPS, NODES

TEAMS, FEW = 3, 200
"""As many nodes as one sheet of the page shows: the same content on both sides."""
ASKED = ("/admin/water/", "/api/v1/clusters/big/water-level", "/admin/nodes/")


@contextmanager
def prepared() -> Iterator[Callable[[], Iterator[Row]]]:
    """The consoles stand, once for all runs."""
    with (
        _nodes(FEW) as few,
        _nodes(NODES) as many,
        stack.running(few.servers, ("web",)) as small,
        stack.running(many.servers, ("web",)) as large,
    ):

        def rows() -> Iterator[Row]:
            size = f"{NODES:,} nodes in {GROUPS} node groups; reference: {FEW} nodes"
            for letter, address in zip("xyz", ASKED, strict=True):
                what = f"p95 (median) of {address} as admin: {size}"
                yield compared(f"B17{letter}", what, "admin", address, (few, small.port), (many, large.port))

        yield rows


@contextmanager
def _nodes(count: int) -> Iterator[Filled]:
    with durable_servers() as servers:
        told = stack.told_by("many_teams", str(TEAMS), str(count), servers=servers)
        yield Filled(servers, 0, 0, told)
