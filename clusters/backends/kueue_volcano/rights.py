"""What each account must be allowed to do, compared with what the cluster allows it. A test compares it with the
role that is shipped (`deploy/rbac.yaml`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from clusters.backends.kueue_volcano.client import KubeClient
from clusters.backends.kueue_volcano.credentials import Account

REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
REVIEWED_SPACE = "sluice-system"
"""Rules are asked for one namespace; those of a role for the whole cluster are among them."""

_FOLLOW = ("get", "list", "watch")
_QUEUE_KINDS = ("clusterqueues", "localqueues", "cohorts", "resourceflavors", "topologies", "workloadpriorityclasses")

NEEDED: dict[Account, tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]] = {
    Account.RUNTIME: (
        ("batch", ("jobs",), (*_FOLLOW, "create", "patch", "delete")),
        ("apps", ("deployments",), (*_FOLLOW, "create", "patch", "delete")),
        ("scheduling.volcano.sh", ("podgroups",), (*_FOLLOW, "create", "delete")),
        ("kueue.x-k8s.io", ("workloads",), (*_FOLLOW, "patch", "delete")),
        ("kueue.x-k8s.io", ("clusterqueues", "localqueues"), _FOLLOW),
        ("", ("pods", "nodes"), _FOLLOW),
        ("", ("pods/log",), ("get",)),
        ("", ("secrets",), ("create", "delete")),
    ),
    Account.QUOTA: (
        ("kueue.x-k8s.io", _QUEUE_KINDS, ("get", "list", "create", "patch")),
        ("kueue.x-k8s.io", ("clusterqueues", "localqueues", "resourceflavors"), ("delete",)),
        ("scheduling.k8s.io", ("priorityclasses",), ("get", "list", "create", "patch")),
        ("", ("namespaces", "services"), ("get", "list", "create", "patch")),
    ),
    Account.NODE: (("", ("nodes",), ("patch",)),),
}
"""API group, resources, verbs. Without one of these a part of the console does not work; rights for reading the
cluster's setup are not among them, because their lack shows in the rows that could not be read."""


class _Rule(msgspec.Struct, rename="camel"):
    verbs: list[str] = []
    api_groups: list[str] = []
    resources: list[str] = []
    resource_names: list[str] = []

    def allows(self, group: str, resource: str, verb: str) -> bool:
        """For every object of the kind; a rule for named ones allows no more than those."""
        return (
            not self.resource_names
            and _covers(self.verbs, verb)
            and _covers(self.api_groups, group)
            and (_covers(self.resources, resource) or f"*/{resource.partition('/')[2]}" in self.resources)
        )


class _Status(msgspec.Struct, rename="camel"):
    resource_rules: list[_Rule] = []
    incomplete: bool = False


class _Review(msgspec.Struct):
    status: _Status = msgspec.field(default_factory=_Status)


def _covers(words: Iterable[str], word: str) -> bool:
    return any(each in ("*", word) for each in words)


def needed_rights(account: Account) -> Iterator[tuple[str, str, str]]:
    """Group, resource (with subresource) and verb, one by one."""
    for group, resources, verbs in NEEDED[account]:
        yield from ((group, resource, verb) for resource in resources for verb in verbs)


def lacking_rights(client: KubeClient, account: Account) -> frozenset[str] | None:
    """Rights that the account lacks, as `create batch/jobs`; None where the server cannot list them all.

    One call. Raises the contract's errors.
    """
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview"}
    answer = client.create(REVIEW, {**body, "spec": {"namespace": REVIEWED_SPACE}})
    status = msgspec.json.decode(answer, type=_Review).status
    lacks = frozenset(
        f"{verb} {group}/{resource}" if group else f"{verb} {resource}"
        for group, resource, verb in needed_rights(account)
        if not any(rule.allows(group, resource, verb) for rule in status.resource_rules)
    )
    return None if lacks and status.incomplete else lacks
