"""People, teams, tokens and the audit trail, for reading. Neither passwords nor hashes of tokens are shown."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest

from accounts.models import ApiToken, AuditEvent, Membership, Team, User
from common.admin import ReadOnlyAdmin


@admin.register(User)
class UserAdmin(ReadOnlyAdmin):
    list_display = ("username", "first_name", "is_platform_admin", "is_active", "last_login")
    search_fields = ("username", "first_name")
    exclude = ("password", "groups", "user_permissions")


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
class ApiTokenAdmin(ReadOnlyAdmin):
    """The list only: the address of one token would hold its hash."""

    list_display = ("name", "user", "created", "expiry", "last_used_at")
    list_display_links = None
    list_select_related = ("user",)
    exclude = ("digest", "token_key")

    def has_view_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        return obj is None and super().has_view_permission(request)


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    list_display = ("at", "actor_name", "action", "target_type", "target_id")
    list_filter = ("action",)
    search_fields = ("target_id", "actor_name")
