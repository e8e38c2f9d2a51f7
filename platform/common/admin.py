"""Django's own admin as a window: platform admins may read, nobody may change anything there.

What a library registers of its own accord is left out: only windows that know what not to show are let in.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import BadRequest, PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

V = TypeVar("V", bound=Callable[..., Any])

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _ModelAdmin = admin.ModelAdmin  # takes no parameters when it runs


class ReadOnlyAdmin(_ModelAdmin):
    """No adding, changing or deleting: changes go through services, which check and keep the audit trail."""

    actions = None  # they would need a box with the key of each row, and a key may be a secret

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_operator(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_operator(request)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        """Only the filters at the side. Any other question, such as how a password's hash begins, would be answered."""
        named = {name for name in self.list_filter if isinstance(name, str)}
        ends = ("", "__exact", "__id__exact", "__isnull")
        return lookup in {f"{name}{end}" for name in named for end in ends}


class OperatorSite(admin.AdminSite):
    """Sign-in, sign-out and passwords are the console's own: here nobody gets past a limit or a second factor."""

    site_title = site_header = "Sluice"
    site_url = "/"

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        if admin_class is not None and issubclass(admin_class, ReadOnlyAdmin):
            super().register(model_or_iterable, admin_class, **options)

    def has_permission(self, request: HttpRequest) -> bool:
        return is_operator(request)

    def admin_view(self, view: V, cacheable: bool = False) -> V:
        """What no column can hold is asked of none: PostgreSQL would break over it."""

        @wraps(view)
        def asked(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            given = [text for name, values in request.GET.lists() for text in (name, *values)]
            if any("\x00" in text for text in (request.path, *given)):
                raise BadRequest
            return view(request, *args, **kwargs)

        return cast(V, super().admin_view(asked, cacheable))

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if self.has_permission(request):
            return redirect("admin:index")
        if request.user.is_authenticated:
            raise PermissionDenied
        return redirect_to_login(request.GET.get("next") or reverse("admin:index"))

    def logout(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:  # type: ignore[override]
        return redirect("account_logout")

    def password_change(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:  # type: ignore[override]
        return redirect("account_change_password")


def is_operator(request: HttpRequest) -> bool:
    """An active platform admin. Django's flag for its admin alone opens nothing, nor does its superuser."""
    user: Any = request.user
    return bool(user.is_active and user.is_staff and getattr(user, "is_platform_admin", False))
