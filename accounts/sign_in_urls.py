"""Addresses of sign-in, by the names that allauth knows them under. Of its pages only these exist here."""

from __future__ import annotations

from allauth.account import views as account_views
from allauth.mfa.base import views as factor_views
from allauth.mfa.recovery_codes import views as code_views
from allauth.mfa.totp import views as totp_views
from django.urls import path
from django.views.decorators.http import require_http_methods, require_safe
from django.views.generic import RedirectView

from accounts import sign_in_pages as pages
from accounts.oidc import pages as oidc_pages

_form = require_http_methods(["GET", "HEAD", "POST"])

urlpatterns = [
    path("sign-in/", pages.sign_in, name="account_login"),
    path("sign-in/code/", _form(factor_views.authenticate), name="mfa_authenticate"),
    path("sign-in/provider/", oidc_pages.begin, name="oidc_login"),
    path("sign-in/provider/callback/", oidc_pages.callback, name="oidc_callback"),
    path("sign-out/", account_views.logout, name="account_logout"),
    path("account/confirm/", _form(account_views.reauthenticate), name="account_reauthenticate"),
    path("account/confirm/code/", _form(factor_views.reauthenticate), name="mfa_reauthenticate"),
    path("account/password/", pages.password_change, name="account_change_password"),
    path(
        "account/second-factor/",
        require_safe(RedirectView.as_view(pattern_name="accounts:security")),
        name="mfa_index",
    ),
    path("account/second-factor/set-up/", _form(totp_views.activate_totp), name="mfa_activate_totp"),
    path("account/second-factor/remove/", _form(totp_views.deactivate_totp), name="mfa_deactivate_totp"),
    path("account/second-factor/codes/", require_safe(code_views.view_recovery_codes), name="mfa_view_recovery_codes"),
    path(
        "account/second-factor/codes/new/",
        _form(code_views.generate_recovery_codes),
        name="mfa_generate_recovery_codes",
    ),
]
