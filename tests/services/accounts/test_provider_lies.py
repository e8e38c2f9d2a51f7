"""What a provider may answer that must let nobody in, what may come back to us, and a provider that is away."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.test import Client
from django.utils import timezone
from werkzeug.wrappers import Response

from accounts.models import User
from accounts.oidc.provider import session_to
from tests.cast import Cast
from tests.services.accounts.going_in import (
    SILENT,
    STALE,
    UNTRUSTED,
    begin,
    go_back,
    is_in,
    sign_in,
    told,
)
from tests.services.accounts.provider import FakeProvider

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:authlib")  # of the provider, in its thread


@pytest.fixture
def cast(standing_cast: Cast) -> Cast:
    return standing_cast


LIES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "another nonce": lambda claims: {**claims, "nonce": "of another question"},
    "no nonce": lambda claims: {name: value for name, value in claims.items() if name != "nonce"},
    "another issuer": lambda claims: {**claims, "iss": "https://other.example"},
    "another audience": lambda claims: {**claims, "aud": ["somebody else"]},
    "issued to another application": lambda claims: {**claims, "azp": "somebody else"},
    "expired": lambda claims: {**claims, "exp": int(time.time()) - 3600},
    "without an end": lambda claims: {name: value for name, value in claims.items() if name != "exp"},
    "from the future": lambda claims: {**claims, "iat": int(time.time()) + 3600},
    "another subject than the user info": lambda claims: {**claims, "sub": "somebody else"},
    "an endless subject": lambda claims: {**claims, "sub": "x" * 500},
}


@pytest.mark.parametrize("lie", list(LIES))
def test_a_token_that_is_not_what_it_must_be_lets_nobody_in(cast: Cast, provider: FakeProvider, lie: str) -> None:
    provider.person("mei", groups="ml-vision")
    provider.change_token = LIES[lie]
    client = sign_in(provider, "mei")
    assert not is_in(client) and UNTRUSTED in told(client)
    assert not User.objects.filter(username="mei").exists()


def test_a_token_signed_by_a_strangers_key_lets_nobody_in(cast: Cast, provider: FakeProvider) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    provider.signing_key = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    provider.person("mei", groups="ml-vision")
    client = sign_in(provider, "mei")
    assert not is_in(client) and UNTRUSTED in told(client)


def _answer(body: object, status: int = 200) -> Callable[[], Response]:
    text = body if isinstance(body, str) else json.dumps(body)
    return lambda: Response(text, status, content_type="application/json")


BROKEN = {
    "the token: an error": ("/oauth2/token", _answer({"error": "server_error"}, 500), UNTRUSTED),
    "the token: no JSON": ("/oauth2/token", _answer("<html>"), SILENT),
    "the token: a list": ("/oauth2/token", _answer([1]), UNTRUSTED),
    "the token: no ID token": ("/oauth2/token", _answer({"access_token": "a"}), UNTRUSTED),
    "the token: no JWT": ("/oauth2/token", _answer({"access_token": "a", "id_token": "a.b"}), UNTRUSTED),
    "the token: a number": ("/oauth2/token", _answer({"access_token": "a", "id_token": 7}), UNTRUSTED),
    "the keys: an error": ("/jwks", _answer("{}", 503), SILENT),
    "the keys: none": ("/jwks", _answer({"keys": []}), UNTRUSTED),
    "the keys: a list": ("/jwks", _answer([]), UNTRUSTED),
    "the user info: an error": ("/userinfo", _answer("{}", 401), SILENT),
    "the user info: a list": ("/userinfo", _answer([]), UNTRUSTED),
    "the user info: no JSON": ("/userinfo", _answer("<html>"), SILENT),
}


@pytest.mark.parametrize("how", list(BROKEN))
def test_a_broken_answer_is_one_clear_sentence(cast: Cast, provider: FakeProvider, how: str) -> None:
    path, answer, sentence = BROKEN[how]
    provider.person("mei", groups="ml-vision")
    client = Client(headers={"accept-language": "en"})
    back = provider.agree(begin(client), "mei")
    provider.answers[path] = answer
    assert go_back(client, back).status_code == 302
    assert not is_in(client) and sentence in told(client)


DISCOVERY = "/.well-known/openid-configuration"
DESCRIPTIONS: dict[str, tuple[object, int, str]] = {
    "an error": ({}, 503, SILENT),
    "no JSON": ("<html>", 200, SILENT),
    "a list": ([], 200, UNTRUSTED),
    "empty": ({}, 200, UNTRUSTED),
    "another issuer": ({"issuer": "https://other.example"}, 200, UNTRUSTED),
}


@pytest.mark.parametrize("how", list(DESCRIPTIONS))
def test_a_provider_that_cannot_say_who_it_is_is_not_gone_to(cast: Cast, provider: FakeProvider, how: str) -> None:
    body, status, sentence = DESCRIPTIONS[how]
    provider.answers[DISCOVERY] = _answer(body, status)
    client = Client(headers={"accept-language": "en"})
    assert client.get("/sign-in/provider/")["Location"] == "/sign-in/"
    assert sentence in told(client)


def test_a_provider_whose_other_addresses_are_not_encrypted_is_not_gone_to(cast: Cast, provider: FakeProvider) -> None:
    names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
    good = {"issuer": provider.address, **{name: f"{provider.address}/{name}" for name in names}}
    for name in names:
        provider.answers[DISCOVERY] = _answer({**good, name: "http://id.example/x"})
        client = Client(headers={"accept-language": "en"})
        assert client.get("/sign-in/provider/")["Location"] == "/sign-in/" and UNTRUSTED in told(client)


def test_a_provider_that_is_away_is_said_to_be_away(cast: Cast, provider: FakeProvider, settings: Any) -> None:
    client = Client(headers={"accept-language": "en"})
    provider.person("mei", groups="ml-vision")
    back = provider.agree(begin(client), "mei")
    settings.OIDC = provider.config(issuer="http://127.0.0.1:9")
    early = Client(headers={"accept-language": "en"})
    assert early.get("/sign-in/provider/")["Location"] == "/sign-in/" and SILENT in told(early)
    settings.OIDC = provider.config()
    provider.answers["/oauth2/token"] = lambda: (_ for _ in ()).throw(ConnectionResetError())
    assert go_back(client, back).status_code == 302
    assert not is_in(client) and (SILENT in (page := told(client)) or UNTRUSTED in page)


@pytest.mark.parametrize(
    "query", ["", "code=a", "state=a", "code=a&state=b", "code=&state=", "code=%00&state=%00", "error=server_error"]
)
def test_an_answer_to_no_question_is_refused(cast: Cast, provider: FakeProvider, query: str) -> None:
    client = Client(headers={"accept-language": "en"})
    assert client.get(f"/sign-in/provider/callback/?{query}")["Location"] == "/sign-in/"
    assert STALE in told(client) and not is_in(client)


def test_an_answer_is_good_in_the_browser_that_asked_and_once(cast: Cast, provider: FakeProvider) -> None:
    provider.person("mei", groups="ml-vision")
    asked, other = Client(headers={"accept-language": "en"}), Client(headers={"accept-language": "en"})
    back = provider.agree(begin(asked), "mei")
    begin(other)
    go_back(other, back)
    assert not is_in(other) and STALE in told(other)
    go_back(asked, back)
    assert is_in(asked)
    asked.post("/sign-out/")
    go_back(asked, back)
    assert not is_in(asked)


def test_a_code_of_somebody_elses_sign_in_is_of_no_use(cast: Cast, provider: FakeProvider) -> None:
    """The state is one's own, the code a stranger's: the provider asks for the secret behind the challenge."""
    provider.person("mei", groups="ml-vision")
    theirs, mine = Client(), Client(headers={"accept-language": "en"})
    stolen = parse_qs(urlsplit(provider.agree(begin(theirs), "mei")).query)["code"][0]
    state = parse_qs(urlsplit(begin(mine)).query)["state"][0]
    mine.get("/sign-in/provider/callback/", {"code": stolen, "state": state})
    assert not is_in(mine) and UNTRUSTED in told(mine)


def test_a_sign_in_that_took_too_long_starts_again(cast: Cast, provider: FakeProvider) -> None:
    provider.person("mei", groups="ml-vision")
    client = Client(headers={"accept-language": "en"})
    back = provider.agree(begin(client), "mei")
    with time_machine.travel(timezone.now() + timedelta(minutes=11)):
        go_back(client, back)
        assert not is_in(client) and STALE in told(client)


def test_who_says_no_at_the_provider_is_back_at_the_page(cast: Cast, provider: FakeProvider) -> None:
    client = Client(headers={"accept-language": "en"})
    state = parse_qs(urlsplit(begin(client)).query)["state"][0]
    client.get("/sign-in/provider/callback/", {"error": "access_denied", "state": state})
    assert "The sign-in was cancelled at Example ID." in told(client)


def test_a_flood_of_attempts_is_answered_429(cast: Cast, provider: FakeProvider) -> None:
    provider.answers[DISCOVERY] = _answer({}, 503)
    with time_machine.travel(timezone.now(), tick=False):
        statuses = [Client(REMOTE_ADDR="192.0.2.8").get("/sign-in/provider/").status_code for _ in range(62)]
    assert statuses[0] == 302 and statuses[-1] == 429


def test_no_proxy_of_the_environment_and_no_endless_wait(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with session_to(provider.config()) as session:
        assert session.get(provider.address + DISCOVERY).status_code == 200
        assert session.request.keywords["timeout"] == (3, 8)  # type: ignore[attr-defined]
    with session_to(provider.config(proxy="http://proxy.example:3128")) as session:
        assert session.proxies["https"] == "http://proxy.example:3128"


def test_neither_the_secret_nor_a_token_is_written_down(
    cast: Cast, provider: FakeProvider, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.person("mei", groups="ml-vision")
    provider.change_token = LIES["expired"]
    client = sign_in(provider, "mei")
    provider.change_token = None
    sign_in(provider, "mei", client=client)
    assert "not told to anybody" not in repr(provider.config())
    spoken = caplog.text + str(capsys.readouterr())
    assert "not told to anybody" not in spoken and "eyJ" not in spoken
    stored = str(client.session.items()) + str(User.objects.get(username="mei").socialaccount_set.values())
    assert "eyJ" not in stored and "ml-vision" not in stored
