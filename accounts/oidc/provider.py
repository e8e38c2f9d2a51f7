"""Talking with the provider: allauth's code flow with PKCE, and every answer checked before it is believed."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jwt
import requests
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.models import SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.base.constants import AuthProcess
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from allauth.utils import build_absolute_uri
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse

from accounts.oidc.config import OidcConfig, safe_address

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures by a key that the provider publishes; never `none`, never one by the client's secret."""
CONNECT_SECONDS, READ_SECONDS = 3, 8
CLOCK_LEEWAY_SECONDS = 60
SUBJECT_MAX = 191
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class Untrusted(OAuth2Error):
    """An answer of the provider that does not hold what the standard demands of it."""


def configured() -> OidcConfig | None:
    config: OidcConfig | None = settings.OIDC
    return config


def app_of(config: OidcConfig) -> SocialApp:
    """The provider in allauth's words. It is never stored: the environment is its only place."""
    return SocialApp(
        provider="openid_connect",
        provider_id=config.key,
        name=config.name,
        client_id=config.client_id,
        secret=config.client_secret,
        settings={"server_url": config.issuer, "oauth_pkce_enabled": True, "scope": list(config.scopes)},
    )


def session_to(config: OidcConfig) -> requests.Session:
    """A session that ends on time and takes neither a proxy nor a password from the environment."""
    session = requests.Session()
    session.trust_env = False
    if config.proxy:
        session.proxies = {"http": config.proxy, "https": config.proxy}
    if config.ca_file:
        session.verify = config.ca_file
    timeout = (CONNECT_SECONDS, READ_SECONDS)
    session.request = functools.partial(session.request, timeout=timeout)  # type: ignore[method-assign]
    return session


@contextmanager
def reading_an_answer() -> Iterator[None]:
    """Whatever the provider sent instead of what it should have sent is an answer that cannot be trusted."""
    try:
        yield
    except requests.RequestException:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Untrusted(f"malformed answer: {type(error).__name__}") from error


class Connection(OpenIDConnectOAuth2Adapter):
    """One sign-in's conversation with the provider."""

    nonce = ""
    _metadata: dict[str, Any] | None = None

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        address: str = build_absolute_uri(request, reverse("oidc_callback"))
        return address

    @property
    def openid_config(self) -> dict[str, Any]:
        """What the provider says of itself, once per conversation. Raises Untrusted, RequestException."""
        if self._metadata is None:
            with reading_an_answer():
                found = super().openid_config
                self._metadata = checked_metadata(found, self.get_provider().app.settings["server_url"])
        return self._metadata

    @property
    def basic_auth(self) -> bool:
        """How the secret is sent: as the provider says, and as the standard says where it does not."""
        methods = self.openid_config.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        return "client_secret_post" not in methods

    def get_access_token_data(
        self, request: HttpRequest, app: SocialApp, client: Any, pkce_code_verifier: str | None = None
    ) -> dict[str, Any]:
        self.nonce = nonce_of(pkce_code_verifier or "")
        with reading_an_answer():
            data: dict[str, Any] = super().get_access_token_data(request, app, client, pkce_code_verifier)
        return data

    def parse_token(self, data: dict[str, Any]) -> SocialToken:
        """The access token, which lives only as long as this conversation."""
        with reading_an_answer():
            return SocialToken(token=str(data["access_token"]))

    def complete_login(self, request: HttpRequest, app: SocialApp, token: SocialToken, **kwargs: Any) -> SocialLogin:
        """Who signs in, with all claims at `claims`. Raises Untrusted, RequestException."""
        with reading_an_answer():
            claims = self._id_token(app, kwargs["response"].get("id_token"))
            if "userinfo_endpoint" in self.openid_config:
                more = self._fetch_user_info(token.token)
                if not isinstance(more, dict) or more.get("sub") != claims["sub"]:
                    raise Untrusted("the user info is about somebody else")
                claims = {**more, **claims}
        login = self.get_provider().sociallogin_from_response(request, claims)
        login.claims = claims
        return login

    def _id_token(self, app: SocialApp, text: object) -> dict[str, Any]:
        """The claims of the ID token: signed by the provider, for us, now, and as the answer to this very question."""
        if not isinstance(text, str):
            raise Untrusted("no ID token")
        try:
            claims: dict[str, Any] = jwt.decode(
                text,
                key=self._key_of(text),
                algorithms=list(ALGORITHMS),
                audience=app.client_id,
                issuer=self.openid_config["issuer"],
                leeway=CLOCK_LEEWAY_SECONDS,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as error:
            raise Untrusted(f"ID token: {type(error).__name__}") from error
        if not self.nonce or claims.get("nonce") != self.nonce:
            raise Untrusted("ID token: not the answer to this question")
        if claims.get("azp", app.client_id) != app.client_id:
            raise Untrusted("ID token: issued to another application")
        if not isinstance(claims["sub"], str) or not 0 < len(claims["sub"]) <= SUBJECT_MAX:
            raise Untrusted("ID token: no usable subject")
        return claims

    def _key_of(self, token: str) -> Any:
        with get_adapter().get_requests_session() as session:
            response = session.get(self.openid_config["jwks_uri"])
            response.raise_for_status()
            keys = jwt.PyJWKSet.from_dict(response.json()).keys
        named = jwt.get_unverified_header(token).get("kid")
        fitting = [key for key in keys if key.key_id == named] if named is not None else keys
        if len(fitting) != 1:
            raise Untrusted("ID token: signed by a key that the provider does not publish")
        return fitting[0]


class Provider(OpenIDConnectProvider):
    """The configured provider. What it learns of a person and keeps is what it is asked for, no more."""

    oauth2_adapter_class = Connection

    def begin(self, request: HttpRequest, next_url: str | None) -> HttpResponseBase:
        """Send the browser to the provider. Nothing of the request but ``next_url`` goes along."""
        response: HttpResponseBase = self.redirect(request, AuthProcess.LOGIN, next_url=next_url)
        return response

    def get_pkce_params(self) -> dict[str, str]:
        """PKCE, and with it the nonce: both bind the answer to the browser that asked."""
        params: dict[str, str] = super().get_pkce_params()
        return {**params, "nonce": nonce_of(params["code_verifier"])}

    def get_callback_url(self) -> str:
        return reverse("oidc_callback")

    def extract_uid(self, data: dict[str, Any]) -> str:
        return str(data["sub"])

    def extract_extra_data(self, data: dict[str, Any]) -> dict[str, Any]:
        return {"iss": data["iss"]}

    def extract_common_fields(self, data: dict[str, Any]) -> dict[str, Any]:
        return {}

    def extract_email_addresses(self, data: dict[str, Any]) -> list[Any]:
        return []


def nonce_of(code_verifier: str) -> str:
    """The nonce that belongs to a PKCE secret, which stays in the session and cannot be told from it."""
    return hashlib.sha256(f"nonce {code_verifier}".encode()).hexdigest()


def checked_metadata(found: object, issuer: str) -> dict[str, Any]:
    """The provider's description of itself, if it is this provider's. Raises Untrusted."""
    if not isinstance(found, dict) or str(found.get("issuer", "")).rstrip("/") != issuer:
        raise Untrusted("the issuer does not say that it is this issuer")
    try:
        for name in ENDPOINTS:
            safe_address(str(found.get(name, "")))
    except ValueError as error:
        raise Untrusted("an address of the provider is missing or not encrypted") from error
    return found
