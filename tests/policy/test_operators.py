"""Django's own admin below `operator/`: for platform admins only, and even they only read there.

What they may do is break the glass: an act of a service, with a reason, one audit row each.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from allauth.usersessions.models import UserSession
from django.apps import apps
from django.contrib import admin
from django.db import models
from django.db.models import Model
from django.http import HttpResponse
from django.test import Client
from django.urls import NoReverseMatch, reverse
from django.utils import timezone

from accounts.actors import actor_of
from accounts.models import ApiToken, AuditEvent, Membership, Team, User
from accounts.operators import OperatorAdmin, Remedy
from accounts.services import token_create
from clusters.models import Cluster, SandboxCommand, SandboxObject, SandboxWorld
from clusters.supply_services import registry_set, variables_set
from common.admin import ReadOnlyAdmin
from common.secrets import seal
from jobs.models import IdempotencyKey, Job, JobSync, LogChunk
from jobs.services.submit import job_submit
from tests.cast import PASSWORD, Cast, build_cast
from tests.policy.addresses import ACTORS
from tests.services.support import row_counts
from tests.stage import BODY

SECRET = "s3cret-value"
OURS = {"accounts", "clusters", "quotas", "jobs"}
THEIRS = {Authenticator, SocialAccount, UserSession}
"""Tables of libraries that say something about people."""
NOT_SHOWN = {SandboxWorld, SandboxObject, SandboxCommand}
"""The inside of the simulated cluster: what it shows of itself stands in the tables of clusters."""


@pytest.fixture
def cast(db: None) -> Cast:
    cast = build_cast()
    owner = cast.actor("eng-vision-1")
    job = job_submit(actor=owner, data={**BODY, "env": {"API_KEY": SECRET}}, idempotency_key=f"{SECRET}-key").job
    LogChunk.objects.create(
        attempt=job.attempts.get(), first_seq=1, last_seq=1, index=[], payload=f"{SECRET}-line".encode()
    )
    token_create(actor=owner, name="script")
    place = {"cluster": cast.cluster, "team": cast.teams["vision"]}
    lead = cast.actor("lead-vision")
    variables_set(actor=lead, **place, name="wandb", values={"KEY": SECRET})
    registry_set(
        actor=lead, **place, name="harbor", server="registry.example", username="robot", password=f"{SECRET}-registry"
    )
    Cluster.objects.create(slug="far", name="Far", kind="kueue_volcano", credentials=seal(f"{SECRET}-kubeconfig"))
    TOTP.activate(owner.user, "JBSWY3DPEHPK3PXP")
    RecoveryCodes.activate(owner.user)
    SocialAccount.objects.create(user=owner.user, provider="oidc-1", uid="subject-1")
    UserSession.objects.create(user=owner.user, ip="192.0.2.7", session_key=f"{SECRET}-session-key", user_agent="x")
    return cast


def _secrets() -> list[str]:
    """Every text that no page may hold."""
    token = ApiToken.objects.get()
    sealed = [str(value) for value in Cluster.objects.exclude(credentials="").values_list("credentials", flat=True)]
    for factor in Authenticator.objects.all():
        sealed += [str(value) for value in factor.data.values() if isinstance(value, str)]
    hashes = list(User.objects.values_list("password", flat=True))
    keys = list(IdempotencyKey.objects.values_list("body_hash", flat=True))
    return [SECRET, token.digest, token.token_key, "JBSWY3DPEHPK3PXP", *sealed, *hashes, *keys]


def _client(cast: Cast, actor: str) -> Client:
    client = Client()
    if (username := ACTORS[actor]) is not None:
        client.force_login(cast.users[username], backend="allauth.account.auth_backends.AuthenticationBackend")
    return client


def _name(model: type[Model]) -> str:
    return f"{model._meta.app_label}_{model._meta.model_name}"


def _list_of(model: type[Model]) -> str:
    return reverse(f"admin:{_name(model)}_changelist")


def _remedies() -> Iterator[tuple[OperatorAdmin, Remedy]]:
    for window in admin.site._registry.values():
        if isinstance(window, OperatorAdmin):
            yield from ((window, remedy) for remedy in window.remedies)


def _pages() -> Iterator[tuple[type[Model], str]]:
    """Every page of every model: its list, one object, add, change, delete, history, and the remedies."""
    for model, window in admin.site._registry.items():
        row = model._default_manager.first()
        yield model, _list_of(model)
        yield model, f"{_list_of(model)}?q=a"
        yield model, f"{_list_of(model)}?_popup=1&_to_field={model._meta.pk.name}"
        yield model, reverse(f"admin:{_name(model)}_add")
        if row is not None:
            for page in ("change", "delete", "history"):
                yield model, reverse(f"admin:{_name(model)}_{page}", args=[row.pk])
            for remedy in getattr(window, "remedies", ()):
                yield model, window.address_of(remedy, row)  # type: ignore[attr-defined]


# --------------------------------------------------------------------------- who, and what


def test_every_table_can_be_read_or_is_left_out_for_a_reason() -> None:
    ours = {model for model in apps.get_models() if model._meta.app_label in OURS}
    assert set(admin.site._registry) == (ours - NOT_SHOWN) | THEIRS


def test_only_windows_that_know_what_not_to_show_are_let_in() -> None:
    assert {type(window) for window in admin.site._registry.values() if not isinstance(window, ReadOnlyAdmin)} == set()
    assert not {EmailAddress, SocialApp, SocialToken} & set(admin.site._registry)


@pytest.mark.parametrize("actor", [actor for actor in ACTORS if actor != "admin"])
@pytest.mark.parametrize("flags", [{}, {"is_staff": True}, {"is_staff": True, "is_superuser": True}], ids=str)
def test_nobody_but_a_platform_admin_gets_in(cast: Cast, actor: str, flags: dict[str, bool]) -> None:
    if flags and ACTORS[actor]:
        User.objects.filter(username=ACTORS[actor]).update(**flags)
    client = _client(cast, actor)
    before = row_counts() | {"django_session": 0}
    for _model, address in [*_pages(), (User, reverse("admin:index")), (User, "/operator/autocomplete/")]:
        for method in ("get", "post"):
            answer: HttpResponse = getattr(client, method)(address, {"because": "I want to"})
            assert answer.status_code in {302, 403}, (method, address, answer.status_code)
            assert SECRET not in answer.content.decode()
    assert row_counts() | {"django_session": 0} == before


def test_a_platform_admin_who_was_disabled_or_lost_the_flag_is_out_at_the_next_request(cast: Cast) -> None:
    client = _client(cast, "admin")
    admin_user = User.objects.filter(username="admin")
    for change in ({"is_platform_admin": False}, {"is_staff": False}, {"is_active": False}):
        assert client.get(reverse("admin:index")).status_code == 200
        admin_user.update(**change)
        assert client.get(reverse("admin:index")).status_code == 302
        admin_user.update(is_platform_admin=True, is_staff=True, is_active=True)


def test_the_only_door_is_the_consoles_own_sign_in(cast: Cast) -> None:
    stranger = Client()
    answer = stranger.post("/operator/login/", {"username": "admin", "password": PASSWORD})
    assert answer["Location"].startswith("/sign-in/") and "_auth_user_id" not in stranger.session
    assert _client(cast, "owner").get("/operator/login/?next=/operator/").status_code == 403
    assert _client(cast, "admin").get("/operator/password_change/")["Location"] == "/account/password/"


def test_an_admin_reads_and_changes_nothing(cast: Cast) -> None:
    client = _client(cast, "admin")
    before = row_counts()
    for model, address in _pages():
        closed = address.endswith(("/add/", "/delete/"))
        closed |= model in {ApiToken, IdempotencyKey} and address.endswith(("/change/", "/history/"))
        assert client.get(address).status_code == (403 if closed else 200), address
        assert client.post(address, {"_save": "1", "action": "delete_selected"}).status_code in {200, 302, 403, 422}
        assert row_counts() | {"django_session": 0} == before | {"django_session": 0}, (model, address)


# --------------------------------------------------------------------------- secrets


def test_no_page_shows_a_secret(cast: Cast) -> None:
    client = _client(cast, "admin")
    secrets = _secrets()
    for _model, address in _pages():
        answer = client.get(address)
        content = answer.content.decode() if answer.status_code == 200 else ""
        assert not [secret for secret in secrets if secret and secret in content], address


def _questions(model: type[Model]) -> Iterator[str]:
    """Every column of a table and of the tables it points to, asked for by the beginning of its value."""
    for field in model._meta.concrete_fields:
        yield field.name
        if isinstance(field, models.ForeignKey):
            yield from (f"{field.name}__{inner.name}" for inner in field.remote_field.model._meta.concrete_fields)


@pytest.mark.parametrize("ending", ["startswith", "gt", "regex"])
def test_no_list_answers_how_a_hidden_value_begins(cast: Cast, ending: str) -> None:
    client = _client(cast, "admin")
    for model in admin.site._registry:
        for question in _questions(model):
            answer = client.get(_list_of(model), {f"{question}__{ending}": "a"})
            assert answer.status_code == 400, (model, question)


def test_a_nul_in_an_address_or_a_question_is_a_bad_request(cast: Cast) -> None:
    client = _client(cast, "admin")
    addresses = ["/operator/autocomplete/?app_label=accounts&model_name=membership&field_name=user&term=%00"]
    for model, window in admin.site._registry.items():
        addresses += [f"{_list_of(model)}?{name}=%00" for name in ("q", "e", "x%00", *map(str, window.list_filter))]
        addresses += [f"{_list_of(model)}%00/{page}/" for page in ("change", "delete", "history")]
        addresses += [f"{_list_of(model)}%00/remedy/{each.name}/" for each in getattr(window, "remedies", ())]
    assert {address: client.get(address).status_code for address in addresses} == dict.fromkeys(addresses, 400)


@pytest.mark.parametrize("question", ["owner__password__startswith", "owner__auth_token_set__digest__gt", "env"])
def test_a_job_list_says_nothing_of_its_owners(cast: Cast, question: str) -> None:
    assert _client(cast, "admin").get(_list_of(Job), {question: "pbkdf2"}).status_code == 400


def test_no_row_is_named_by_a_hidden_column(cast: Cast) -> None:
    client = _client(cast, "admin")
    for model, column in ((User, "password"), (ApiToken, "token_key"), (UserSession, "session_key"), (Job, "env")):
        assert client.get(_list_of(model), {"_to_field": column}).status_code == 400
    assert client.get(f"{_list_of(User)}{cast.users['admin'].pk}/change/?_to_field=password").status_code == 400


def test_the_filters_at_the_side_work(cast: Cast) -> None:
    team = cast.teams["vision"]
    answer = _client(cast, "admin").get(_list_of(Job), {"state__exact": "queued", "team__id__exact": team.pk})
    assert answer.status_code == 200 and Job.objects.get().public_id in answer.content.decode()


def test_completing_names_gives_names_and_nothing_else(cast: Cast) -> None:
    query = {"app_label": "accounts", "model_name": "membership", "field_name": "user", "term": "eng-vision"}
    answer = _client(cast, "admin").get(reverse("admin:autocomplete"), query)
    assert {row["text"] for row in json.loads(answer.content)["results"]} == {"eng-vision-1", "eng-vision-2"}
    assert _client(cast, "admin").get(reverse("admin:autocomplete"), {**query, "term": "md5"}).json()["results"] == []


# --------------------------------------------------------------------------- breaking the glass


def _row_for(cast: Cast, model: type[Model]) -> Any:
    if model is User:
        return cast.users["eng-vision-1"]
    return Cluster.objects.get(slug="far") if model is Cluster else model._default_manager.first()


DONE: dict[str, tuple[str, Callable[[Cast], bool]]] = {
    "accounts_user disable": ("person.disable", lambda cast: not _fresh(cast).is_active),
    "accounts_user enable": ("person.enable", lambda cast: _fresh(cast).is_active),
    "accounts_user end-sessions": ("sessions.end", lambda cast: not UserSession.objects.exists()),
    "accounts_user remove-second-factor": ("second_factor.remove", lambda cast: not Authenticator.objects.exists()),
    "accounts_apitoken withdraw": ("token.withdraw", lambda cast: not ApiToken.objects.exists()),
    "jobs_job reconcile": ("job.reconcile_now", lambda cast: JobSync.objects.get().due_at <= timezone.now()),
    "jobs_job release-lease": ("job.release_lease", lambda cast: JobSync.objects.get().token == ""),
    "jobs_job cancel": ("job.cancel", lambda cast: Job.objects.get().desired == "cancel"),
    "clusters_cluster look-again": (
        "cluster.look_again",
        lambda cast: Cluster.objects.get(slug="far").rest_until is None,
    ),
}


def _fresh(cast: Cast) -> User:
    return User.objects.get(username="eng-vision-1")


def test_every_remedy_is_tested() -> None:
    assert {f"{_name(window.model)} {remedy.name}" for window, remedy in _remedies()} == set(DONE)


@pytest.mark.parametrize("which", list(DONE))
def test_a_remedy_asks_why_and_is_one_row_of_the_audit_trail(cast: Cast, which: str) -> None:
    action, done = DONE[which]
    window, remedy = next(pair for pair in _remedies() if f"{_name(pair[0].model)} {pair[1].name}" == which)
    later = timezone.now() + timedelta(hours=1)
    JobSync.objects.update(token="t" * 26, lease_until=later, due_at=later)
    Cluster.objects.filter(slug="far").update(rest_until=later)
    if remedy.name == "enable":
        User.objects.filter(username="eng-vision-1").update(is_active=False)
    client = _client(cast, "admin")
    address = window.address_of(remedy, _row_for(cast, window.model))
    before = AuditEvent.objects.count()
    assert client.get(address).status_code == 200
    assert client.post(address, {"because": "  "}).status_code == 422
    assert AuditEvent.objects.count() == before and not done(cast)
    assert client.post(address, {"because": "ticket 4711"}).status_code == 302
    assert done(cast)
    assert AuditEvent.objects.count() == before + 1
    event = AuditEvent.objects.order_by("-pk")[0]
    assert (event.action, event.actor_name, event.detail["because"]) == (action, "admin", "ticket 4711")


def test_what_a_service_refuses_is_said_and_not_done(cast: Cast) -> None:
    window, disable = next(pair for pair in _remedies() if pair[1].name == "disable")
    client = _client(cast, "admin")
    answer = client.post(window.address_of(disable, cast.users["admin"]), {"because": "to see"})
    assert answer.status_code == 422 and "last platform admin" in answer.content.decode()
    assert User.objects.get(username="admin").is_active


def test_a_remedy_for_nothing_is_not_found(cast: Cast) -> None:
    client = _client(cast, "admin")
    for arguments in (["nobody", "disable"], [cast.users["admin"].public_id, "promote"]):
        assert client.get(reverse("admin:accounts_user_remedy", args=arguments)).status_code == 404
    assert client.get(reverse("admin:clusters_cluster_remedy", args=["x", "look-again"])).status_code == 404


def test_the_people_of_the_admin_are_the_platform_admins(cast: Cast) -> None:
    staff = User.objects.filter(is_staff=True)
    assert {user.username for user in staff} == {"admin"}
    assert all(actor_of(user).is_admin for user in staff)
    assert {Team, Membership} <= set(admin.site._registry)
    with pytest.raises(NoReverseMatch):
        reverse("admin:knox_authtoken_changelist")
