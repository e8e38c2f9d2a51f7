"""Everything that a page can change, a script can change: each page that takes a POST has its API operation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.urls import URLPattern, URLResolver, get_resolver

ROOT = Path(__file__).resolve().parents[2]

API_OF_PAGE: dict[str, tuple[str, ...]] = {
    "accounts:language": ("me_edit",),
    "accounts:tokens": ("tokens_create",),
    "accounts:token_revoke": ("tokens_revoke",),
    "admin_console:accelerators": ("accelerator_name", "accelerator_forget"),
    "admin_console:clusters": ("clusters_connect",),
    "admin_console:groups": ("node_group_confirm",),
    "admin_console:group": ("node_group_edit", "node_group_confirm", "node_group_aside", "node_group_back"),
    "admin_console:cluster_credentials": ("clusters_credentials",),
    "admin_console:cluster_forget": ("clusters_forget",),
    "admin_console:equal_shares": ("shares_set",),
    "admin_console:member_remove": ("members_remove",),
    "admin_console:member_set": ("members_set",),
    "admin_console:people_add": ("people_create",),
    "admin_console:maintenance": ("maintenance_plan",),
    "admin_console:maintenance_cancel": ("maintenance_cancel",),
    "admin_console:node_act": ("node_cordon", "node_uncordon", "node_trust"),
    "admin_console:notice_seen": ("notice_seen",),
    "admin_console:preflight": ("cluster_preflight_ask",),
    "admin_console:take_over": ("quota_plan_take_over",),
    "admin_console:adopt": ("quota_plan_adopt",),
    "admin_console:adoption": ("found_queues_look", "found_queues_adopt"),
    "admin_console:manage": ("cluster_mode_set",),
    "admin_console:stop_managing": ("cluster_mode_set",),
    "admin_console:plan": ("quota_plan_save",),
    "admin_console:sharing": ("sharing_save",),
    "admin_console:plan_recount": ("quota_plan_recount",),
    "admin_console:plan_restore": ("quota_plan_restore",),
    "admin_console:team_add": ("teams_create",),
    "admin_console:supplies": (
        "variables_set",
        "variables_drop",
        "registry_set",
        "registry_drop",
        "dataset_set",
        "dataset_remove",
        "storage_set",
        "rules_set",
    ),
    "team:queues": (
        "queues_create",
        "queues_change",
        "queues_hold",
        "queues_drain",
        "queues_reopen",
        "queues_close",
    ),
    "team:supplies": ("variables_set", "variables_drop", "registry_set", "registry_drop"),
    "jobs:bulk": ("jobs_operate_many",),
    "jobs:operate": (
        "jobs_cancel",
        "jobs_restart",
        "jobs_hold",
        "jobs_resume",
        "jobs_preempt",
        "jobs_requeue",
        "jobs_priority",
    ),
    "jobs:submit": ("jobs_submit",),
}
NOT_OURS = {
    "account_change_password",
    "account_login",
    "account_logout",
    "account_reauthenticate",
    "accounts:session_end",
    "accounts:sessions_end_others",
    "mfa_activate_totp",
    "mfa_authenticate",
    "mfa_deactivate_totp",
    "mfa_generate_recovery_codes",
    "mfa_index",
    "mfa_reauthenticate",
    "mfa_view_recovery_codes",
}
"""Sessions of a browser and what opens them; a script has tokens instead."""
NO_PAGES = ("api", "admin")  # the API itself, and Django's own admin, which is read-only
READING = {"GET", "HEAD", "OPTIONS"}


def pages(patterns: list[Any] | None = None, space: str = "") -> Iterator[tuple[str, Callable[..., Any]]]:
    """(name, view) of every address that is a page."""
    for entry in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(entry, URLResolver):
            if entry.namespace not in NO_PAGES:
                yield from pages(entry.url_patterns, f"{entry.namespace}:" if entry.namespace else space)
        elif isinstance(entry, URLPattern):
            yield f"{space}{entry.name}", entry.callback


def methods_of(view: Callable[..., Any]) -> set[str] | None:
    """What a view's `require_…` decorator lets through, None without one."""
    layer: Any = view
    while layer is not None:
        if "request_method_list" in (names := inspect.getclosurevars(layer).nonlocals):
            return set(names["request_method_list"])
        layer = getattr(layer, "__wrapped__", None)
    return None


OURS = [(name, view) for name, view in pages() if name not in NOT_OURS]


def test_there_are_pages() -> None:
    assert len(OURS) > 20
    assert len({name for name, _ in OURS}) == len(OURS)


@pytest.mark.parametrize(("name", "view"), [pytest.param(*page, id=page[0]) for page in OURS])
def test_every_page_says_which_methods_it_takes(name: str, view: Callable[..., Any]) -> None:
    assert methods_of(view), f"{name} takes any method: limit it with require_safe or the like"


def test_every_page_that_changes_something_has_its_api_operation() -> None:
    changing = {name for name, view in OURS if (methods_of(view) or set()) - READING}
    assert changing == set(API_OF_PAGE)
    assert {operation for operations in API_OF_PAGE.values() for operation in operations} <= operations_of_api()


def operations_of_api() -> set[str]:
    """Names of all operations that the checked-in document describes as changing something."""
    document = yaml.safe_load((ROOT / "docs" / "openapi.yaml").read_text(encoding="utf-8"))
    return {
        operation["operationId"]
        for methods in document["paths"].values()
        for method, operation in methods.items()
        if method in {"post", "put", "patch", "delete"}
    }
