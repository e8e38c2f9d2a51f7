"""The rights that are shipped: what each account may do, and what none may."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.credentials import Account

FILE = Path(__file__).resolve().parents[4] / "deploy" / "rbac.yaml"
DOCUMENTS: list[dict[str, Any]] = list(yaml.safe_load_all(FILE.read_text(encoding="utf-8")))
READ = {"get", "list", "watch"}
VERBS = READ | {"create", "patch", "delete"}


def of_kind(kind: str) -> dict[str, dict[str, Any]]:
    return {document["metadata"]["name"]: document for document in DOCUMENTS if document["kind"] == kind}


def grants(account: str) -> dict[tuple[str, str], set[str]]:
    """Verbs by group and resource."""
    found: dict[tuple[str, str], set[str]] = {}
    for rule in of_kind("ClusterRole")[f"sluice-{account}"]["rules"]:
        assert set(rule) == {"apiGroups", "resources", "verbs"}, "no rule reaches beyond objects"
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                assert (group, resource) not in found, f"{resource} stands twice"
                found[group, resource] = set(rule["verbs"])
    return found


def test_there_is_one_account_with_one_role_for_each_part() -> None:
    expected = {f"sluice-{account}" for account in Account}
    assert (
        set(of_kind("ServiceAccount")) == set(of_kind("ClusterRole")) == set(of_kind("ClusterRoleBinding")) == expected
    )
    assert {document["kind"] for document in DOCUMENTS} == {
        "Namespace",
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
    }
    for name, binding in of_kind("ClusterRoleBinding").items():
        assert binding["roleRef"]["name"] == name
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": name, "namespace": "sluice-system"}]
    assert all(account["metadata"]["namespace"] == "sluice-system" for account in of_kind("ServiceAccount").values())


def test_nobody_gets_a_token_by_running_a_pod_as_an_account() -> None:
    assert all(account["automountServiceAccountToken"] is False for account in of_kind("ServiceAccount").values())


@pytest.mark.parametrize("account", list(Account))
def test_no_account_may_do_what_would_make_it_another(account: str) -> None:
    for (group, resource), verbs in grants(account).items():
        assert "*" not in group + resource
        assert verbs <= VERBS, f"{resource}: {verbs - VERBS}"  # so neither impersonate, bind, escalate nor a wildcard
        assert group not in {"rbac.authorization.k8s.io", "admissionregistration.k8s.io", "apiextensions.k8s.io"}
        assert resource.split("/")[-1] not in {"exec", "attach", "portforward", "proxy", "ephemeralcontainers", "token"}
        assert resource not in {"serviceaccounts", "configmaps"}


@pytest.mark.parametrize("account", list(Account))
def test_no_account_reads_a_secret(account: str) -> None:
    """Deleting a collection answers with all that was in it, and with `dryRun` it deletes nothing: it reads."""
    assert not grants(account).get(("", "secrets"), set()) & (READ | {"deletecollection", "patch", "update"})


def test_only_the_account_for_nodes_changes_a_node() -> None:
    assert [account for account in Account if grants(account).get(("", "nodes"), set()) - READ] == [Account.NODE]


def test_the_account_for_jobs_changes_no_queue_and_no_space() -> None:
    mine = grants(Account.RUNTIME)
    for kind in (names.CLUSTER_QUEUES, names.LOCAL_QUEUES, names.COHORTS, names.FLAVORS, names.NAMESPACES):
        assert mine[kind.group, kind.plural] <= READ
    assert ("", "services") not in mine


def test_the_account_for_quotas_sees_no_job_and_no_pod() -> None:
    mine = grants(Account.QUOTA)
    for kind in (names.JOBS, names.DEPLOYMENTS, names.PODS_KIND, names.WORKLOADS, names.POD_GROUPS):
        assert (kind.group, kind.plural) not in mine


def test_spaces_and_what_lies_in_them_are_never_deleted() -> None:
    assert all("delete" not in grants(account).get(("", "namespaces"), set()) for account in Account)


def test_the_policy_watches_whatever_the_account_for_jobs_may_write() -> None:
    policy, binding = yaml.safe_load_all((FILE.parent / "admission-policy.yaml").read_text(encoding="utf-8"))
    rules = policy["spec"]["matchConstraints"]["resourceRules"]
    watched = {(group, resource) for rule in rules for group in rule["apiGroups"] for resource in rule["resources"]}
    assert watched == {thing for thing, verbs in grants(Account.RUNTIME).items() if verbs - READ}
    assert all(rule["operations"] == ["CREATE", "UPDATE", "DELETE"] for rule in rules)
    versions = {rule["resources"][0]: rule["apiVersions"] for rule in rules}
    for kind in (names.JOBS, names.DEPLOYMENTS, names.POD_GROUPS, names.WORKLOADS, names.SECRETS):
        assert versions[kind.plural] == [kind.version]
    assert "system:serviceaccount:sluice-system:sluice-runtime" in policy["spec"]["matchConditions"][0]["expression"]
    assert f'"{names.SPACE}"' in policy["spec"]["validations"][0]["expression"]
    assert binding["spec"] == {"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}
