"""The first start of an installation: one admin, a sandbox cluster, and with the demo its teams and people.

Everything here is idempotent. Secrets are made per installation and written to `sign-in.txt` (0600), once.
"""

from __future__ import annotations

import os
import secrets
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from django.contrib.auth.hashers import make_password
from django.db import transaction

from accounts.models import Role, Team, User
from accounts.services import membership_set, person_create, team_create
from clusters.backends.sandbox import driver
from clusters.models import Cluster
from clusters.simulation.commands import SetNodes
from clusters.simulation.engine import Engine
from clusters.simulation.world import World
from clusters.sync import cluster_sync
from console.demo.arrivals import tick
from console.demo.history import fill_gap, make_history
from console.demo.layout import GROUPS, PEOPLE, SEED, SHARES, TEAMS, Person, nodes
from jobs.reconcile.loop import sweep
from quotas.services import quotas_apply, shares_set, team_queue_create

CLUSTER_SLUG = "sandbox"
SWEEPS_AFTER_GAP = 5


@dataclass(frozen=True, slots=True)
class SignIn:
    """How one person signs in. Exists only at the moment the person is made."""

    username: str
    password: str
    role: str


def ensure_instance(*, demo: bool, state_dir: Path) -> list[SignIn]:
    """Bring the installation to its first state, or up to date after a pause.

    Returns the people made by this call, perhaps none. With the demo the stage is set when this returns.
    """
    cluster = ensure_sandbox()
    came = fill_gap(cluster) if demo else 0  # before anything else lets the sandbox run to now
    if cluster.synced_at is None:
        cluster_sync(cluster)
    with transaction.atomic():
        made = _ensure_people(demo)
        write_sign_in(state_dir / "sign-in.txt", made)
    if demo:
        _ensure_shares(cluster)
        make_history(cluster)
    cluster_sync(cluster)
    if demo:
        _settle(cluster, came)
    return made


def ensure_sandbox() -> Cluster:
    """The embedded sandbox cluster with its nodes; it is made once and not looked at here."""
    cluster, _made = Cluster.objects.get_or_create(
        slug=CLUSTER_SLUG, defaults={"name": "Sandbox", "kind": "sandbox", "is_default": True}
    )
    engine = Engine(World(now_ms=driver.now_ms(), seed=SEED))
    engine.apply(SetNodes(engine.now_ms, nodes(), GROUPS))
    driver.create_world(cluster, engine.world)
    return cluster


def _settle(cluster: Cluster, came: int) -> None:
    """After a gap the rows of what was there before catch up; then the director has a look."""
    for _ in range(SWEEPS_AFTER_GAP if came else 0):
        if not sweep():
            break
        cluster_sync(cluster)
    tick(cluster)


def _ensure_people(demo: bool) -> list[SignIn]:
    made: list[SignIn] = []
    teams: dict[str, Team] = {}
    if demo:
        for slug, name in TEAMS.items():
            teams[slug] = Team.objects.filter(slug=slug).first() or team_create(actor=None, name=name)
    missing = _missing_people(demo)
    passwords = [secrets.token_urlsafe(12) for _ in missing]
    with ThreadPoolExecutor() as threads:  # hashing takes longest of all here, and lets other threads run
        hashes = list(threads.map(make_password, passwords))
    for person, password, password_hash in zip(missing, passwords, hashes, strict=True):
        user = person_create(
            actor=None,
            username=person.username,
            password=password,
            full_name=person.name if demo else "",
            is_platform_admin=person.team is None,
            password_hash=password_hash,
        )
        if demo:
            User.objects.filter(pk=user.pk).update(is_demo=True)
        if person.team is not None:
            membership_set(actor=None, user=user, team=teams[person.team], role=person.role)
        made.append(SignIn(person.username, password, _role_words(person.team, person.role, teams)))
    return made


def _missing_people(demo: bool) -> list[Person]:
    """Who is to be made: of an installation without the demo only the admin, and nobody beside another admin."""
    names = [person.username for person in PEOPLE]
    there = set(User.objects.filter(username__in=names).values_list("username", flat=True))
    has_admin = User.objects.filter(is_platform_admin=True).exists()
    return [
        person
        for person in PEOPLE
        if person.username not in there and (demo if person.team is not None else not has_admin)
    ]


def _role_words(team: str | None, role: str, teams: dict[str, Team]) -> str:
    if team is None:
        return "platform admin"
    return f"{'team lead' if role == Role.LEAD else 'engineer'}, team {teams[team].name}"


def _ensure_shares(cluster: Cluster) -> None:
    queues = {}
    for slug in TEAMS:
        team = Team.objects.filter(slug=slug).first()
        if team is not None:
            queues[slug] = team_queue_create(actor=None, team=team, cluster=cluster)
    for group in cluster.groups.all():
        if not group.shares.filter(basis_points__gt=0).exists():
            points = {queues[slug].pk: share for slug, share in SHARES.items() if slug in queues}
            shares_set(actor=None, group=group, basis_points=points)
    quotas_apply(cluster)


def write_sign_in(path: Path, made: list[SignIn]) -> None:
    """Append how the people just made sign in; readable by the installation's own user only."""
    if not made:
        return
    width = max(len(entry.username) for entry in made)
    lines = [f"{entry.username:<{width}}  {entry.password}  ({entry.role})" for entry in made]
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write("\n".join(lines) + "\n")
