"""How allauth behaves here: people are added by an admin, nobody signs up, a disabled person is told so."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import qrcode  # type: ignore[import-untyped]
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.login import get_authentication_records
from allauth.account.internal.flows.reauthentication import get_reauthentication_flows
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from qrcode.image.svg import SvgPathFillImage  # type: ignore[import-untyped]

from accounts.models import User
from accounts.selectors import must_have_second_factor
from common.errors import DomainError
from common.secrets import SecretUnreadable, seal, unseal

FRESH_SECONDS = 300
"""So long after signing in at the provider nobody is asked again who they are."""


class AccountAdapter(DefaultAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def respond_user_inactive(self, request: HttpRequest, user: User) -> HttpResponse:
        """Only somebody who knows the password gets here."""
        messages.error(request, _("This account is disabled. Ask a platform admin."))
        return redirect("account_login")

    def post_login(
        self, request: HttpRequest, user: User, *, signal_kwargs: dict[str, Any] | None, **options: Any
    ) -> HttpResponse:
        """A session from the provider is short: its end is when the claim is applied again."""
        response: HttpResponse = super().post_login(request, user, signal_kwargs=signal_kwargs, **options)
        if settings.OIDC is not None and "sociallogin" in (signal_kwargs or {}):
            request.session.set_expiry(timedelta(hours=settings.OIDC.session_hours))
        return response

    def is_reauthentication_required(self, *, app: str, **options: Any) -> bool:
        """Somebody without a password or a second factor shows who they are by signing in at the provider anew."""
        request = self.request
        if request is not None and isinstance(request.user, User) and not get_reauthentication_flows(request.user):
            return not _came_just_now(request, request.user)
        required: bool = super().is_reauthentication_required(app=app, **options)
        return required

    def get_reauthentication_methods(self, user: AbstractBaseUser | AnonymousUser) -> list[dict[str, Any]]:
        """Password or second factor; the provider for people who have neither."""
        methods: list[dict[str, Any]] = super().get_reauthentication_methods(user)
        if not methods and settings.OIDC is not None and isinstance(user, User):
            methods = [{"id": "provider", "description": settings.OIDC.name, "url": reverse("oidc_login")}]
        return methods


def _came_just_now(request: HttpRequest, user: User) -> bool:
    records = [record for record in get_authentication_records(request, user) if record["method"] == "socialaccount"]
    return bool(records) and time.time() - records[-1]["at"] < FRESH_SECONDS


class SecondFactorAdapter(DefaultMFAAdapter):
    """Second factors are sealed at rest, and stay with platform admins who must have one."""

    def encrypt(self, text: str) -> str:
        return seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        """Raises DomainError: with an empty secret instead, anybody could work out the code."""
        try:
            return unseal(encrypted_text)
        except SecretUnreadable as error:
            message = _("This second factor cannot be read any more. Whoever runs this console can remove it.")
            raise DomainError("second_factor_unreadable", message) from error

    def can_delete_authenticator(self, authenticator: Authenticator) -> bool:
        return not must_have_second_factor(authenticator.user)

    def get_totp_label(self, user: User) -> str:
        return user.username

    def build_totp_svg(self, url: str) -> str:
        """Dark on light, whatever the theme: cameras do not read it otherwise."""
        picture: bytes = qrcode.make(url, image_factory=SvgPathFillImage).to_string()
        return picture.decode()
