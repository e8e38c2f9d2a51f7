"""Taking over queues that were on a cluster before us: their teams get the shares that these queues had.

The queues themselves are never written. As long as one has cards, they are set aside: the team's quota here begins
with the rest and grows by itself as the found queue is emptied by whoever made it (docs/adopt-a-cluster.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.actors import Actor
from accounts.models import Team
from accounts.policy import Action, require
from clusters.adoption_models import FoundQueue
from clusters.connect import require_connected
from clusters.contract import BackendError, FoundQueueFacts, Retryable
from clusters.found import facts_of, found_look
from clusters.labels import error_text
from clusters.models import Cluster
from clusters.services import cluster_failed, is_silence
from common.errors import DomainError, FieldProblem, InvalidInput
from common.texts import storable
from quotas.domain.adoption import taken_over
from quotas.domain.likeness import proposed_team
from quotas.domain.plan import Division, Plan, divide
from quotas.domain.shares import apportion
from quotas.models import QuotaVersion, TeamQueue
from quotas.plans.aside import Found
from quotas.plans.preview import PlanPreview, division_preview
from quotas.plans.services import REASON_MAX, checked_reason, expected
from quotas.plans.store import Act, Stored, cards_now, stored, write

Choice = Mapping[str, str]
"""Found queue → slug of the team that takes its share over; '' = it is left alone."""


@dataclass(frozen=True, slots=True)
class FoundView:
    """One found queue for people. ``proposed`` is the slug of a team, '' where no name is like it."""

    name: str
    facts: FoundQueueFacts
    seen_at: datetime
    is_gone: bool
    team: str  # slug; '' = nobody has taken it over
    team_name: str
    adopted_at: datetime | None
    proposed: str

    @property
    def is_open(self) -> bool:
        """Can be taken over."""
        return not (self.team or self.is_gone or self.facts.is_pool)


@dataclass(frozen=True, slots=True)
class TakenPart:
    """What a team had in a node group, and what its share comes to. In the group's unit.

    ``starts_with`` is its quota at once, ``aside`` what the found queues keep of it until they are emptied.
    """

    queue: str  # team queue
    group: str
    found: int
    basis_points: int
    comes_to: int
    aside: int
    starts_with: int

    @property
    def difference(self) -> int:
        return self.comes_to - self.found


@dataclass(frozen=True, slots=True)
class AdoptionPreview:
    """What adopting would do: the shares, the plan that comes of it, and the queues that are left alone."""

    taken: tuple[TakenPart, ...]
    plan: PlanPreview
    adopted: tuple[str, ...]
    left_alone: tuple[str, ...]


def found_views(*, viewer: Actor, cluster: Cluster) -> list[FoundView]:
    """All queues of others as last seen, with proposals; two queries. Raises NotAllowed, DomainError (the sandbox)."""
    require(viewer, Action.SHARES_MANAGE)
    require_connected(cluster)
    teams = teams_of(cluster)
    rows = FoundQueue.objects.filter(cluster=cluster).select_related("team")
    return [_view(row, teams) for row in rows.order_by("is_gone", "is_pool", "name")]


def teams_of(cluster: Cluster) -> dict[str, str]:
    """Names of teams that have a queue on a cluster, by slug; one query."""
    rows = TeamQueue.objects.filter(cluster=cluster, team__archived_at=None).order_by("team__name")
    return dict(rows.values_list("team__slug", "team__name"))


def found_ask(*, viewer: Actor, cluster: Cluster) -> None:
    """Look at the queues of others now. Outside of a transaction, it talks to the cluster.

    Raises NotAllowed, DomainError (the sandbox; 503: it does not answer, or refuses; what was seen before stands).
    """
    require(viewer, Action.SHARES_MANAGE)
    require_connected(cluster)
    try:
        found_look(cluster)
    except BackendError as error:
        if is_silence(error):
            cluster_failed(cluster, error)
        status = 503 if isinstance(error, Retryable) else 409
        raise DomainError(error.code, error_text(error.code), status=status) from error


def adoption_preview(*, viewer: Actor, cluster: Cluster, choice: Choice) -> AdoptionPreview:
    """What :func:`adopt` would do, by what was seen last. Reads only. Raises as it does."""
    require(viewer, Action.SHARES_MANAGE)
    require_connected(cluster)
    before = stored(cluster)
    chosen = _chosen(cluster, choice)
    after = _after(cluster, before, chosen)
    left = FoundQueue.objects.filter(cluster=cluster, is_gone=False, team=None)
    names = left.exclude(pk__in=[each.row.pk for each in chosen]).order_by("name").values_list("name", flat=True)
    return AdoptionPreview(
        taken=tuple(_taken(after, _wanted(cluster, chosen))),
        plan=division_preview(cluster, before, after),
        adopted=tuple(each.row.name for each in chosen),
        left_alone=tuple(dict.fromkeys(names)),
    )


def adopt(*, actor: Actor, cluster: Cluster, choice: Choice, expected_version: int, reason: str = "") -> QuotaVersion:
    """Give teams the shares of the queues that are ``chosen`` for them. Outside of a transaction: it looks once more.

    All or nothing: one version of the plan, with its author and where it came from. Call `quotas.services.quotas_bring`
    after the commit. Raises NotAllowed, InvalidInput, ChangedMeanwhile, DomainError (the sandbox; a queue that somebody
    else has adopted; 503 where the cluster does not answer).
    """
    require(actor, Action.SHARES_MANAGE)
    reason = checked_reason(reason)
    found_ask(viewer=actor, cluster=cluster)
    with transaction.atomic():
        before = expected(cluster, expected_version)
        chosen = _chosen(cluster, choice)
        after = _after(cluster, before, chosen)
        names = ", ".join(each.row.name for each in chosen)
        told = reason or (_("adopted from %(queues)s") % {"queues": names})[:REASON_MAX]
        act = Act(
            "quota.adopt_queues",
            QuotaVersion.Cause.ADOPT,
            actor=actor,
            reason=told,
            detail={"queues": {each.row.name: each.team.slug for each in chosen}},
        )
        version = write(cluster, before, after, act, always=True)
        assert version is not None  # one is made always
        for each in chosen:
            row = each.row
            row.team, row.adopted, row.adopted_by, row.adopted_at = each.team, row.cards, actor.user, timezone.now()
            row.save(update_fields=["team", "adopted", "adopted_by", "adopted_at"])
    return version


# --------------------------------------------------------------------------- what is chosen


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A found queue and the team that takes its share over."""

    row: FoundQueue
    team: Team
    queue: str  # the team's own


def _chosen(cluster: Cluster, choice: Choice) -> list[_Chosen]:
    """Raises InvalidInput, DomainError("adopted_already")."""
    rows = {row.name: row for row in FoundQueue.objects.filter(cluster=cluster, is_pool=False)}
    queues = {
        queue.team.slug: queue
        for queue in TeamQueue.objects.filter(cluster=cluster, team__archived_at=None).select_related("team")
    }
    chosen, problems = [], []
    for name, team in sorted((name, team) for name, team in choice.items() if team):
        row, queue = rows.get(name), queues.get(team)
        if row is not None and row.team_id is not None:
            raise _adopted_already(row)
        if row is None or row.is_gone:
            message = _("There is no queue of this name on the cluster any more.")
            problems.append(FieldProblem(f"queues.{storable(name)}", "unknown_queue", message))
        elif queue is None:
            message = _("There is no team of this name with a queue on this cluster.")
            problems.append(FieldProblem(f"queues.{storable(name)}", "unknown_team", message))
        else:
            chosen.append(_Chosen(row, queue.team, queue.slug))
    if not problems and not chosen:
        problems = [FieldProblem("queues", "nothing_chosen", _("Choose a team for at least one queue."))]
    if problems:
        raise InvalidInput(problems)
    return chosen


def _adopted_already(row: FoundQueue) -> DomainError:
    by = row.adopted_by.username if row.adopted_by else _("somebody")
    message = _("%(queue)s was adopted already, by %(by)s. Nothing was saved.") % {"queue": row.name, "by": by}
    return DomainError("adopted_already", message)


# --------------------------------------------------------------------------- what comes of it


def _wanted(cluster: Cluster, chosen: list[_Chosen]) -> dict[str, dict[str, int]]:
    """Cards by node group and team queue: what these queues have, and what queues adopted before had."""
    wanted: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    queue_of = {each.team.pk: each.queue for each in chosen}
    parts = [(each.queue, each.row.cards) for each in chosen]
    earlier = FoundQueue.objects.filter(cluster=cluster, team__in=queue_of).values_list("team", "adopted")
    parts += [(queue_of[team], cards) for team, cards in earlier]
    groups = {group for each in chosen for group in each.row.cards}
    for queue, cards in parts:
        for group in groups & cards.keys():
            wanted[group][queue] += cards[group]
    return {group: dict(by_queue) for group, by_queue in wanted.items()}


def _after(cluster: Cluster, before: Stored, chosen: list[_Chosen]) -> Division:
    """The division with the new shares, and with their cards set aside for whom they will be."""
    cards = cards_now(cluster, before)
    plan: Plan = taken_over(Division(before.division.plan, cards), _wanted(cluster, chosen))
    queue_of = {each.row.pk: each.queue for each in chosen}
    found = Found(tuple(replace(each, queue=queue_of.get(each.pk, each.queue)) for each in before.found.queues))
    return Division(plan, cards, found.aside())


def _taken(after: Division, wanted: Mapping[str, Mapping[str, int]]) -> list[TakenPart]:
    shared_out = divide(after)
    parts = []
    for group in sorted(wanted):
        whole = apportion(after.cards.get(group, 0), after.plan.points(group)).nominal
        for queue, count in sorted(wanted[group].items()):
            parts.append(
                TakenPart(
                    queue=queue,
                    group=group,
                    found=count,
                    basis_points=after.plan.queue(queue).part(group).basis_points,
                    comes_to=whole.get(queue, 0),
                    aside=after.aside.get(group, {}).get(queue, 0),
                    starts_with=shared_out.part(queue, group).nominal,
                )
            )
    return parts


def _view(row: FoundQueue, teams: Mapping[str, str]) -> FoundView:
    facts = facts_of(row)
    return FoundView(
        name=row.name,
        facts=facts,
        seen_at=row.seen_at,
        is_gone=row.is_gone,
        team=row.team.slug if row.team else "",
        team_name=row.team.name if row.team else "",
        adopted_at=row.adopted_at,
        proposed=proposed_team(row.name, (local.space for local in facts.local_queues), teams),
    )
