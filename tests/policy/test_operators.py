"""Django's own admin below `operator/`: for platform admins only, and even they only read there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib import admin
from django.db.models import Model
from django.http import HttpResponse
from django.test import Client
from django.urls import NoReverseMatch, reverse

from accounts.actors import actor_of
from accounts.models import ApiToken, Team, User
from accounts.services import token_create
from jobs.models import Job
from jobs.services.submit import job_submit
from tests.cast import Cast, build_cast
from tests.policy.addresses import ACTORS
from tests.services.support import row_counts
from tests.stage import BODY

SECRET = "s3cret-value"
OURS = {"accounts", "clusters", "quotas", "jobs"}


@pytest.fixture
def cast(db: None) -> Cast:
    cast = build_cast()
    owner = cast.actor("eng-vision-1")
    job_submit(actor=owner, data={**BODY, "env": {"API_KEY": SECRET}})
    token_create(actor=owner, name="script")
    return cast


def _client(cast: Cast, actor: str) -> Client:
    client = Client()
    if (username := ACTORS[actor]) is not None:
        client.force_login(cast.users[username], backend="allauth.account.auth_backends.AuthenticationBackend")
    return client


def _pages() -> Iterator[tuple[type[Model], str]]:
    """Every page of every model of ours: its list, one object, add, change, delete, history."""
    for model in admin.site._registry:
        if not _is_ours(model):
            continue
        meta = model._meta
        row = model._default_manager.first()
        for page, arguments in (
            ("changelist", []),
            ("add", []),
            *(((name, [row.pk]) for name in ("change", "delete", "history")) if row is not None else ()),
        ):
            yield model, reverse(f"admin:{meta.app_label}_{meta.model_name}_{page}", args=arguments)


def _list_of(model: type[Model]) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def _is_ours(model: type[Model]) -> bool:
    return model._meta.app_label in OURS


def test_models_of_libraries_are_closed(cast: Cast) -> None:
    theirs = [model for model in admin.site._registry if not _is_ours(model)]
    assert {_client(cast, "admin").get(_list_of(model)).status_code for model in theirs} <= {403}


def test_there_is_something_to_read(cast: Cast) -> None:
    assert {User, Team, Job} <= set(admin.site._registry)


@pytest.mark.parametrize("actor", [actor for actor in ACTORS if actor != "admin"])
def test_nobody_but_an_admin_gets_in(cast: Cast, actor: str) -> None:
    client = _client(cast, actor)
    for _model, address in [*_pages(), (User, reverse("admin:index"))]:
        for method in ("get", "post"):
            answer: HttpResponse = getattr(client, method)(address)
            assert answer.status_code in {302, 403}, (method, address, answer.status_code)
            assert SECRET not in answer.content.decode()


def test_an_admin_reads_and_changes_nothing(cast: Cast) -> None:
    client = _client(cast, "admin")
    before = row_counts()
    for model, address in _pages():
        closed = address.endswith(("/add/", "/delete/")) or (model is ApiToken and address != _list_of(ApiToken))
        assert client.get(address).status_code == (403 if closed else 200), address
        assert client.post(address, {"_save": "1", "action": "delete_selected"}).status_code in {200, 302, 403}
        assert row_counts() | {"django_session": 0} == before | {"django_session": 0}, (model, address)


def test_no_page_shows_a_secret(cast: Cast) -> None:
    client = _client(cast, "admin")
    token = ApiToken.objects.get()
    user = User.objects.get(username="eng-vision-1")
    secrets = (SECRET, token.digest, token.token_key, user.password)
    for _model, address in _pages():
        answer = client.get(address)
        content = answer.content.decode() if answer.status_code == 200 else ""
        assert not [secret for secret in secrets if secret and secret in content], address


def test_the_people_of_the_admin_are_the_platform_admins(cast: Cast) -> None:
    staff = User.objects.filter(is_staff=True)
    assert {user.username for user in staff} == {"admin"}
    assert all(actor_of(user).is_admin for user in staff)
    with pytest.raises(NoReverseMatch):
        reverse("admin:knox_authtoken_changelist")
