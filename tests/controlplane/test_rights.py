"""The shipped rights against what the console really asked for, over all tests of this folder before this one."""

from __future__ import annotations

import pytest

from clusters.backends.kueue_volcano.credentials import Account
from tests.controlplane.plane import RIGHTS, Plane
from tests.controlplane.schedulers import load

Right = tuple[str, str, str]
"""Group, kind (with subresource), verb."""

EVERYBODYS = {("authentication.k8s.io", "selfsubjectreviews", "create")}
"""What Kubernetes grants to every account, and the console asks for."""
UNUSED: dict[Account, dict[Right, str]] = {}
"""Rights that no test here needs, each with the reason why it is granted all the same."""


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
    calls = plane.audit.calls(user=plane.user_of(account.value))
    return {(call.group, call.kind, call.verb) for call in calls if call.resource and call.status < 400}


@pytest.mark.parametrize("account", [Account.RUNTIME, Account.QUOTA])
def test_the_console_asks_for_nothing_that_its_role_does_not_say(shared_plane: Plane, account: Account) -> None:
    assert used(shared_plane, account) - EVERYBODYS <= granted(account)


@pytest.mark.parametrize("account", [Account.RUNTIME, Account.QUOTA])
def test_no_right_is_granted_that_nothing_needs(shared_plane: Plane, whole_folder: bool, account: Account) -> None:
    if not whole_folder:
        pytest.skip("only after all tests of this folder is it known what is needed")
    assert granted(account) - used(shared_plane, account) == set(UNUSED.get(account, {}))
