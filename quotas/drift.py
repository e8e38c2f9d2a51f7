"""What an admin decides about quotas that were set from outside the console: take them over, or adopt them.

Both are carried out the next time quotas are brought to the cluster. Call `quotas.services.quotas_bring` after the
commit.
"""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from accounts import audit
from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.conflicts.drift import Decision, drift_changes, drift_decide, drift_locked, drift_notice
from clusters.models import Cluster, Notice
from common.errors import DomainError
from quotas.domain.adoption import adopted
from quotas.domain.plan import Division, Plan, problems
from quotas.models import QuotaVersion
from quotas.plans import errors
from quotas.plans.preview import PlanPreview, plan_preview
from quotas.plans.services import checked_reason, expected
from quotas.plans.store import Act, Stored, cards_now, stored, write


@transaction.atomic
def drift_take_over(*, actor: Actor, cluster: Cluster) -> None:
    """Have what is planned here written over what was set from outside. Raises NotAllowed, DomainError("no_drift")."""
    require(actor, Action.SHARES_MANAGE)
    notice = _found(drift_locked(cluster))
    drift_decide(notice, Decision.TAKE_OVER)
    audit.record(
        actor,
        "quota.take_over",
        target_type="cluster",
        target_id=cluster.slug,
        changes=notice.facts["changes"],
        by=notice.facts["by"],
    )


@transaction.atomic
def drift_adopt(*, actor: Actor, cluster: Cluster, expected_version: int, reason: str = "") -> QuotaVersion | None:
    """Make what was set from outside a version of the plan; rules of queues and the common pool become ours again.

    None where the plan says the same already. Raises NotAllowed, InvalidInput, ChangedMeanwhile, DomainError("no_drift"
    or "not_adoptable").
    """
    require(actor, Action.SHARES_MANAGE)
    reason = checked_reason(reason)
    before = expected(cluster, expected_version)
    notice = _found(drift_locked(cluster))
    plan = _adopted_plan(cluster, before, notice)
    act = Act(
        "quota.adopt",
        QuotaVersion.Cause.ADOPT,
        actor=actor,
        reason=reason,
        detail={"changes": notice.facts["changes"], "by": notice.facts["by"]},
    )
    version = write(cluster, before, Division(plan, cards_now(cluster, before), before.aside), act)
    drift_decide(notice, Decision.ADOPT)
    return version


def adoption_preview(*, viewer: Actor, cluster: Cluster) -> PlanPreview:
    """What adopting would do. Raises as :func:`drift_adopt`."""
    require(viewer, Action.SHARES_MANAGE)
    plan = _adopted_plan(cluster, stored(cluster), _found(drift_notice(cluster)))
    return plan_preview(viewer=viewer, cluster=cluster, plan=plan)


def drift_found(*, viewer: Actor, cluster: Cluster) -> Notice:
    """The open notice. Raises NotAllowed, DomainError("no_drift")."""
    require(viewer, Action.SHARES_MANAGE)
    return _found(drift_notice(cluster))


def _found(notice: Notice | None) -> Notice:
    if notice is None:
        raise DomainError(
            "no_drift", _("The quotas on this cluster are those of its plan. There is nothing to decide.")
        )
    return notice


def _adopted_plan(cluster: Cluster, before: Stored, notice: Notice) -> Plan:
    plan = adopted(Division(before.division.plan, cards_now(cluster, before), before.aside), drift_changes(notice))
    if plan is None:
        raise DomainError(
            "not_adoptable",
            _(
                "What was set there cannot be said as shares of this cluster: it is more than the node group has, in "
                "steps finer than 0.1 %, or for the common pool alone. Take it over, then change the shares."
            ),
        )
    found = problems(plan, before.division.plan, queues=before.queue_ids, groups=before.group_ids)
    if found:
        raise errors.refused(found)
    return plan
