"""People, teams, sign-in and the audit trail, for operators. No password, hash, secret or session key is shown."""

from __future__ import annotations

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts import access_services as access
from accounts.models import ApiToken, AuditEvent, Membership, Team, User
from accounts.operators import OperatorAdmin, Remedy
from common.admin import ReadOnlyAdmin


@admin.register(User)
class UserAdmin(OperatorAdmin):
    list_display = ("username", "first_name", "is_platform_admin", "is_active", "last_login")
    list_filter = ("is_active", "is_platform_admin")
    search_fields = ("username", "first_name")
    ordering = ("username",)
    exclude = ("password", "groups", "user_permissions", "session_generation")
    reference = "public_id"
    remedies = (
        Remedy(
            "disable",
            _("Disable"),
            _("The person is out at once: no sign-in, every session over, every token gone. Jobs go on."),
            lambda actor, user: access.person_disable(actor=actor, user=user),
        ),
        Remedy(
            "enable",
            _("Enable"),
            _("The person may sign in again. Old sessions and tokens stay dead."),
            lambda actor, user: access.person_enable(actor=actor, user=user),
        ),
        Remedy(
            "end-sessions",
            _("End sessions"),
            _("The person is signed out everywhere and has to sign in again. Tokens go on."),
            lambda actor, user: access.sessions_end(actor=actor, user=user),
        ),
        Remedy(
            "remove-second-factor",
            _("Remove second factor"),
            _("The second factor and its recovery codes go, and the person is signed out. Be sure who asked for it."),
            lambda actor, user: access.second_factor_remove(actor=actor, user=user),
        ),
    )


@admin.register(Team)
class TeamAdmin(ReadOnlyAdmin):
    list_display = ("name", "slug", "space", "archived_at")
    search_fields = ("name", "slug")


@admin.register(Membership)
class MembershipAdmin(ReadOnlyAdmin):
    list_display = ("user", "team", "role", "created_at")
    list_filter = ("role", "team")
    list_select_related = ("user", "team")


@admin.register(ApiToken)
class ApiTokenAdmin(OperatorAdmin):
    """The list only: the address of one token would hold its hash."""

    list_display = ("name", "user", "created", "expiry", "last_used_at")
    list_display_links = None
    list_select_related = ("user",)
    exclude = ("digest", "token_key")
    reference = "public_id"
    remedies = (
        Remedy(
            "withdraw",
            _("Revoke"),
            _("The token is refused from the next request on. Whatever uses it stops working."),
            lambda actor, token: access.token_withdraw(actor=actor, token=token),
        ),
    )

    def has_view_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        return obj is None and super().has_view_permission(request)


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    list_display = ("at", "actor_name", "action", "target_type", "target_id")
    list_filter = ("action",)
    search_fields = ("target_id", "actor_name")


@admin.register(Authenticator)
class AuthenticatorAdmin(ReadOnlyAdmin):
    """That somebody has a second factor, and since when."""

    list_display = ("user", "type", "created_at", "last_used_at")
    list_select_related = ("user",)
    exclude = ("data",)


@admin.register(SocialAccount)
class SocialAccountAdmin(ReadOnlyAdmin):
    """Who is linked to whom at the sign-in provider."""

    list_display = ("user", "provider", "uid", "date_joined", "last_login")
    list_select_related = ("user",)
    search_fields = ("user__username", "uid")


@admin.register(UserSession)
class UserSessionAdmin(ReadOnlyAdmin):
    """Where people are signed in. The key of a session is as good as a password and is not shown."""

    list_display = ("user", "user_agent", "ip", "created_at", "last_seen_at")
    list_select_related = ("user",)
    search_fields = ("user__username",)
    exclude = ("session_key",)
