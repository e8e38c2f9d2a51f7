"""`manage.py cluster_connect`."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts.models import AuditEvent
from clusters.backends.kueue_volcano.credentials import Account, connection_of
from clusters.models import Cluster
from tests.api_server import TOKENS, USERS, ApiServer, kubeconfig_of

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> tuple[str, str]:
    """Output and complaints."""
    out, err = StringIO(), StringIO()
    call_command("cluster_connect", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


@pytest.fixture
def files(server: ApiServer, tmp_path: Path) -> list[str]:
    """Options that name the file of each account."""
    options: list[str] = []
    for account in Account:
        file = tmp_path / f"{account}.yaml"
        file.write_bytes(kubeconfig_of(server, account))
        options += [f"--{account}", str(file)]
    return options


def test_a_cluster_is_connected_and_says_as_whom(server: ApiServer, files: list[str]) -> None:
    out, err = run("--name", "Lab", "--default", *files)
    cluster = Cluster.objects.get(slug="lab")
    assert cluster.is_default
    assert {connection_of(cluster, account).token for account in Account} == set(TOKENS.values())
    assert out.splitlines() == [
        f"Lab (lab) at {server.url}, fingerprint {cluster.fingerprint}",
        *(f"  {account}: answers as {user}, v1.34.2" for account, user in zip(Account, USERS.values(), strict=True)),
    ]
    assert err == ""
    assert AuditEvent.objects.get(action="cluster.connect").actor_name == "command line"


def test_credentials_are_replaced_only_when_that_is_said(files: list[str]) -> None:
    run("--name", "Lab", *files)
    with pytest.raises(CommandError, match="--name: There is a cluster of this name already"):
        run("--name", "Lab", *files)
    run("--name", "lab", "--replace", *files[:2])
    with pytest.raises(CommandError, match="There is no cluster of the name Other"):
        run("--name", "Other", "--replace", *files)
    assert Cluster.objects.count() == 1


def test_what_is_refused_is_named_by_its_option(tmp_path: Path, files: list[str]) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("a: [b")
    with pytest.raises(CommandError, match="--quota: This file is not YAML"):
        run("--name", "Lab", *files[:2], "--quota", str(bad))
    with pytest.raises(CommandError, match="--one-for-all: "):
        run("--name", "Lab", "--one-for-all", *files)
    with pytest.raises(CommandError, match=r"missing\.yaml: No such file"):
        run("--name", "Lab", "--runtime", str(tmp_path / "missing.yaml"))
    assert not Cluster.objects.exists()


def test_the_sandbox_keeps_having_no_credentials(files: list[str]) -> None:
    Cluster.objects.create(slug="sandbox", name="Sandbox", kind="sandbox")
    with pytest.raises(CommandError, match="part of the console"):
        run("--name", "Sandbox", "--replace", *files)


def test_what_should_be_known_is_a_complaint(server: ApiServer, files: list[str]) -> None:
    server.parts.clear()
    out, err = run("--name", "Lab", *files)
    assert "takes no jobs" in err
    assert "takes no jobs" not in out


def test_one_account_may_do_everything(files: list[str]) -> None:
    out, _err = run("--name", "Lab", "--one-for-all", "--context", "main", *files[:2])
    cluster: Any = Cluster.objects.get()
    assert connection_of(cluster, Account.NODE).token == TOKENS[Account.RUNTIME]
    assert out.count("answers as system:serviceaccount:sluice-system:sluice-runtime") == 3
