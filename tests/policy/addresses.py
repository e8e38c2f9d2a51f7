"""The matrix: what each kind of person gets from each address and method. Data only.

Columns: a stranger, the owner, a colleague of the same team, an engineer of another team, the team's lead, another
team's lead, a platform admin. The things asked about belong to the owner and to the team Vision.
"""

from __future__ import annotations

from typing import Any, NamedTuple

ACTORS = {
    "stranger": None,
    "owner": "eng-vision-1",
    "colleague": "eng-vision-2",
    "other engineer": "eng-language-1",
    "lead": "lead-vision",
    "other lead": "lead-language",
    "admin": "admin",
}


class Row(NamedTuple):
    """Statuses in the order of ACTORS. ``job``: the state the job is brought to first."""

    statuses: tuple[int, ...]
    body: dict[str, Any] = {}
    job: str = "queued"
    hidden: bool = False  # 404 of a foreign thing must read like that of a missing one


def row(
    stranger: int, owner: int, colleague: int, engineer: int, lead: int, other_lead: int, admin: int
) -> tuple[int, ...]:
    return (stranger, owner, colleague, engineer, lead, other_lead, admin)


def everybody(status: int) -> tuple[int, ...]:
    return (status,) * len(ACTORS)


def signed_in(stranger: int, status: int) -> tuple[int, ...]:
    return (stranger,) + (status,) * (len(ACTORS) - 1)


def admins(stranger: int, status: int) -> tuple[int, ...]:
    return (stranger, 403, 403, 403, 403, 403, status)


TEAM_SEES = row(302, 200, 200, 404, 200, 404, 200)
TEAM_SEES_API = row(401, 200, 200, 404, 200, 404, 200)
OWNER_ACTS = row(302, 302, 403, 404, 302, 404, 302)
OWNER_ACTS_API = row(401, 200, 403, 404, 200, 404, 200)
LEAD_ACTS_API = row(401, 403, 403, 404, 200, 404, 200)

SOON = "in ten minutes"
"""Stands for that moment of the day on which the question is asked."""
SUBMIT = {"framework": "pytorch", "image": "registry.example/bert:1", "cards": 1, "priority": "normal"}

STORE_VARIABLES = {"act": "variables", "variables-name": "wandb", "variables-values": "A=1"}
LEADS_SET_API = row(401, 403, 403, 404, 200, 404, 200)
LEADS_DROP_API = row(401, 403, 403, 404, 204, 404, 204)
ADMINS_SET_API = row(401, 403, 403, 404, 403, 404, 200)
ADMINS_DROP_API = row(401, 403, 403, 404, 403, 404, 204)
SIGN_IN = {"server": "registry.example", "username": "robot", "password": "x"}

MATRIX: dict[str, dict[str, Row]] = {
    "home": {"GET": Row(row(302, 302, 302, 302, 302, 302, 302))},
    "healthz": {"GET": Row(everybody(200))},
    "readyz": {"GET": Row(everybody(200))},
    "account_login": {
        "GET": Row(row(200, 302, 302, 302, 302, 302, 302)),
        "POST": Row(row(200, 302, 302, 302, 302, 302, 302)),
    },
    "account_logout": {"GET": Row(signed_in(302, 200)), "POST": Row(everybody(302))},
    "mfa_authenticate": {"GET": Row(everybody(302)), "POST": Row(everybody(302))},
    "oidc_login": {"GET": Row(everybody(404))},  # no provider is configured
    "oidc_callback": {"GET": Row(everybody(404))},
    "account_reauthenticate": {"GET": Row(signed_in(302, 200)), "POST": Row(signed_in(302, 200))},
    "mfa_reauthenticate": {"GET": Row(everybody(302)), "POST": Row(everybody(302))},  # to the password
    "account_change_password": {"GET": Row(signed_in(302, 200)), "POST": Row(signed_in(302, 200))},
    "mfa_index": {"GET": Row(everybody(302))},
    "mfa_activate_totp": {"GET": Row(everybody(302)), "POST": Row(everybody(302))},  # is it you?
    "mfa_deactivate_totp": {"GET": Row(signed_in(302, 404)), "POST": Row(signed_in(302, 404))},  # there is none
    "mfa_view_recovery_codes": {"GET": Row(signed_in(302, 404))},
    "mfa_generate_recovery_codes": {"GET": Row(everybody(302)), "POST": Row(everybody(302))},
    "accounts:security": {"GET": Row(signed_in(302, 200))},
    "accounts:session_end": {"POST": Row(row(302, 302, 404, 404, 404, 404, 404), hidden=True)},
    "accounts:sessions_end_others": {"POST": Row(everybody(302))},
    "accounts:language": {"POST": Row(everybody(302), {"language": "en"})},
    "accounts:tokens": {
        "GET": Row(signed_in(302, 200)),
        "POST": Row(signed_in(302, 200), {"name": "script", "days": 9}),
    },
    "accounts:token_revoke": {"POST": Row(row(302, 302, 404, 404, 404, 404, 404), hidden=True)},
    "jobs:list": {"GET": Row(signed_in(302, 200))},
    "jobs:submit": {
        "GET": Row(signed_in(302, 200)),
        "POST": Row(row(302, 302, 302, 302, 302, 302, 422), {**SUBMIT, "cards": "1"}),
    },
    "jobs:preview": {"GET": Row(signed_in(302, 200))},
    "jobs:bulk": {
        "GET": Row(everybody(302)),
        "POST": Row(signed_in(302, 200), {"operation": "cancel", "ids": ["nobody's"]}),
    },
    "jobs:detail": {"GET": Row(TEAM_SEES, hidden=True)},
    "jobs:logs": {"GET": Row(TEAM_SEES, hidden=True)},
    "jobs:log_file": {"GET": Row(TEAM_SEES, hidden=True)},
    "jobs:operate": {
        "GET": Row(row(302, 200, 403, 404, 200, 404, 200), hidden=True),
        "POST": Row(OWNER_ACTS, hidden=True),
    },
    "team:overview": {"GET": Row(row(302, 403, 403, 404, 200, 404, 404), hidden=True)},
    "team:jobs": {"GET": Row(row(302, 403, 403, 404, 200, 404, 404), hidden=True)},
    "team:queues": {
        "GET": Row(row(302, 403, 403, 404, 200, 404, 404), hidden=True),
        "POST": Row(row(302, 403, 403, 404, 302, 404, 404), {"new-name": "Night shift"}, hidden=True),
    },
    "team:supplies": {
        "GET": Row(row(302, 403, 403, 404, 200, 404, 404), hidden=True),
        "POST": Row(row(302, 403, 403, 404, 302, 404, 404), STORE_VARIABLES, hidden=True),
    },
    "admin_console:supplies": {
        "GET": Row(admins(302, 200)),
        "POST": Row(admins(302, 302), {"act": "storage", "storage-volume": "team-files"}),
    },
    "admin_console:water": {"GET": Row(admins(302, 200))},
    "admin_console:idle": {"GET": Row(admins(302, 200))},
    "admin_console:groups": {"GET": Row(admins(302, 200)), "POST": Row(admins(302, 302))},
    "admin_console:group": {
        "GET": Row(admins(302, 200)),
        "POST": Row(admins(302, 302), {"act": "save", "version": 0, "title": "Fresh", "labels": "pool=fresh"}),
    },
    "admin_console:accelerators": {
        "GET": Row(admins(302, 200)),
        "POST": Row(admins(302, 302), {"resource": "example.com/tpu", "vendor": "example", "card_model": "TPU"}),
    },
    "admin_console:maintenance": {"GET": Row(admins(302, 200)), "POST": Row(admins(302, 422), {"reason": "a fan"})},
    "admin_console:maintenance_cancel": {"POST": Row(admins(302, 302))},
    "admin_console:nodes": {"GET": Row(admins(302, 200))},
    "admin_console:node_act": {"GET": Row(admins(302, 200)), "POST": Row(admins(302, 302), {"reason": "a fan"})},
    "admin_console:clusters": {
        "GET": Row(admins(302, 200)),
        "POST": Row(admins(302, 422), {"name": "Big Blue"}),
    },
    "admin_console:cluster_credentials": {
        "GET": Row(admins(302, 200)),
        "POST": Row(admins(302, 422), {"context": "main"}),
    },
    "admin_console:cluster_forget": {"GET": Row(admins(302, 200)), "POST": Row(admins(302, 302))},
    "admin_console:adoption": {"GET": Row(admins(302, 200)), "POST": Row(admins(302, 422))},
    "admin_console:manage": {"GET": Row(admins(302, 200)), "POST": Row(admins(302, 409))},
    "admin_console:stop_managing": {"GET": Row(admins(302, 200)), "POST": Row(admins(302, 302))},
    "admin_console:preflight": {"GET": Row(admins(302, 200)), "POST": Row(admins(302, 302))},
    "admin_console:conflicts": {"GET": Row(admins(302, 200))},
    "admin_console:take_over": {"GET": Row(admins(302, 200)), "POST": Row(admins(302, 302))},
    "admin_console:adopt": {"GET": Row(admins(302, 200)), "POST": Row(admins(302, 422))},
    "admin_console:notice_seen": {"POST": Row(admins(302, 302))},
    "admin_console:queues": {"GET": Row(admins(302, 200))},
    "admin_console:quotas": {"GET": Row(admins(302, 200))},
    "admin_console:sharing": {"GET": Row(admins(302, 200)), "POST": Row(admins(302, 422), {"slowdown": "0.5"})},
    "admin_console:plan": {"GET": Row(admins(302, 200)), "POST": Row(admins(302, 422), {"act": "save"})},
    "admin_console:plan_history": {"GET": Row(admins(302, 200))},
    "admin_console:plan_restore": {"GET": Row(admins(302, 200)), "POST": Row(admins(302, 422))},
    "admin_console:plan_recount": {"GET": Row(admins(302, 200)), "POST": Row(admins(302, 422))},
    "admin_console:equal_shares": {"POST": Row(admins(302, 302))},
    "admin_console:jobs": {"GET": Row(admins(302, 200))},
    "admin_console:setup": {"GET": Row(admins(302, 200))},
    "admin_console:team_add": {"POST": Row(admins(302, 302), {"team-name": "Speech"})},
    "admin_console:people_add": {
        "POST": Row(admins(302, 200), {"person-username": "new", "person-team": "vision", "person-role": "lead"}),
    },
    "admin_console:member_set": {
        "POST": Row(
            admins(302, 302), {"member-username": "eng-vision-2", "member-team": "vision", "member-role": "lead"}
        ),
    },
    "admin_console:member_remove": {"POST": Row(admins(302, 302))},
    "admin_console:audit": {"GET": Row(admins(302, 200))},
    "api:jobs": {
        "GET": Row(signed_in(401, 200)),
        "POST": Row(row(401, 201, 201, 201, 201, 201, 400), SUBMIT),
    },
    "api:jobs-bulk": {"POST": Row(row(401, 201, 201, 201, 201, 201, 400), {"jobs": [SUBMIT]})},
    "api:jobs-bulk-operate": {"POST": Row(signed_in(401, 200), {"operation": "cancel", "ids": ["nobody's"]})},
    "api:job": {"GET": Row(TEAM_SEES_API, hidden=True)},
    "api:job-cancel": {"POST": Row(OWNER_ACTS_API, hidden=True)},
    "api:job-restart": {"POST": Row(OWNER_ACTS_API, job="failed", hidden=True)},
    "api:job-hold": {"POST": Row(OWNER_ACTS_API, hidden=True)},
    "api:job-resume": {"POST": Row(OWNER_ACTS_API, job="held", hidden=True)},
    "api:job-preempt": {"POST": Row(LEAD_ACTS_API, {"until": SOON}, job="running", hidden=True)},
    "api:job-requeue": {"POST": Row(OWNER_ACTS_API, hidden=True)},
    "api:job-priority": {"POST": Row(OWNER_ACTS_API, {"priority": "low"}, hidden=True)},
    "api:job-scale": {"POST": Row(row(401, 409, 403, 404, 409, 404, 409), {"replicas": 2}, hidden=True)},  # no service
    "api:job-timeline": {"GET": Row(TEAM_SEES_API, hidden=True)},
    "api:job-logs": {"GET": Row(TEAM_SEES_API, hidden=True)},
    "api:job-log": {"GET": Row(TEAM_SEES_API, hidden=True)},
    "api:quotas": {"GET": Row(signed_in(401, 200))},
    "api:queues": {
        "GET": Row(signed_in(401, 200)),
        "POST": Row(row(401, 403, 403, 404, 201, 404, 201), {"queue": "vision", "name": "Day"}),
    },
    "api:queue": {
        "PATCH": Row(LEAD_ACTS_API, {"weight": 2}, hidden=True),
        "DELETE": Row(LEAD_ACTS_API, hidden=True),
    },
    "api:queue-hold": {"POST": Row(LEAD_ACTS_API, {"reason": "Maintenance"}, hidden=True)},
    "api:queue-drain": {"POST": Row(LEAD_ACTS_API, {"reason": "The project is over"}, hidden=True)},
    "api:queue-reopen": {"POST": Row(LEAD_ACTS_API, hidden=True)},
    "api:quotas-of-queue": {"GET": Row(TEAM_SEES_API, hidden=True)},
    "api:quotas-of-local-queue": {"GET": Row(TEAM_SEES_API, hidden=True)},
    "api:clusters": {"GET": Row(admins(401, 200)), "POST": Row(admins(401, 400), {"name": "Big Blue"})},
    "api:cluster": {"GET": Row(admins(401, 200)), "DELETE": Row(admins(401, 204))},
    "api:cluster-credentials": {"PUT": Row(admins(401, 400), {"runtime": "no kubeconfig"})},
    "api:cluster-mode": {"PUT": Row(admins(401, 409), {"mode": "managing"})},
    "api:found-queues": {"GET": Row(admins(401, 200))},
    "api:found-queues-look": {"POST": Row(admins(401, 409))},
    "api:found-queues-adopt": {"POST": Row(admins(401, 409), {"queues": {}, "expected_version": 0})},
    "api:cluster-preflight": {"GET": Row(admins(401, 200)), "POST": Row(admins(401, 202))},
    "api:water-level": {"GET": Row(admins(401, 200))},
    "api:water-level-history": {"GET": Row(admins(401, 200))},
    "api:node-groups": {"GET": Row(admins(401, 200))},
    "api:node-group": {"GET": Row(admins(401, 200)), "PATCH": Row(admins(401, 200), {"title": "H100, hall 2"})},
    "api:node-group-confirm": {"POST": Row(admins(401, 200))},
    "api:node-group-aside": {"POST": Row(admins(401, 200))},
    "api:node-group-propose": {"POST": Row(admins(401, 200))},
    "api:accelerators": {"GET": Row(admins(401, 200))},
    "api:accelerator-name": {
        "PUT": Row(admins(401, 200), {"vendor": "example", "card_model": "TPU"}),
        "DELETE": Row(admins(401, 204)),
    },
    "api:notices": {"GET": Row(admins(401, 200))},
    "api:notice-seen": {"POST": Row(admins(401, 204))},
    "api:quota-plan": {"GET": Row(admins(401, 200)), "PUT": Row(admins(401, 400), {"expected_version": 0})},
    "api:quota-plan-recount": {"POST": Row(admins(401, 409), {"expected_version": 0})},
    "api:quota-plan-take-over": {"POST": Row(admins(401, 200))},
    "api:quota-plan-adopt": {"POST": Row(admins(401, 409), {"expected_version": 0})},
    "api:quota-plan-versions": {"GET": Row(admins(401, 200))},
    "api:quota-plan-restore": {"POST": Row(admins(401, 409), {"expected_version": 0})},
    "api:sharing": {
        "GET": Row(admins(401, 200)),
        "PUT": Row(admins(401, 200), {"expected_version": 0, "why": "Notebooks need little."}),
    },
    "api:shares": {"PUT": Row(admins(401, 200), {"shares": {"vision": 4000}})},
    "api:groups": {"GET": Row(admins(401, 200))},
    "api:idle": {"GET": Row(admins(401, 200))},
    "api:idle-nodes": {"GET": Row(admins(401, 200))},
    "api:waste": {"GET": Row(admins(401, 200))},
    "api:maintenance": {
        "GET": Row(admins(401, 200)),
        "POST": Row(
            admins(401, 400), {"cluster": "sandbox", "reason": "a fan", "starts_at": "soon", "ends_at": "later"}
        ),
    },
    "api:maintenance-cancel": {"POST": Row(admins(401, 200))},
    "api:node-cordon": {"POST": Row(admins(401, 200), {"reason": "a fan"})},
    "api:node-uncordon": {"POST": Row(admins(401, 409), {"reason": "a fan"})},  # it is open
    "api:node-trust": {"POST": Row(admins(401, 409), {"reason": "a fan"})},  # it is not suspected
    "api:me": {"GET": Row(signed_in(401, 200)), "PATCH": Row(signed_in(401, 200), {"language": "en"})},
    "api:tokens": {"GET": Row(signed_in(401, 200)), "POST": Row(signed_in(401, 201), {"name": "script"})},
    "api:token": {"DELETE": Row(row(401, 204, 404, 404, 404, 404, 404), hidden=True)},
    "api:teams": {"GET": Row(admins(401, 200)), "POST": Row(admins(401, 201), {"name": "Speech"})},
    "api:member": {"DELETE": Row(admins(401, 204)), "PUT": Row(admins(401, 200), {"role": "lead"})},
    "api:person-disable": {"POST": Row(admins(401, 204))},
    "api:person-enable": {"POST": Row(admins(401, 204))},
    "api:people": {"POST": Row(admins(401, 201), {"username": "new", "team": "vision", "role": "engineer"})},
    "api:archives": {"POST": Row(row(401, 415, 415, 415, 415, 415, 400))},  # these bodies are no archives
    "api:supplies": {"GET": Row(TEAM_SEES_API, hidden=True)},
    "api:team-rules": {"PUT": Row(ADMINS_SET_API, {"images": [], "runs_as_root": True}, hidden=True)},
    "api:storage": {"PUT": Row(ADMINS_SET_API, {"volume": "team-files"}, hidden=True)},
    "api:dataset": {
        "PUT": Row(ADMINS_SET_API, {"volume": "data"}, hidden=True),
        "DELETE": Row(ADMINS_DROP_API, hidden=True),
    },
    "api:variables": {
        "PUT": Row(LEADS_SET_API, {"values": {"A": "1"}}, hidden=True),
        "DELETE": Row(LEADS_DROP_API, hidden=True),
    },
    "api:registry": {"PUT": Row(LEADS_SET_API, SIGN_IN, hidden=True), "DELETE": Row(LEADS_DROP_API, hidden=True)},
    "api:schema": {"GET": Row(everybody(200))},
    "api:docs": {"GET": Row(everybody(200))},
}
