"""What the checks of a submit ask of the database: each thing once, however many jobs one request brings."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, TypeVar

from accounts.actors import Actor
from accounts.models import Team
from clusters.models import Cluster
from clusters.supplies import dataset_names
from jobs.models import Job
from quotas.selectors import QueuePlace, queue_places

T = TypeVar("T")

VENDOR_REMEMBERED = 50
"""Who has a hundred thousand jobs, and none of this framework, shall not wait until all of them were looked at."""


class Lookups:
    """One person's view of teams, queues and data sets for the length of one request."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._known: dict[Hashable, Any] = {}

    @cached_property
    def teams(self) -> dict[str, Team]:
        """The person's teams by slug."""
        rows = Team.objects.filter(pk__in=self._actor.team_ids, archived_at=None).order_by("name")
        return {team.slug: team for team in rows}

    def places(self, team: Team) -> list[QueuePlace]:
        return self._once(("places", team.pk), lambda: queue_places(team.pk))

    def last_vendor(self, framework: str, cluster: Cluster) -> str | None:
        """Whose cards the person's newest job of this framework had there, of their last VENDOR_REMEMBERED jobs."""

        def newest() -> str | None:
            own = Job.objects.filter(owner=self._actor.user).order_by("-submitted_at", "-id")
            jobs = Job.objects.filter(
                pk__in=own.values("pk")[:VENDOR_REMEMBERED], framework=framework, group__cluster=cluster
            )
            return jobs.order_by("-submitted_at", "-id").values_list("group__vendor", flat=True).first()

        return self._once(("vendor", framework, cluster.pk), newest)

    def datasets(self, cluster: Cluster, team: Team) -> frozenset[str]:
        """Names of the team's data sets there."""
        return self._once(("datasets", cluster.pk, team.pk), lambda: frozenset(dataset_names(cluster.pk, [team.pk])))

    def _once(self, key: Hashable, find: Callable[[], T]) -> T:
        if key not in self._known:
            self._known[key] = find()
        found: T = self._known[key]
        return found
