"""How allauth behaves here: people are added by an admin, nobody signs up, a disabled person is told so."""

from __future__ import annotations

from allauth.account.adapter import DefaultAccountAdapter
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from accounts.models import User


class AccountAdapter(DefaultAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def respond_user_inactive(self, request: HttpRequest, user: User) -> HttpResponse:
        """Only somebody who knows the password gets here."""
        messages.error(request, _("This account is disabled. Ask a platform admin."))
        return redirect("account_login")
