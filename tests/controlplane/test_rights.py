"""The shipped rights against what the console really asked for, over all tests of this folder before this one."""

from __future__ import annotations

import pytest

from clusters.backends.kueue_volcano.credentials import Account
from tests.controlplane.plane import RIGHTS, Plane
from tests.controlplane.schedulers import load

Right = tuple[str, str, str]
"""Group, kind (with subresource), verb."""

EVERYBODYS = {
    ("authentication.k8s.io", "selfsubjectreviews", "create"),
    ("authorization.k8s.io", "selfsubjectrulesreviews", "create"),
}
"""What Kubernetes grants to every account, and the console asks for."""
REFUSED = (401, 403)
CREATED = 201
KUEUE = "kueue.x-k8s.io"
KEPT = ("cohorts", "topologies", "workloadpriorityclasses")
UNUSED: dict[Account, set[Right]] = {
    Account.RUNTIME: set(),
    # for an administrator who takes the console away again by hand
    Account.QUOTA: {("", "nodes", "list")} | {(KUEUE, kind, "delete") for kind in KEPT},
    Account.NODE: set(),
}
"""Rights that nothing uses, and why they are granted all the same."""


def granted(account: Account) -> set[Right]:
    (role,) = (
        manifest
        for manifest in load(RIGHTS)
        if manifest["kind"] == "ClusterRole" and manifest["metadata"]["name"] == f"sluice-{account}"
    )
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def used(plane: Plane, account: Account) -> set[Right]:
    calls = [call for call in plane.audit.calls(user=plane.user_of(account.value)) if call.resource]
    allowed = [call for call in calls if call.status not in REFUSED]
    # A server-side apply of what is not there yet needs the right to create it, too.
    applied = {(call.group, call.kind, "create") for call in allowed if (call.verb, call.status) == ("patch", CREATED)}
    return {(call.group, call.kind, call.verb) for call in allowed} | applied


def shown_by_lists(rights: set[Right]) -> set[Right]:
    """To read one object tells nobody more than to list them all."""
    return {(group, kind, "get") for group, kind, verb in rights if verb == "list"}


@pytest.mark.parametrize("account", list(Account))
def test_the_console_asks_for_nothing_that_its_role_does_not_say(shared_plane: Plane, account: Account) -> None:
    assert used(shared_plane, account) - EVERYBODYS <= granted(account)


@pytest.mark.parametrize("account", list(Account))
def test_no_right_is_granted_that_nothing_needs(shared_plane: Plane, whole_folder: bool, account: Account) -> None:
    if not whole_folder:
        pytest.skip("only after all tests of this folder is it known what is needed")
    rights = granted(account)
    assert rights - used(shared_plane, account) - shown_by_lists(rights) == UNUSED[account]
