"""Writes about node groups of cut cards: why they are cut, how slow they are, and who may train there (decision 26)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import audit
from accounts.actors import Actor
from accounts.models import Team
from accounts.policy import Action, require
from clusters.models import NodeGroup
from common.errors import DomainError, FieldProblem, InvalidInput, Text
from common.texts import storable
from quotas.domain.sharing import SLOWDOWN_DEFAULT, SLOWDOWN_MAX, SLOWDOWN_MIN
from quotas.selectors.sharing import shared_only
from quotas.sharing_models import SharingPolicy, TrainingPermit

WHY_MAX = 500
REASON_MAX = 300


@dataclass(frozen=True, slots=True)
class SharingDecision:
    """What an admin decides about one group. ``training``: why each team, by slug, may train there."""

    why: str
    is_transitional: bool = False
    until: date | None = None
    slowdown: int = SLOWDOWN_DEFAULT  # run time there per mille of that on whole cards
    training: Mapping[str, str] = field(default_factory=dict)


class SharingChangedMeanwhile(DomainError):
    """Somebody else saved first (409): nothing was overwritten."""

    def __init__(self, newest: SharingPolicy | None) -> None:
        super().__init__("changed_meanwhile", _message(newest), attr="expected_version")


def _message(newest: SharingPolicy | None) -> Text:
    if newest is None:
        return _("Nothing was decided about this group yet. Read it again, then save.")
    return _("%(author)s saved this meanwhile, so nothing was saved. Look at what changed, then save again.") % {
        "author": newest.changed_by_name
    }


@transaction.atomic
def sharing_save(*, actor: Actor, group: NodeGroup, expected_version: int, decision: SharingDecision) -> SharingPolicy:
    """Decide about a group of cut cards; ``expected_version`` is what somebody read, 0 = nothing was decided yet.

    A team that may train no more keeps the jobs it has there; it only submits no new ones. Have the slow-down brought
    to the cluster after commit (`quotas.services.quotas_bring`). Raises NotAllowed, DomainError (`not_shared`),
    SharingChangedMeanwhile, InvalidInput.
    """
    require(actor, Action.SHARES_MANAGE)
    shared_only(NodeGroup.objects.select_for_update().get(pk=group.pk))
    before = SharingPolicy.objects.filter(group=group).first()
    if (before.version if before else 0) != expected_version:
        raise SharingChangedMeanwhile(before)
    permits = {permit.team.slug: permit for permit in before.permits.select_related("team")} if before else {}
    decision = _stripped(decision)
    teams = _checked(decision, before, permits)
    if before and _is_same(decision, before, permits):
        return before
    detail = _detail(decision, before, permits)
    policy = _store(actor, group, before, decision)
    _store_permits(actor, policy, decision.training, permits, teams)
    changes = {"cluster": group.cluster.slug, "changes": detail}
    audit.record_many(actor, "sharing.save", target_type="group", acts=[audit.Act(group.slug, None, changes)])
    return policy


def _stripped(decision: SharingDecision) -> SharingDecision:
    return SharingDecision(
        storable(decision.why).strip(),
        decision.is_transitional,
        decision.until,
        decision.slowdown,
        {team: storable(reason).strip() for team, reason in decision.training.items()},
    )


def _checked(
    decision: SharingDecision, before: SharingPolicy | None, permits: Mapping[str, TrainingPermit]
) -> dict[str, Team]:
    """The teams that are named. Raises InvalidInput with every problem."""
    problems: list[FieldProblem] = []

    def refuse(attr: str, code: str, message: Text) -> None:
        problems.append(FieldProblem(attr, code, message))

    if not decision.why:
        refuse("why", "required", _("Say why these cards are cut: engineers read it."))
    elif len(decision.why) > WHY_MAX:
        refuse("why", "too_long", _("Write at most %(count)d characters.") % {"count": WHY_MAX})
    if decision.until and not decision.is_transitional:
        refuse("until", "not_transitional", _("Only sharing that is for a while has a last day."))
    elif decision.until and decision.until < timezone.localdate() and not (before and before.until == decision.until):
        refuse("until", "in_the_past", _("This day is over. Choose today or a later one."))
    if not SLOWDOWN_MIN <= decision.slowdown <= SLOWDOWN_MAX:
        refuse("slowdown", "out_of_range", _("Work takes from 1 to 10 times as long here."))
    teams = {team.slug: team for team in Team.objects.filter(slug__in=decision.training)}
    for slug, reason in decision.training.items():
        is_known = slug in permits or (slug in teams and teams[slug].archived_at is None)
        if not is_known:
            refuse(
                f"training.{storable(slug)}",
                "unknown_team",
                _("There is no team of the name %(name)s.") % {"name": storable(slug)},
            )
        elif not reason:
            refuse(f"training.{slug}", "required", _("Say why this team may train on shared card slices."))
        elif len(reason) > REASON_MAX:
            refuse(f"training.{slug}", "too_long", _("Write at most %(count)d characters.") % {"count": REASON_MAX})
    if problems:
        raise InvalidInput(problems)
    return teams


def _is_same(decision: SharingDecision, before: SharingPolicy, permits: Mapping[str, TrainingPermit]) -> bool:
    return _as_dict(decision) == _as_dict(_decision_of(before, permits))


def _decision_of(policy: SharingPolicy, permits: Mapping[str, TrainingPermit]) -> SharingDecision:
    training = {slug: permit.reason for slug, permit in permits.items()}
    return SharingDecision(policy.why, policy.is_transitional, policy.until, policy.slowdown, training)


def _as_dict(decision: SharingDecision) -> dict[str, object]:
    return {
        "why": decision.why,
        "transitional": decision.is_transitional,
        "until": decision.until.isoformat() if decision.until else None,
        "slowdown": decision.slowdown,
        "training": dict(decision.training),
    }


def _detail(
    decision: SharingDecision, before: SharingPolicy | None, permits: Mapping[str, TrainingPermit]
) -> dict[str, object]:
    """What changed, for the audit trail: each changed field as it was and is."""
    old = _as_dict(_decision_of(before, permits)) if before else {}
    return {name: [old.get(name), value] for name, value in _as_dict(decision).items() if old.get(name) != value}


def _store(actor: Actor, group: NodeGroup, before: SharingPolicy | None, decision: SharingDecision) -> SharingPolicy:
    policy = before or SharingPolicy(group=group, version=0)
    policy.why = decision.why
    policy.is_transitional = decision.is_transitional
    policy.until = decision.until
    policy.slowdown = decision.slowdown
    policy.version += 1
    policy.changed_by, policy.changed_by_name = actor.user, actor.user.username
    policy.changed_at = timezone.now()
    policy.save()
    return policy


def _store_permits(
    actor: Actor,
    policy: SharingPolicy,
    wanted: Mapping[str, str],
    permits: Mapping[str, TrainingPermit],
    teams: Mapping[str, Team],
) -> None:
    """Write what is new or has another reason; the others keep their author and day."""
    policy.permits.exclude(team__slug__in=wanted).delete()
    for slug, reason in wanted.items():
        if slug in permits and permits[slug].reason == reason:
            continue
        TrainingPermit.objects.update_or_create(
            policy=policy,
            team=teams[slug],
            defaults={
                "reason": reason,
                "given_by": actor.user,
                "given_by_name": actor.user.username,
                "given_at": policy.changed_at,
            },
        )
