"""What the checks of a submit ask of the database: each thing once, however many jobs one request brings."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, TypeVar

from accounts.actors import Actor
from accounts.models import Team
from clusters.models import Cluster
from clusters.supplies import dataset_names
from common.parts import Part, read_parts
from quotas.selectors import QueuePlace, queue_places

T = TypeVar("T")

VENDOR_REMEMBERED = 50
"""Who has a hundred thousand jobs, and none of this framework, shall not wait until all of them were looked at."""

_TEAM = Part(Team, "t")
_TEAMS = f"SELECT {_TEAM.columns} FROM accounts_team t WHERE t.id = ANY(%s) AND t.archived_at IS NULL ORDER BY t.name"
_LAST_VENDOR = """
SELECT g.vendor
  FROM (SELECT id, submitted_at, framework, group_id FROM jobs_job
         WHERE owner_id = %(owner)s ORDER BY submitted_at DESC, id DESC LIMIT %(remembered)s) j
  JOIN clusters_nodegroup g ON g.id = j.group_id
 WHERE g.cluster_id = %(cluster)s AND j.framework = %(framework)s
 ORDER BY j.submitted_at DESC, j.id DESC
 LIMIT 1
"""


class Lookups:
    """One person's view of teams, queues and data sets for the length of one request.

    Not ``of_now`` is enough for choosing where a job goes: what is free there is a moment old (`queue_places`).
    """

    def __init__(self, actor: Actor, *, of_now: bool = False) -> None:
        self._actor = actor
        self._of_now = of_now
        self._known: dict[Hashable, Any] = {}

    @cached_property
    def teams(self) -> dict[str, Team]:
        """The person's teams by slug."""
        return {team.slug: team for (team,) in read_parts(_TEAMS, [list(self._actor.team_ids)], _TEAM)}

    def places(self, team: Team) -> list[QueuePlace]:
        return self._once(("places", team.pk), lambda: queue_places(team.pk, of_now=self._of_now))

    def last_vendor(self, framework: str, cluster: Cluster) -> str | None:
        """Whose cards the person's newest job of this framework had there, of their last VENDOR_REMEMBERED jobs."""

        def newest() -> str | None:
            asked = {"cluster": cluster.pk, "framework": framework}
            owner = {"owner": self._actor.user.pk, "remembered": VENDOR_REMEMBERED}
            return next((vendor for (vendor,) in read_parts(_LAST_VENDOR, {**asked, **owner})), None)

        return self._once(("vendor", framework, cluster.pk), newest)

    def datasets(self, cluster: Cluster, team: Team) -> frozenset[str]:
        """Names of the team's data sets there."""
        return self._once(("datasets", cluster.pk, team.pk), lambda: frozenset(dataset_names(cluster.pk, [team.pk])))

    def _once(self, key: Hashable, find: Callable[[], T]) -> T:
        if key not in self._known:
            self._known[key] = find()
        found: T = self._known[key]
        return found
