"""Connecting a cluster, replacing its credentials, forgetting it; through a real TLS connection on loopback."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import AuditEvent, Team
from clusters.backends.kueue_volcano.addresses import AllowList
from clusters.backends.kueue_volcano.credentials import Account, connection_of
from clusters.connect import Connected, Upload, credentials_replace
from clusters.connected import cluster_view, connection_facts
from clusters.contract import BackendError, Retryable, Unauthorized
from clusters.models import Cluster, NodeGroup
from clusters.services import SILENCE
from common.errors import DomainError, NotAllowed
from common.secrets import seal, unseal
from jobs.services.submit import job_submit
from quotas.cluster_services import cluster_forget, cluster_open, shares_complete
from quotas.models import Demand, LocalQueue, Share, TeamQueue
from tests.api_server import KUEUE, TOKENS, USERS, ApiServer, kubeconfig_of
from tests.cast import Cast, build_cast
from tests.certificates import as_file, authority, client_entries, issue, kubeconfig, kubeconfig_file, token_that_ends
from tests.services.support import problems_of, refused, row_counts
from tests.stage import BODY

RUNTIME, QUOTA, NODE = TOKENS.values()

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return build_cast()


def upload(server: ApiServer, **more: Any) -> Upload:
    files = {account: kubeconfig_of(server, account) for account in Account}
    return replace(Upload(files), **more)


def only(data: bytes, **more: Any) -> Upload:
    return Upload({Account.RUNTIME: data}, **more)


def connect(cast: Cast, server: ApiServer, **more: Any) -> Connected:
    values = {"actor": cast.actor("admin"), "name": "Big Blue", "upload": upload(server), **more}
    return cluster_open(**values)


# --------------------------------------------------------------------------- what is stored


def test_a_cluster_is_connected_as_three_accounts(cast: Cast, server: ApiServer) -> None:
    connected = connect(cast, server)
    cluster = connected.cluster
    assert (cluster.slug, cluster.kind, cluster.server) == ("big-blue", "kueue_volcano", server.url)
    assert (cluster.sync_error, cluster.is_default, connected.notes) == ("", False, ())
    facts = connection_facts(Cluster.objects.get(pk=cluster.pk))
    assert [facts.accounts[account].user for account in Account] == list(USERS.values())
    assert (facts.version, cluster.lacks) == ("v1.34.2", [])


def test_each_account_has_its_own_way_in(cast: Cast, server: ApiServer) -> None:
    cluster = connect(cast, server).cluster
    for account, token in TOKENS.items():
        connection = connection_of(cluster, account)
        assert (connection.host, connection.port, connection.address) == ("127.0.0.1", server.port, "127.0.0.1")
        assert (connection.token, connection.ca_pem) == (token, authority().certificate)


def test_a_client_certificate_is_an_account_too(cast: Cast, server: ApiServer) -> None:
    entries = client_entries(issue("system:sluice", by=authority()))
    connected = connect(cast, server, upload=only(kubeconfig_of(server, **entries)))
    assert connected.answers == {Account.RUNTIME: connected.answers[Account.RUNTIME]}
    assert connection_facts(connected.cluster).accounts[Account.RUNTIME].user == "system:sluice"
    assert connection_of(connected.cluster, "runtime").client_key_pem


def test_an_account_that_was_not_given_is_missed_by_its_name(cast: Cast, server: ApiServer) -> None:
    cluster = connect(cast, server, upload=only(kubeconfig_of(server))).cluster
    for account in (Account.QUOTA, Account.NODE):
        with pytest.raises(Unauthorized) as caught:
            connection_of(cluster, account)
        assert caught.value.code == f"no_{account}_account"
    with pytest.raises(Unauthorized) as caught:
        connection_of(cast.cluster)
    assert caught.value.code == "no_runtime_account"


def test_one_account_for_everything_is_said_and_never_guessed(cast: Cast, server: ApiServer) -> None:
    same = {account: kubeconfig_of(server) for account in Account}
    problems = problems_of(lambda: connect(cast, server, upload=Upload(same)))
    assert {attr: problem.code for attr, problem in problems.items()} == {
        "quota": "same_account",
        "node": "same_account",
    }
    problems = problems_of(lambda: connect(cast, server, upload=Upload(same, one_for_all=True)))
    assert {attr: problem.code for attr, problem in problems.items()} == {"one_for_all": "contradiction"}
    cluster = connect(cast, server, upload=only(kubeconfig_of(server), one_for_all=True)).cluster
    assert {connection_of(cluster, account).token for account in Account} == {RUNTIME}


def test_the_fingerprint_changes_with_any_account_and_tells_nothing(cast: Cast, server: ApiServer) -> None:
    cluster = connect(cast, server).cluster
    before = cluster.fingerprint
    again = credentials_replace(actor=cast.actor("admin"), cluster=cluster, upload=upload(server)).cluster
    assert again.fingerprint == before
    changed = credentials_replace(
        actor=cast.actor("admin"), cluster=cluster, upload=only(kubeconfig_of(server, Account.QUOTA))
    ).cluster
    assert changed.fingerprint != before
    assert len(before) == 16


def test_every_team_gets_its_queue(cast: Cast, server: ApiServer) -> None:
    Team.objects.create(slug="old", name="Old", space="slu-old-000000", archived_at=timezone.now())
    cluster = connect(cast, server).cluster
    assert set(TeamQueue.objects.filter(cluster=cluster).values_list("team__slug", flat=True)) == set(cast.teams)
    assert LocalQueue.objects.filter(queue__cluster=cluster).count() == len(cast.teams)


def test_groups_that_appear_later_get_a_share_of_nothing(cast: Cast, server: ApiServer) -> None:
    cluster = connect(cast, server).cluster
    assert not Share.objects.filter(group__cluster=cluster).exists()
    NodeGroup.objects.create(
        cluster=cluster, slug="h100", title="H100", vendor="nvidia", card_model="H100", sharing="exclusive",
        unit="card", cards_per_node=8,
    )  # fmt: skip
    for _ in range(2):
        shares_complete(cluster)
        points = Share.objects.filter(group__cluster=cluster).values_list("basis_points", flat=True)
        assert list(points) == [0, 0, 0]


def test_a_default_cluster_takes_the_flag_over(cast: Cast, server: ApiServer) -> None:
    cluster = connect(cast, server, is_default=True).cluster
    assert list(Cluster.objects.filter(is_default=True)) == [cluster]


def test_what_is_missing_in_the_cluster_is_said(cast: Cast, server: ApiServer) -> None:
    server.parts.clear()
    connected = connect(cast, server)
    assert "takes no jobs" in connected.notes[0]
    assert connected.cluster.lacks == ["gang", "gate", "topology"]
    assert cluster_view(viewer=cast.actor("admin"), slug="big-blue").takes_jobs is False
    server.parts["kueue.x-k8s.io/v1beta2"] = KUEUE[:-1]
    again = credentials_replace(actor=cast.actor("admin"), cluster=connected.cluster, upload=upload(server))
    assert "all parts of a job together" in again.notes[0]
    assert cluster_view(viewer=cast.actor("admin"), slug="big-blue").takes_jobs is True


def test_an_account_that_ends_soon_is_said(cast: Cast, server: ApiServer) -> None:
    token = token_that_ends(timezone.now() + timedelta(hours=1))
    server.users[token] = "short"
    connected = connect(cast, server, upload=only(kubeconfig_of(server, token=token)))
    assert "The account for Jobs ends on" in connected.notes[0]
    row = next(row for row in cluster_view(viewer=cast.actor("admin"), slug="big-blue").accounts if row.facts)
    assert row.ends == "soon"


# --------------------------------------------------------------------------- what is refused


def test_only_admins_connect(cast: Cast, server: ApiServer) -> None:
    for username in ("eng-vision-1", "lead-vision"):
        refused(lambda username=username: connect(cast, server, actor=cast.actor(username)), NotAllowed)
    assert server.asked == []


@pytest.mark.parametrize(
    ("name", "code"), [("", "blank"), ("\u200b", "blank"), ("Sandbox", "taken"), ("sandbox", "taken")]
)
def test_a_name_is_given_and_free(cast: Cast, server: ApiServer, name: str, code: str) -> None:
    assert problems_of(lambda: connect(cast, server, name=name))["name"].code == code
    assert server.asked == []


def test_names_that_become_the_same_address_are_too_alike(cast: Cast, server: ApiServer) -> None:
    connect(cast, server)
    assert problems_of(lambda: connect(cast, server, name="big blue!"))["name"].code == "taken"


def test_everything_that_is_wrong_is_said_at_once(cast: Cast, server: ApiServer) -> None:
    files = {
        Account.QUOTA: kubeconfig_file(exec={"command": "aws"}),
        Account.NODE: kubeconfig_file(server="https://169.254.169.254"),
    }
    problems = problems_of(lambda: connect(cast, server, name="", upload=Upload(files)))
    assert {attr: problem.code for attr, problem in problems.items()} == {
        "name": "blank",
        "runtime": "required",
        "quota": "exec",
        "node": "address_not_allowed",
    }
    assert server.asked == []


def test_accounts_of_different_addresses_do_not_belong_together(cast: Cast, server: ApiServer) -> None:
    files = {
        Account.RUNTIME: kubeconfig_of(server),
        Account.QUOTA: kubeconfig_file(server="https://localhost:1", token=QUOTA),
    }
    assert problems_of(lambda: connect(cast, server, upload=Upload(files)))["quota"].code == "other_server"


def test_an_account_that_the_cluster_does_not_know_is_not_stored(cast: Cast, server: ApiServer) -> None:
    del server.users[QUOTA]
    assert problems_of(lambda: connect(cast, server))["quota"].code == "unauthorized"


def test_a_server_of_another_authority_is_not_trusted(cast: Cast, server: ApiServer) -> None:
    data = kubeconfig_file(server=server.url, ca=authority("somebody-else"), token=RUNTIME)
    assert problems_of(lambda: connect(cast, server, upload=only(data)))["runtime"].code == "tls"
    assert server.asked == []


def test_a_certificate_must_name_the_host(cast: Cast, server: ApiServer) -> None:
    data = kubeconfig_file(server=f"https://localhost:{server.port}", token=RUNTIME)
    assert problems_of(lambda: connect(cast, server, upload=only(data)))["runtime"].code == "tls"


def test_a_redirect_is_not_followed(cast: Cast, server: ApiServer) -> None:
    server.answers["/version"] = (302, {"Location": f"{server.url}/apis"}, b"")
    assert problems_of(lambda: connect(cast, server))["runtime"].code == "http_302"
    assert {path for _method, path, _host in server.asked} == {"/version"}


def test_what_is_no_api_server_is_said(cast: Cast, server: ApiServer) -> None:
    server.answers["/version"] = (200, {}, b"<html>hello</html>")
    assert problems_of(lambda: connect(cast, server))["runtime"].code == "no_api_server"


def test_proxies_of_the_environment_are_not_asked(
    cast: Cast, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert connect(cast, server).cluster.sync_error == ""


def test_a_silent_cluster_is_stored_and_said_to_be_silent(cast: Cast, server: ApiServer) -> None:
    data = kubeconfig_file(server="https://127.0.0.1:1", token=RUNTIME)
    connected = connect(cast, server, upload=only(data))
    assert connected.cluster.sync_error in SILENCE
    assert connected.answers == {Account.RUNTIME: None}
    assert "gave no answer yet" in connected.notes[0]
    view = cluster_view(viewer=cast.actor("admin"), slug="big-blue")
    assert (view.error_code, view.takes_jobs, view.stale) == (connected.cluster.sync_error, None, True)
    assert connection_of(connected.cluster).token == RUNTIME


def test_an_address_is_checked_again_at_each_connection(cast: Cast, server: ApiServer, settings: Any) -> None:
    cluster = connect(cast, server).cluster
    settings.SLUICE = settings.SLUICE | {"CLUSTER_ADDRESSES": AllowList.parse("10.0.0.0/8")}
    with pytest.raises(Unauthorized) as caught:
        connection_of(cluster)
    assert caught.value.code == "address_not_allowed"


def test_a_name_that_is_gone_may_come_back(cast: Cast, server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.getaddrinfo", lambda *_a, **_o: (_ for _ in ()).throw(OSError("no such name")))
    data = kubeconfig_file(server="https://api.example.com:6443", token=RUNTIME)
    problem = problems_of(lambda: connect(cast, server, upload=only(data)))["runtime"]
    assert (problem.code, "api.example.com" in str(problem.message)) == ("name_not_found", True)


# --------------------------------------------------------------------------- replacing


def test_new_credentials_take_the_place_of_all_old_ones(cast: Cast, server: ApiServer) -> None:
    cluster = connect(cast, server).cluster
    Cluster.objects.filter(pk=cluster.pk).update(
        sync_error="unauthorized", rest_until=timezone.now(), settings={**cluster.settings, "git_image": "git:1"}
    )
    actor = cast.actor("admin")
    replaced = credentials_replace(
        actor=actor, cluster=cluster, upload=only(kubeconfig_of(server, Account.QUOTA))
    ).cluster
    stored = Cluster.objects.get(pk=cluster.pk)
    assert (stored.sync_error, stored.rest_until, stored.settings["git_image"]) == ("", None, "git:1")
    assert set(connection_facts(stored).accounts) == {Account.RUNTIME}
    assert connection_of(replaced).token == QUOTA
    with pytest.raises(Unauthorized):
        connection_of(stored, Account.QUOTA)


def test_refused_credentials_leave_the_old_ones(cast: Cast, server: ApiServer) -> None:
    cluster = connect(cast, server).cluster
    problems = problems_of(
        lambda: credentials_replace(
            actor=cast.actor("admin"), cluster=cluster, upload=only(kubeconfig_of(server, token="unknown-token"))
        )
    )
    assert problems["runtime"].code == "unauthorized"
    assert connection_of(Cluster.objects.get(pk=cluster.pk)).token == RUNTIME


def test_the_sandbox_has_no_credentials_and_stays(cast: Cast, server: ApiServer) -> None:
    actor = cast.actor("admin")
    for call in (
        lambda: credentials_replace(actor=actor, cluster=cast.cluster, upload=upload(server)),
        lambda: cluster_forget(actor=actor, cluster=cast.cluster),
    ):
        assert refused(call).code == "not_connected"


def test_credentials_that_no_key_opens_are_said_to_be_closed(cast: Cast, server: ApiServer, settings: Any) -> None:
    cluster = connect(cast, server).cluster
    settings.FERNET_KEYS = ["QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVoxMjM0NTY="]
    with pytest.raises(Unauthorized, match="SLUICE_FERNET_KEYS") as caught:
        connection_of(cluster)
    assert caught.value.code == "credentials_unreadable"
    assert cluster_view(viewer=cast.actor("admin"), slug=cluster.slug).fingerprint == cluster.fingerprint


# --------------------------------------------------------------------------- forgetting


class Gate:
    """A backend of which only the quotas matter here."""

    def __init__(self, error: BackendError | None = None) -> None:
        self.error = error
        self.plans: list[Any] = []

    def apply_quotas(self, plan: Any) -> Any:
        self.plans.append(plan)
        if self.error:
            raise self.error
        return type("Report", (), {"failed": ()})()


@pytest.mark.parametrize(
    ("error", "tidied"), [(None, True), (Retryable("silent"), False), (Unauthorized("forbidden"), False)]
)
def test_a_cluster_is_forgotten_with_what_belongs_to_it(
    cast: Cast, server: ApiServer, monkeypatch: pytest.MonkeyPatch, error: BackendError | None, tidied: bool
) -> None:
    before = row_counts()
    cluster = connect(cast, server).cluster
    gate = Gate(error)
    monkeypatch.setattr("quotas.cluster_services.backend", lambda _cluster: gate)
    assert cluster_forget(actor=cast.actor("admin"), cluster=cluster) is tidied
    assert [(plan.queues, plan.pool) for plan in gate.plans] == [((), ())]
    after = row_counts()
    audit = AuditEvent._meta.db_table
    assert {table: count for table, count in after.items() if table != audit} == {
        table: count for table, count in before.items() if table != audit
    }


def test_a_cluster_with_shares_is_not_forgotten(cast: Cast, server: ApiServer) -> None:
    cluster = connect(cast, server).cluster
    queue = TeamQueue.objects.filter(cluster=cluster)[0]
    group = NodeGroup.objects.create(
        cluster=cluster, slug="h100", title="H100", vendor="nvidia", card_model="H100", sharing="exclusive",
        unit="card", cards_per_node=8,
    )  # fmt: skip
    Share.objects.create(queue=queue, group=group, basis_points=1)
    assert refused(lambda: cluster_forget(actor=cast.actor("admin"), cluster=cluster)).code == "has_shares"


def test_a_cluster_with_jobs_is_not_forgotten(cast: Cast, server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sandbox stands in: once it counts as connected, its jobs are what keeps it."""
    job = job_submit(actor=cast.actor("eng-vision-1"), data=BODY).job
    Cluster.objects.filter(pk=cast.cluster.pk).update(kind="kueue_volcano")
    cluster = Cluster.objects.get(pk=cast.cluster.pk)
    monkeypatch.setattr("quotas.cluster_services.backend", lambda _cluster: Gate())
    actor = cast.actor("admin")
    assert refused(lambda: cluster_forget(actor=actor, cluster=cluster)).code == "has_live_jobs"
    Demand.objects.filter(job_ulid=job.public_id).delete()
    Share.objects.update(basis_points=0)
    assert refused(lambda: cluster_forget(actor=actor, cluster=cluster)).code == "has_history"


def test_only_admins_forget(cast: Cast, server: ApiServer) -> None:
    cluster = connect(cast, server).cluster
    refused(lambda: cluster_forget(actor=cast.actor("lead-vision"), cluster=cluster), NotAllowed)
    refused(
        lambda: credentials_replace(actor=cast.actor("lead-vision"), cluster=cluster, upload=upload(server)), NotAllowed
    )


# --------------------------------------------------------------------------- the trail


def test_every_act_is_in_the_audit_trail_without_a_secret(
    cast: Cast, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    actor = cast.actor("admin")
    cluster = connect(cast, server).cluster
    credentials_replace(actor=actor, cluster=cluster, upload=upload(server))
    monkeypatch.setattr("quotas.cluster_services.backend", lambda _cluster: Gate())
    cluster_forget(actor=actor, cluster=cluster)
    rows = AuditEvent.objects.filter(target_type="cluster").order_by("pk")
    assert [(row.actor_name, row.action, row.target_id) for row in rows] == [
        ("admin", "cluster.connect", "big-blue"),
        ("admin", "cluster.credentials", "big-blue"),
        ("admin", "cluster.forget", "big-blue"),
    ]
    assert rows[0].detail == {
        "server": server.url,
        "fingerprint": cluster.fingerprint,
        "accounts": ["node", "quota", "runtime"],
        "is_default": False,
        "mode": "managing",
    }


def test_a_refused_upload_leaves_nothing(cast: Cast, server: ApiServer) -> None:
    error = refused(lambda: connect(cast, server, upload=only(b"not: [yaml")))
    assert isinstance(error, DomainError)


def test_contexts_are_chosen_by_name(cast: Cast, server: ApiServer) -> None:
    both = kubeconfig(server=server.url, token="unknown")
    both["contexts"].append({"name": "good", "context": {"cluster": "there", "user": "good"}})
    both["users"].append({"name": "good", "user": {"token": RUNTIME}})
    cluster = connect(cast, server, upload=only(as_file(both), context="good")).cluster
    assert connection_of(cluster).token == RUNTIME
    assert RUNTIME in unseal(cluster.credentials)
    assert seal(RUNTIME) and RUNTIME not in cluster.credentials


def test_an_end_of_a_certificate_is_kept(cast: Cast, server: ApiServer) -> None:
    end = datetime(2100, 5, 1, tzinfo=UTC)
    entries = client_entries(issue("system:sluice", by=authority(), end=end))
    cluster = connect(cast, server, upload=only(kubeconfig_of(server, **entries))).cluster
    assert connection_facts(Cluster.objects.get(pk=cluster.pk)).accounts[Account.RUNTIME].valid_until == end
