"""No way out for a cluster's credentials: pages, API, operators' pages, logs, tasks, audit, errors, reprs, tables."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.contrib import admin
from django.core import serializers
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from clusters.backends.kueue_volcano.client import KubeClient
from clusters.backends.kueue_volcano.credentials import Account, connection_of
from clusters.backends.kueue_volcano.kubeconfig import KubeconfigError, parse_kubeconfig
from clusters.connect import Upload
from clusters.models import Cluster
from clusters.sync import cluster_sync
from common import hints
from common.errors import DomainError
from common.secrets import SealedTextField, sealed_columns
from quotas.cluster_services import cluster_open
from tests.api_server import TOKENS, ApiServer, kubeconfig_of
from tests.cast import Cast, build_cast
from tests.certificates import as_file, authority, base64_of, client_entries, issue, kubeconfig
from tests.policy.addresses import MATRIX
from tests.policy.test_every_address import Scene

PAIR = issue("sluice-node", by=authority())
KEY_LINES = PAIR.key.split("\n")[1:-2]
SECRETS = [
    *TOKENS.values(),
    *KEY_LINES,
    base64_of(PAIR.key)[:60],
    *(base64_of(token)[:-4] for token in TOKENS.values()),
]


def leaks(text: object) -> list[str]:
    """Which secrets stand in a text."""
    found = str(text)
    return [secret for secret in SECRETS if secret in found]


def uploads(server: ApiServer) -> dict[Account, bytes]:
    """Two tokens and one client certificate."""
    entries = client_entries(PAIR)
    return {
        Account.RUNTIME: kubeconfig_of(server),
        Account.QUOTA: kubeconfig_of(server, Account.QUOTA),
        Account.NODE: kubeconfig_of(server, **entries),
    }


@pytest.fixture
def spoken(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Every log line of every level, and every task that is sent."""
    caplog.set_level(logging.DEBUG)
    sent: list[str] = []
    monkeypatch.setattr(hints, "_ring", lambda task, args, **_options: sent.append(f"{task} {args!r}"))
    yield lambda: caplog.text + "".join(repr(record.__dict__) for record in caplog.records) + "".join(sent)


@pytest.fixture
def cast(db: None) -> Cast:
    return build_cast()


@pytest.fixture
def cluster(cast: Cast, server: ApiServer, django_capture_on_commit_callbacks: Any) -> Cluster:
    with django_capture_on_commit_callbacks(execute=True):
        upload = Upload(uploads(server))
        return cluster_open(actor=cast.actor("admin"), name="Lab", upload=upload).cluster


def browser(cast: Cast) -> Client:
    client = Client()
    client.force_login(cast.users["admin"], backend="allauth.account.auth_backends.AuthenticationBackend")
    return client


def test_the_search_finds_what_it_looks_for(server: ApiServer) -> None:
    for data in uploads(server).values():
        assert leaks(data.decode())


def test_no_address_of_the_console_gives_a_secret_out(cast: Cast, cluster: Cluster, spoken: Any) -> None:
    """Every address an admin can read, with the connected cluster where an address names one."""
    scene = Scene(cast)
    for arguments in scene.arguments.values():
        if arguments.get("cluster") == "far":
            arguments["cluster"] = cluster.slug
    client, seen = browser(cast), 0
    for name, rows in MATRIX.items():
        if "GET" not in rows:
            continue
        response = client.get(scene.address(name))
        body = b"".join(response.streaming_content) if response.streaming else response.content
        assert leaks(body.decode("utf-8", "replace") + repr(response.headers)) == [], name
        assert cluster.credentials not in body.decode("utf-8", "replace"), name
        seen += response.status_code == 200
    assert seen > 15
    assert leaks(spoken()) == []


def test_the_operators_pages_show_neither_secret_nor_sealed_text(cast: Cast, cluster: Cluster) -> None:
    client = browser(cast)
    for page, arguments in (("changelist", []), ("change", [cluster.pk]), ("history", [cluster.pk])):
        response = client.get(reverse(f"admin:clusters_cluster_{page}", args=arguments))
        assert response.status_code == 200
        assert leaks(response.content.decode()) == []
        assert cluster.credentials not in response.content.decode()


@pytest.mark.parametrize("model", [model for model, _column in sealed_columns()], ids=lambda model: model.__name__)
def test_no_operators_page_has_a_field_of_sealed_text(model: Any, rf: Any, cast: Cast) -> None:
    if (page := admin.site._registry.get(model)) is None:
        return
    request = rf.get("/")
    request.user = cast.users["admin"]
    sealed = {field.name for field in model._meta.get_fields() if isinstance(field, SealedTextField)}
    assert not sealed & set(page.get_fields(request))
    assert not sealed & set(page.get_list_display(request))


@pytest.mark.parametrize("way", ["page", "api"])
def test_a_refused_upload_is_not_repeated(cast: Cast, server: ApiServer, spoken: Any, way: str) -> None:
    """Each upload has another thing wrong with it, and the secret in the same place."""
    del server.users[TOKENS[Account.QUOTA]]
    exec_too = kubeconfig(server=server.url, token=TOKENS[Account.RUNTIME], exec={"command": "aws"})
    twice = kubeconfig_of(server).replace(b"token:", b"token: a\n    token:")
    wrong = {
        "not accepted": kubeconfig_of(server, Account.QUOTA),
        "exec": as_file(exec_too),
        "cut off": kubeconfig_of(server)[:-3] + b"\n\t[",
        "twice": twice,
        "in the place of a name": as_file(kubeconfig(server=server.url, **{TOKENS[Account.RUNTIME]: "x"})),
        "in the address": as_file(kubeconfig(server=f"https://x:{TOKENS[Account.RUNTIME]}@10.0.0.1", token="x")),
        "another authority": kubeconfig_of(server, Account.RUNTIME).replace(
            base64_of(authority().certificate).encode(), base64_of(authority("other").certificate).encode()
        ),
    }
    for what, data in wrong.items():
        if way == "page":
            fields = {"name": "Lab", "runtime": SimpleUploadedFile("kubeconfig", data)}
            response = browser(cast).post("/admin/clusters/", fields)
        else:
            body = {"name": "Lab", "runtime": data.decode()}
            response = browser(cast).post("/api/v1/clusters", body, content_type="application/json")
        assert response.status_code in {400, 422}, what
        assert leaks(response.content.decode()) == [], what
    assert leaks(spoken()) == []
    assert not Cluster.objects.filter(slug="lab").exists()


def test_errors_do_not_carry_what_they_are_about(server: ApiServer, cast: Cast) -> None:
    bad = as_file(kubeconfig(server=server.url, token=f"{TOKENS[Account.RUNTIME]} {TOKENS[Account.QUOTA]}"))
    with pytest.raises(KubeconfigError) as refused:
        parse_kubeconfig(bad)
    with pytest.raises(DomainError) as answered:
        cluster_open(actor=cast.actor("admin"), name="Lab", upload=Upload({Account.RUNTIME: bad}))
    for error in (refused.value, answered.value):
        assert leaks("".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))) == []


def test_nothing_shows_a_secret_when_it_is_printed(cluster: Cluster, server: ApiServer) -> None:
    for account in Account:
        way = connection_of(cluster, account)
        assert leaks(f"{way!r} {way} {KubeClient(way)!r} {[way]}") == []
    for data in uploads(server).values():
        assert leaks(repr(parse_kubeconfig(data))) == []
    assert leaks(f"{cluster!r} {Upload(uploads(server))!r} {vars(cluster)}") == []


def test_a_look_that_fails_tells_nothing(cluster: Cluster, server: ApiServer, spoken: Any) -> None:
    server.users.clear()
    assert not cluster_sync(cluster)
    cluster.refresh_from_db()
    assert cluster.sync_error == "unauthorized"
    assert leaks(spoken() + cluster.sync_error) == []


def test_no_table_holds_a_secret_as_it_is(cluster: Cluster) -> None:
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        for table in tables:
            cursor.execute(f'SELECT row_to_json(t)::text FROM "{table}" AS t')
            for (row,) in cursor.fetchall():
                assert leaks(row) == [], table
    assert leaks(serializers.serialize("json", Cluster.objects.all())) == []


def test_changing_keys_says_nothing_of_what_it_seals(cluster: Cluster, spoken: Any) -> None:
    out = StringIO()
    call_command("credentials_rotate", stdout=out)
    assert leaks(out.getvalue() + spoken()) == []
    assert cluster.credentials not in out.getvalue()
