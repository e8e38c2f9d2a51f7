"""Secrets at rest: sealed, opened, and sealed anew when keys change."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db.models import QuerySet

from clusters.models import Cluster
from common import secrets
from common.secrets import SecretUnreadable, rotate, seal, sealed_columns, unseal

OLD, NEW, STRAY = (Fernet.generate_key().decode() for _ in range(3))
TEXT = "the token of a cluster, 密"


@pytest.fixture(autouse=True)
def keys(settings: Any) -> Iterator[Any]:
    settings.FERNET_KEYS = [OLD]
    yield settings


def cluster(slug: str, sealed: str) -> Cluster:
    return Cluster.objects.create(slug=slug, name=slug, kind="kueue_volcano", credentials=sealed)


def stored(slug: str) -> str:
    return Cluster.objects.values_list("credentials", flat=True).get(slug=slug)


def test_what_is_sealed_can_be_opened_and_not_read() -> None:
    sealed = seal(TEXT)
    assert unseal(sealed) == TEXT
    assert TEXT not in sealed
    assert TEXT.encode() not in base64.urlsafe_b64decode(sealed)
    assert seal(TEXT) != sealed


def test_the_first_key_seals_and_every_key_opens(keys: Any) -> None:
    sealed = seal(TEXT)
    keys.FERNET_KEYS = [NEW, OLD]
    assert unseal(sealed) == TEXT
    fresh = seal(TEXT)
    keys.FERNET_KEYS = [NEW]
    assert unseal(fresh) == TEXT


@pytest.mark.parametrize("damage", ["", "no token", "gAAAAA"])
def test_what_no_key_opens_says_what_to_do(keys: Any, damage: str) -> None:
    sealed = damage or seal(TEXT)
    keys.FERNET_KEYS = [NEW]
    with pytest.raises(SecretUnreadable, match="SLUICE_FERNET_KEYS") as caught:
        unseal(sealed)
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
    assert not damage or damage not in str(caught.value)


@pytest.mark.parametrize("bad", [[], ["short"], [OLD, "not base64 at all!"]])
def test_without_usable_keys_nothing_is_sealed(keys: Any, bad: list[str]) -> None:
    keys.FERNET_KEYS = bad
    with pytest.raises(ImproperlyConfigured, match="urlsafe_b64encode") as caught:
        seal(TEXT)
    assert not any(key in str(caught.value) for key in bad)


# --------------------------------------------------------------------------- changing keys


def test_the_credentials_of_clusters_are_found() -> None:
    assert (Cluster, "credentials") in list(sealed_columns())


@pytest.mark.django_db
def test_every_value_is_sealed_anew_once(keys: Any) -> None:
    for slug in ("a", "b"):
        cluster(slug, seal(f"{TEXT} {slug}"))
    cluster("empty", "")
    keys.FERNET_KEYS = [NEW, OLD]
    cluster("c", seal(f"{TEXT} c"))
    first, again = (next(d for d in rotate() if d.column == "clusters.Cluster.credentials") for _ in range(2))
    assert (first.sealed_anew, first.already_current, first.unreadable) == (2, 1, 0)
    assert (again.sealed_anew, again.already_current, again.unreadable) == (0, 3, 0)
    keys.FERNET_KEYS = [NEW]
    assert [unseal(stored(slug)) for slug in "abc"] == [f"{TEXT} {slug}" for slug in "abc"]
    assert stored("empty") == ""


@pytest.mark.django_db
def test_a_rotation_that_is_cut_off_loses_nothing_and_goes_on(keys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for slug in "abc":
        cluster(slug, seal(slug))
    keys.FERNET_KEYS = [NEW, OLD]
    done: list[object] = []
    whole = secrets._rotate_value

    def cut_off(*arguments: Any) -> None:
        if len(done) == 2:
            raise KeyboardInterrupt
        whole(*arguments)
        done.append(arguments)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(secrets, "_rotate_value", cut_off)
        rotate()
    assert [unseal(stored(slug)) for slug in "abc"] == list("abc")
    found = next(d for d in rotate() if d.column == "clusters.Cluster.credentials")
    assert (found.sealed_anew, found.already_current) == (1, 2)


@pytest.mark.django_db
def test_a_secret_that_is_replaced_meanwhile_is_kept(keys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    row = cluster("a", seal("first"))
    newer = seal("second")
    keys.FERNET_KEYS = [NEW, OLD]
    update = QuerySet.update
    calls: list[str] = []

    def slow_update(rows: QuerySet[Any], **values: Any) -> int:
        if not calls:
            calls.append("raced")
            update(Cluster.objects.filter(pk=row.pk), credentials=newer)
        return update(rows, **values)

    monkeypatch.setattr(QuerySet, "update", slow_update)
    rotate()
    keys.FERNET_KEYS = [NEW]
    assert unseal(stored("a")) == "second"


@pytest.mark.django_db
def test_the_command_counts_and_fails_when_something_stays_closed(keys: Any) -> None:
    cluster("a", seal("a"))
    keys.FERNET_KEYS = [STRAY]
    lost = cluster("lost", seal("lost")).credentials
    keys.FERNET_KEYS = [NEW, OLD]
    out = StringIO()
    with pytest.raises(CommandError, match="SLUICE_FERNET_KEYS"):
        call_command("credentials_rotate", stdout=out)
    line = "clusters.Cluster.credentials: 1 sealed anew, 0 already with the newest key, 1 cannot be opened"
    assert line in out.getvalue().splitlines()
    assert stored("lost") == lost
    keys.FERNET_KEYS = [NEW, STRAY]
    call_command("credentials_rotate", stdout=out)
    keys.FERNET_KEYS = [NEW]
    assert unseal(stored("lost")) == "lost"
