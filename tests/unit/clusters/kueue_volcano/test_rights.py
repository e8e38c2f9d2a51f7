"""What the preflight says an account needs is what the shipped role grants it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from clusters.backends.kueue_volcano.credentials import Account
from clusters.backends.kueue_volcano.rights import needed_rights

ROLES = Path(__file__).resolve().parents[4] / "deploy" / "rbac.yaml"


@pytest.mark.parametrize("account", list(Account))
def test_the_shipped_role_grants_every_right_that_the_preflight_asks_for(account: Account) -> None:
    (role,) = (
        each
        for each in yaml.safe_load_all(ROLES.read_text())
        if each["kind"] == "ClusterRole" and each["metadata"]["name"] == f"sluice-{account}"
    )
    granted = {
        (group, resource, verb)
        for rule in role["rules"]
        if "resourceNames" not in rule
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    needed = set(needed_rights(account))
    assert needed and needed <= granted


def test_no_account_may_read_a_secret_or_everything() -> None:
    for role in yaml.safe_load_all(ROLES.read_text()):
        for rule in role.get("rules", []):
            assert "*" not in {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}
            assert "secrets" not in rule["resources"] or not {"get", "list", "watch"} & set(rule["verbs"])
