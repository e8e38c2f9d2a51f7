"""Pages about how one gets in: signing in, password, second factor, sessions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from allauth.account.utils import get_next_redirect_url
from allauth.account.views import LoginView, PasswordChangeView
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import HASH_SESSION_KEY
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import access_services
from accounts.browsers import browser_name
from accounts.selectors import is_linked_to_provider, is_managed_by_provider, must_have_second_factor, sessions_of
from accounts.web import actor_of_page, signed_in


class SignInView(LoginView):
    """User name and password, and the way to the provider where there is one."""

    def get_context_data(self, **options: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**options)
        if settings.OIDC is not None:
            target = get_next_redirect_url(self.request)
            query = f"?{urlencode({'next': target})}" if target else ""
            context |= {"provider": settings.OIDC.name, "provider_url": reverse("oidc_login") + query}
        return context


sign_in = require_http_methods(["GET", "HEAD", "POST"])(SignInView.as_view())
_password_change = PasswordChangeView.as_view()


@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def password_change(request: HttpRequest) -> HttpResponseBase:
    """A new password ends all other sessions. Who signs in elsewhere has none to change."""
    if not actor_of_page(request).user.has_usable_password():
        raise Http404
    response: HttpResponseBase = _password_change(request)
    return response


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One session as its owner sees it."""

    session: UserSession
    browser: str
    system: str
    is_current: bool


@signed_in
@require_safe
def security(request: HttpRequest) -> HttpResponse:
    """How one signs in, and where one is signed in."""
    user = actor_of_page(request).user
    key = request.session.session_key
    if not UserSession.objects.filter(session_key=key).exists():  # a session from before sessions were listed
        UserSession.objects.create_from_request(request)
    rows = [
        SessionRow(session, *browser_name(session.user_agent), session.session_key == key)
        for session in sessions_of(user)
    ]
    factors = {row.type: row for row in Authenticator.objects.filter(user=user)}
    codes = factors.get(Authenticator.Type.RECOVERY_CODES)
    context = {
        "sessions": sorted(rows, key=lambda row: not row.is_current),
        "factor": factors.get(Authenticator.Type.TOTP),
        "codes_left": len(codes.wrap().get_unused_codes()) if codes is not None else 0,
        "factor_is_required": must_have_second_factor(user),
        "provider": settings.OIDC.name if settings.OIDC is not None and is_linked_to_provider(user) else "",
        "teams_are_given": is_managed_by_provider(user),
    }
    return render(request, "accounts/security.html", context)


@signed_in
@require_POST
def session_end(request: HttpRequest, pk: int) -> HttpResponse:
    access_services.session_end(actor=actor_of_page(request), pk=pk)
    messages.success(request, _("The session is ended."))
    return redirect("accounts:security")


@signed_in
@require_POST
def sessions_end_others(request: HttpRequest) -> HttpResponse:
    """This session is told the new hash: all that do not know it are over."""
    key = request.session.session_key or ""
    digest = access_services.sessions_end_others(actor=actor_of_page(request), current_key=key)
    request.session[HASH_SESSION_KEY] = digest
    messages.success(request, _("All other sessions are ended."))
    return redirect("accounts:security")
