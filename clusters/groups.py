"""Node groups by an admin's word: proposals are confirmed or put aside, confirmed groups are edited.

Each act locks the cluster, so that two people cannot make two groups claim one node, compares the version that the
person has read, moves the nodes at once, and has the cluster looked at and its quotas brought soon after.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import F, Max
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import audit
from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.group_checks import Words, checked_words
from clusters.group_models import GroupProposal, GroupTraits
from clusters.group_preview import Picture, Preview, picture_of
from clusters.models import Cluster, Node, NodeGroup
from common.errors import DomainError, NotFound
from common.hints import send
from common.texts import storable

_TRAITS = tuple(field.name for field in GroupTraits._meta.get_fields())


@dataclass(frozen=True, slots=True)
class GroupChange:
    """What an act came to, or with ``dry_run`` would come to."""

    slug: str
    preview: Preview
    dry_run: bool


@transaction.atomic
def group_edit(
    *,
    actor: Actor | None,
    cluster: Cluster,
    slug: str,
    data: Mapping[str, Any],
    expected_version: int,
    dry_run: bool = False,
) -> GroupChange:
    """Change what a confirmed group is called, where it stands, or which labels its nodes carry.

    Raises NotAllowed, NotFound, InvalidInput, DomainError("not_confirmed", "changed_meanwhile").
    """
    picture = _locked(actor, cluster)
    slug = storable(slug)
    group = picture.groups.get(slug)
    if group is None:
        raise _not_confirmed() if slug in picture.proposals else _no_such()
    require_version(group, expected_version)
    words, found = checked_words(picture, group, data, position=group.position)
    if not dry_run:
        changed = _changed(group, words)
        if changed:
            NodeGroup.objects.filter(pk=group.pk).update(
                title=words.title,
                interconnect=words.interconnect,
                position=words.position,
                selector=dict(words.selector),
                version=F("version") + 1,
            )
            _record(actor, "group.edit", cluster, group.slug, joins=found.joins, leaves=found.leaves, changed=changed)
        if "selector" in changed:
            nodes_follow(cluster)
    return GroupChange(group.slug, found, dry_run)


@transaction.atomic
def group_confirm(
    *,
    actor: Actor | None,
    cluster: Cluster,
    slug: str,
    data: Mapping[str, Any] | None = None,
    expected_version: int = 0,
    dry_run: bool = False,
) -> GroupChange:
    """Make a group of a proposal, or of nodes that were put aside: from now on it may have jobs and quota.

    Raises NotAllowed, NotFound, InvalidInput, DomainError("changed_meanwhile": somebody was faster).
    """
    picture = _locked(actor, cluster)
    slug = storable(slug)
    if slug in picture.groups:
        raise _changed_meanwhile()
    proposal = picture.proposals.get(slug)
    if proposal is None:
        raise _no_such()
    require_version(proposal, expected_version)
    words, found = checked_words(picture, proposal, data or {}, position=_next_position(cluster))
    if not dry_run:
        _make_group(actor, cluster, proposal, words)
        _record(actor, "group.confirm", cluster, slug, title=words.title, nodes=len(found.members))
        nodes_follow(cluster)
    return GroupChange(slug, found, dry_run)


@transaction.atomic
def groups_confirm_all(*, actor: Actor | None, cluster: Cluster) -> int:
    """Confirm every proposal as it stands; those that need a word first stay. Returns how many were confirmed."""
    picture = _locked(actor, cluster)
    slugs = [slug for slug, row in sorted(picture.proposals.items()) if not row.is_aside]
    done = 0
    for slug in slugs:
        try:
            with transaction.atomic():
                group_confirm(actor=actor, cluster=cluster, slug=slug)
        except DomainError:
            continue
        done += 1
    return done


@transaction.atomic
def proposal_put_aside(*, actor: Actor | None, cluster: Cluster, slug: str, expected_version: int = 0) -> None:
    """Keep the nodes of a proposal out of the console: nothing is proposed for them any more, and nothing counts them.

    Raises NotAllowed, NotFound, DomainError("changed_meanwhile").
    """
    picture = _locked(actor, cluster)
    proposal = picture.proposals.get(storable(slug))
    if proposal is None:
        raise _changed_meanwhile() if storable(slug) in picture.groups else _no_such()
    require_version(proposal, expected_version)
    if proposal.is_aside:
        return
    GroupProposal.objects.filter(pk=proposal.pk).update(
        is_aside=True,
        decided_at=timezone.now(),
        decided_by=actor.user if actor else None,
        version=F("version") + 1,
    )
    _record(actor, "group.aside", cluster, proposal.slug, title=proposal.title)
    nodes_follow(cluster)


@transaction.atomic
def proposal_bring_back(*, actor: Actor | None, cluster: Cluster, slug: str) -> None:
    """Propose nodes again that were put aside. Raises NotAllowed, NotFound."""
    picture = _locked(actor, cluster)
    proposal = picture.proposals.get(storable(slug))
    if proposal is None:
        raise _no_such()
    if proposal.is_aside:
        GroupProposal.objects.filter(pk=proposal.pk).update(
            is_aside=False, decided_at=None, decided_by=None, version=F("version") + 1
        )
        _record(actor, "group.bring_back", cluster, proposal.slug, title=proposal.title)
        nodes_follow(cluster)


def aside_of(group: NodeGroup, actor: Actor | None) -> GroupProposal:
    """The row that keeps a group's nodes out once the group itself is gone; not stored yet."""
    now = timezone.now()
    return GroupProposal(
        **{name: getattr(group, name) for name in _TRAITS},
        cluster=group.cluster,
        is_aside=True,
        decided_at=now,
        decided_by=actor.user if actor else None,
        first_seen_at=group.confirmed_at or now,
    )


def nodes_follow(cluster: Cluster) -> None:
    """Move nodes between groups as their stored labels say, and have the next look and the quotas come soon.

    Four queries and one for each group that changes. Needs a transaction that has locked the cluster.
    """
    picture = picture_of(cluster)
    found = picture.decided().groups
    ids: dict[str, int | None] = {slug: group.pk for slug, group in picture.groups.items()}
    wanted = {name: ids.get(found.get(name, "")) for name in picture.nodes}
    moves: dict[int | None, list[int]] = {}
    for pk, name, group_id in Node.objects.filter(cluster=cluster).values_list("pk", "name", "group_id"):
        if name in wanted and wanted[name] != group_id and picture.nodes[name].labels:
            moves.setdefault(wanted[name], []).append(pk)
    for target, nodes in moves.items():
        Node.objects.filter(pk__in=nodes).update(group=target)
    send("clusters.sync", cluster.pk)
    send("quotas.apply_cluster", cluster.pk)


def require_version(row: NodeGroup | GroupProposal, expected_version: int) -> None:
    """Raises DomainError("changed_meanwhile")."""
    if row.version != expected_version:
        raise _changed_meanwhile()


def _locked(actor: Actor | None, cluster: Cluster) -> Picture:
    """What holds now, and nobody else can change until the transaction ends. Raises NotAllowed."""
    if actor is not None:
        require(actor, Action.CLUSTER_MANAGE)
    Cluster.objects.select_for_update(no_key=True).get(pk=cluster.pk)
    return picture_of(cluster)


def _make_group(actor: Actor | None, cluster: Cluster, proposal: GroupProposal, words: Words) -> None:
    traits = {name: getattr(proposal, name) for name in _TRAITS}
    NodeGroup.objects.create(
        cluster=cluster,
        **{**traits, "title": words.title, "interconnect": words.interconnect, "selector": dict(words.selector)},
        position=words.position,
        confirmed_at=timezone.now(),
        confirmed_by=actor.user if actor else None,
    )
    GroupProposal.objects.filter(pk=proposal.pk).delete()


def _next_position(cluster: Cluster) -> int:
    last = cluster.groups.aggregate(last=Max("position"))["last"]
    return 0 if last is None else int(last) + 1


def _changed(group: NodeGroup, words: Words) -> dict[str, list[Any]]:
    """Field -> what it was and what it is."""
    before = Words(group.title, group.interconnect, group.position, tuple(sorted(group.selector.items())))
    return {
        name: [_plain(getattr(before, name)), _plain(getattr(words, name))]
        for name in ("title", "interconnect", "position", "selector")
        if getattr(before, name) != getattr(words, name)
    }


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, tuple) else value


def _record(actor: Actor | None, action: str, cluster: Cluster, slug: str, **detail: Any) -> None:
    audit.record(actor, action, target_type="group", target_id=f"{cluster.slug}/{slug}", **detail)


def _no_such() -> NotFound:
    return NotFound("not_found", _("There is no node group of this name on this cluster."))


def _not_confirmed() -> DomainError:
    return DomainError(
        "not_confirmed",
        _("This group is not confirmed. Confirm it first; its name and labels can be changed with that."),
    )


def _changed_meanwhile() -> DomainError:
    return DomainError(
        "changed_meanwhile",
        _(
            "Somebody else changed this group meanwhile, so nothing was saved. Look at it as it is now, then save "
            "again."
        ),
        attr="expected_version",
    )
