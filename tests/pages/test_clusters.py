"""The clusters' page: how they are, connecting by files, new credentials, forgetting."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from clusters.backends.kueue_volcano.credentials import Account, connection_of
from clusters.models import Cluster
from tests.api_server import TOKENS, ApiServer, kubeconfig_of
from tests.cast import Cast
from tests.certificates import token_that_ends
from tests.pages.visitor import Visitor, field_error, html, words

Visitors = Callable[[str | None], Visitor]


def files(server: ApiServer, *accounts: Account) -> dict[str, Any]:
    """Form fields with the kubeconfigs of these accounts."""
    return {each.value: as_upload(kubeconfig_of(server, each)) for each in accounts or tuple(Account)}


def as_upload(data: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile("kubeconfig", data)


def connect(visitor: Visitors, server: ApiServer, **fields: Any) -> Any:
    return visitor("admin").post("/admin/clusters/", **{"name": "Lab", **files(server), **fields})


def test_an_admin_connects_a_cluster_and_reads_how_it_is(visitor: Visitors, server: ApiServer) -> None:
    response = connect(visitor, server)
    assert (response.status_code, response.url) == (302, "/admin/clusters/")
    page = visitor("admin").get("/admin/clusters/")
    text = words(page)
    for expected in (
        "Lab Kubernetes v1.34.2",
        "Not read yet.",
        server.url,
        "Jobs system:serviceaccount:sluice-system:sluice-runtime",
        "Quotas system:serviceaccount:sluice-system:sluice-quota",
        "Nodes system:serviceaccount:sluice-system:sluice-node",
    ):
        assert expected in text
    assert connection_of(Cluster.objects.get(slug="lab"), Account.NODE).token == TOKENS[Account.NODE]


def test_what_is_wrong_stands_at_its_field_and_no_file_is_shown_again(visitor: Visitors, server: ApiServer) -> None:
    response = connect(visitor, server, name="Sandbox", quota=as_upload(b"a: [b"), node=as_upload(b"x" * 70_000))
    assert response.status_code == 422
    assert "already" in field_error(response, "name")
    assert "not YAML" in field_error(response, "quota")
    assert "64 KiB" in field_error(response, "node")
    assert field_error(response, "runtime") == ""
    assert 'value="Sandbox"' in html(response)
    assert "xxx" not in html(response)
    assert not Cluster.objects.filter(slug="lab").exists()


def test_without_a_file_the_account_for_jobs_is_asked_for(visitor: Visitors, cast: Cast) -> None:
    response = visitor("admin").post("/admin/clusters/", name="Lab")
    assert "account for jobs" in field_error(response, "runtime")
    empty = visitor("admin").post("/admin/clusters/", name="Lab", runtime=as_upload(b""))
    assert "account for jobs" in field_error(empty, "runtime")


def test_a_cluster_that_does_not_answer_says_so_in_words(visitor: Visitors, server: ApiServer) -> None:
    connect(visitor, server)
    long_ago = timezone.now() - timedelta(minutes=5)
    Cluster.objects.filter(slug="lab").update(sync_error="unauthorized", synced_at=long_ago)
    text = words(visitor("admin").get("/admin/clusters/"))
    assert "The API server does not accept the account" in text
    assert "Read 5 min ago . out of date" in text
    Cluster.objects.filter(slug="lab").update(sync_error="http_418")
    assert "The cluster answers with an error (http_418)." in words(visitor("admin").get("/admin/clusters/"))


def test_an_account_that_ends_is_marked(visitor: Visitors, server: ApiServer) -> None:
    token = token_that_ends(timezone.now() + timedelta(days=2))
    server.users[token] = "short"
    response = visitor("admin").client.post(
        "/admin/clusters/",
        {"name": "Lab", "runtime": as_upload(kubeconfig_of(server, token=token))},
        follow=True,
    )
    text = words(response)
    assert "The account for Jobs ends on" in text
    assert "soon" in text
    assert "Quotas not stored" in text


def test_credentials_are_replaced_all_at_once(visitor: Visitors, server: ApiServer) -> None:
    connect(visitor, server)
    admin = visitor("admin")
    assert "upload every account" in words(admin.get("/admin/clusters/lab/credentials/"))
    response = admin.post("/admin/clusters/lab/credentials/", **files(server, Account.RUNTIME))
    assert response.url == "/admin/clusters/"
    text = words(admin.get("/admin/clusters/"))
    assert "Quotas not stored" in text
    assert "Withdraw the old ones in the cluster." in text


def test_refused_credentials_change_nothing(visitor: Visitors, server: ApiServer) -> None:
    connect(visitor, server)
    before = Cluster.objects.get(slug="lab").credentials
    strange = as_upload(kubeconfig_of(server, token="nobody-knows-me"))
    response = visitor("admin").post("/admin/clusters/lab/credentials/", runtime=strange)
    assert response.status_code == 422
    assert "does not accept the account" in field_error(response, "runtime")
    assert Cluster.objects.get(slug="lab").credentials == before


def test_a_cluster_is_forgotten_after_a_question(
    visitor: Visitors, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(visitor, server)
    admin = visitor("admin")
    assert "Forget Lab?" in words(admin.get("/admin/clusters/lab/forget/"))
    assert Cluster.objects.filter(slug="lab").exists()
    monkeypatch.setattr("quotas.cluster_services._take_queues_away", lambda _cluster: False)
    assert admin.post("/admin/clusters/lab/forget/").url == "/admin/clusters/"
    assert not Cluster.objects.filter(slug="lab").exists()
    assert "are still there" in words(admin.get("/admin/clusters/"))


def test_why_a_cluster_is_not_forgotten_is_said(visitor: Visitors, cast: Cast) -> None:
    Cluster.objects.filter(pk=cast.cluster.pk).update(kind="kueue_volcano")
    response = visitor("admin").post("/admin/clusters/sandbox/forget/")
    assert response.status_code == 409
    assert "First set them to 0 %." in words(response)
    assert "Forget the cluster" not in words(response)


def test_the_sandbox_offers_neither(visitor: Visitors, cast: Cast) -> None:
    page = html(visitor("admin").get("/admin/clusters/"))
    for address in ("credentials", "forget"):
        assert f"/admin/clusters/sandbox/{address}/" not in page
        assert visitor("admin").get(f"/admin/clusters/sandbox/{address}/").status_code == 409


def test_more_clusters_cost_no_more_queries(visitor: Visitors, cast: Cast) -> None:
    few = visitor("admin").count_queries("/admin/clusters/")
    for number in range(20):
        Cluster.objects.create(slug=f"c{number}", name=f"C{number}", kind="kueue_volcano")
    assert visitor("admin").count_queries("/admin/clusters/") == few <= 12
