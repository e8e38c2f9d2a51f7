"""`python -m tests.benchmarks.history ACTIVE ENDED`: fill an empty database with so many jobs.

The database is that of DATABASE_URL; SUPERUSER_URL names the same one for a superuser, who may leave foreign keys
unchecked while a million rows are made from one. Prints how its people are known, as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from datetime import datetime, timedelta

DAYS_OF_HISTORY = 365
FAR = datetime.fromisoformat("2100-01-01T00:00:00+00:00")
PEOPLE = {"engineer": "eng-vision-1", "lead": "lead-vision", "admin": "admin"}
OWNERS = ("eng-vision-1", "eng-vision-2", "eng-language-1", "eng-robotics-1")
LIVE = ("queued", "queued", "running", "running", "running", "creating", "queued", "running", "retrying", "queued")
STARTED = ("admitted_at", "scheduled_at", "started_at")
RAN_FOR = timedelta(minutes=1)
OVER = ("succeeded",) * 7 + ("failed",) * 2 + ("cancelled",)


def main(active: int, ended: int) -> None:
    import django

    django.setup()
    from django.core.management import call_command
    from django.test import Client
    from django.urls import reverse

    from accounts.services import token_create
    from clusters.models import Cluster, NodeGroup
    from clusters.supply_services import dataset_set, registry_set, variables_set
    from jobs.models import Job
    from tests.cast import build_cast, build_cluster
    from tests.pages.crowd import crowd

    call_command("migrate", verbosity=0)
    cast = build_cast()
    admin, lead = cast.actor("admin"), cast.actor("lead-vision")
    place = {"cluster": cast.cluster, "team": cast.teams["vision"]}
    dataset_set(actor=admin, **place, name="imagenet", volume="data")
    variables_set(actor=lead, **place, name="wandb", values={"A": "1"})
    registry_set(actor=lead, **place, name="harbor", server="registry.example", username="robot", password="x")
    NodeGroup.objects.create(
        cluster=cast.cluster, slug="slices", title="Slices", vendor="nvidia", card_model="A100", sharing="mig",
        unit="slice", cards_per_node=14,
    )  # fmt: skip
    if active or ended:
        live = crowd(cast, len(LIVE), states=LIVE, usernames=OWNERS)
        over = crowd(cast, len(OVER), states=OVER, usernames=OWNERS)
        _hold_cards()
        _multiply([job.pk for job in live], active - len(live), timedelta(days=1), lasts=False)
        _multiply([job.pk for job in over], ended - len(over), timedelta(days=DAYS_OF_HISTORY), lasts=True)
        # The jobs' cluster is never asked again, or it would say that it knows none of them; another one is at work.
        Cluster.objects.filter(pk=cast.cluster.pk).update(kind="kueue_volcano", rest_until=FAR)
        build_cluster("small", is_default=False)
    client = Client(SERVER_NAME="127.0.0.1")
    token, _text = token_create(actor=cast.actor("eng-vision-1"), name="script")
    running = Job.objects.filter(owner=cast.users["eng-vision-1"], state="running").order_by("id").first()
    known = {"job": running.public_id if running else "", "cluster": cast.cluster.slug, "token": token.public_id}
    tokens, sessions = {}, {}
    for role, username in PEOPLE.items():
        _token, tokens[role] = token_create(actor=cast.actor(username), name="benchmark")
        client.force_login(cast.users[username], backend="allauth.account.auth_backends.AuthenticationBackend")
        client.get(reverse("jobs:list"))
        sessions[role] = client.cookies["sluice_session"].value
        client.cookies.clear()
    sys.stdout.write(json.dumps({**known, "tokens": tokens, "sessions": sessions}))


def _hold_cards() -> None:
    """What holds cards has been admitted, what runs or is over has started; ends follow with the copies."""
    from django.db.models import F

    from jobs.models import Job, Run

    for states, moments in ((("creating",), ("admitted_at",)), (("running", *OVER), STARTED)):
        for job in Job.objects.filter(state__in=states):
            runs = Run.objects.filter(attempt__job=job)
            runs.update(cards=job.cards, **{name: F("queued_at") for name in moments})
            if job.state in OVER:
                runs.update(ended_at=F("queued_at") + RAN_FOR, end_cause=job.state)


def _multiply(models: list[int], count: int, span: timedelta, *, lasts: bool) -> None:
    """``count`` more jobs like these in turn, spread over the time before now, with the rows that hang on them."""
    import psycopg

    if count <= 0:
        return
    with psycopg.connect(os.environ["SUPERUSER_URL"], autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("SET synchronous_commit = off")
        connection.execute("SET maintenance_work_mem = '256MB'")
        row = connection.execute("SELECT max(id) FROM jobs_job").fetchone()
        assert row is not None
        _Copies(connection, models, count, int(row[0]), span).make_all(lasts=lasts)


class _Copies:
    """Job ``first + n`` copies ``models[n % len(models)]``; ids of what hangs on it follow from n as well."""

    def __init__(self, connection: object, models: list[int], count: int, first: int, span: timedelta) -> None:
        self._run = connection.execute  # type: ignore[attr-defined]
        self._models, self._count, self._first, self._span = models, count, first, span

    def make_all(self, *, lasts: bool) -> None:
        from django.apps import apps

        ulid = f"'01HB' || lpad(({self._first} + n)::text, 22, '0')"
        at = f"now() - interval '{self._span.total_seconds()} seconds' * (1 - n::float8 / {self._count})"
        new_job = f"{self._first} + n"
        over = f"{at} + interval '{RAN_FOR.total_seconds()} seconds'"
        self._copy(
            apps.get_model("jobs.Job"),
            "t.id",
            {"id": new_job, "public_id": ulid, "submitted_at": at, "state_since": at, "reason_since": at}
            | {"salt": "lpad(to_hex(n), 10, '0')", "display_name": "'job ' || n"}
            | ({"started_at": at, "ended_at": over} if lasts else {}),
        )
        attempt = f"(SELECT max(id) FROM jobs_attempt) + row_number() OVER (ORDER BY {new_job})"
        self._copy(
            apps.get_model("jobs.Attempt"),
            "t.job_id",
            {"id": attempt, "job_id": new_job, "object_name": f"'j-' || ({self._first} + n)", "created_at": at},
        )
        held = {name: f"CASE WHEN t.{name} IS NOT NULL THEN {at} END" for name in STARTED}
        self._copy(
            apps.get_model("jobs.Run"),
            "(SELECT job_id FROM jobs_attempt WHERE id = t.attempt_id)",
            {"id": None, "attempt_id": f"(SELECT id FROM jobs_attempt WHERE job_id = {new_job})", "queued_at": at}
            | held
            | ({"ended_at": over} if lasts else {}),
        )
        moments = {"at": at, "recorded_at": at}
        self._copy(apps.get_model("jobs.JobEvent"), "t.job_id", {"id": None, "job_id": new_job, **moments})
        self._copy(apps.get_model("jobs.JobSync"), "t.job_id", {"job_id": new_job, "job_ulid": ulid})
        of_ulid = "(SELECT id FROM jobs_job WHERE public_id = t.job_ulid)"
        self._copy(apps.get_model("quotas.Demand"), of_ulid, {"id": None, "job_ulid": ulid})
        self._copy(apps.get_model("clusters.ObservedWorkload"), of_ulid, {"id": None, "job_ulid": ulid, "uid": ulid})
        self._audit(ulid, at)

    def _copy(self, model: object, job_of: str, changed: Mapping[str, str | None]) -> None:
        """``changed``: SQL by column; None leaves the column to its sequence."""
        meta = model._meta  # type: ignore[attr-defined]
        columns = [field.column for field in meta.concrete_fields]
        kept = [name for name in columns if changed.get(name, "") is not None]
        values = ", ".join(changed.get(name) or f't."{name}"' for name in kept)
        names = ", ".join(f'"{name}"' for name in kept)
        with _WithoutIndexes(self._run, meta.db_table):
            self._run(
                f"""
                WITH models AS MATERIALIZED (
                    SELECT m.place, t.* FROM "{meta.db_table}" t
                      JOIN unnest(%s::bigint[]) WITH ORDINALITY AS m(job, place) ON m.job = {job_of})
                INSERT INTO "{meta.db_table}" ({names})
                SELECT {values} FROM generate_series(1, %s) AS n
                  JOIN models t ON t.place = n %% %s + 1
                """,
                [self._models, self._count, len(self._models)],
            )
        if "id" in columns:
            self._run(f"SELECT setval(pg_get_serial_sequence('{meta.db_table}', 'id'), max(id)) FROM {meta.db_table}")
        self._run(f"ANALYZE {meta.db_table}")

    def _audit(self, ulid: str, at: str) -> None:
        with _WithoutIndexes(self._run, "accounts_auditevent"):
            self._run(
                f"""
                INSERT INTO accounts_auditevent (at, actor_id, actor_name, token_name, action, target_type, target_id,
                                                 team_id, detail)
                SELECT {at}, j.owner_id, 'somebody', '', 'job.submit', 'job', {ulid}, j.team_id, '{{"cards": 1}}'
                  FROM generate_series(1, %s) AS n JOIN jobs_job j ON j.id = {self._first} + n
                """,
                [self._count],
            )
        self._run("ANALYZE accounts_auditevent")


class _WithoutIndexes:
    """The indexes of a table that no constraint needs are gone during the block, and made anew after it."""

    def __init__(self, run: object, table: str) -> None:
        self._run, self._table = run, table
        self._made: list[str] = []

    def __enter__(self) -> None:
        found = self._run(  # type: ignore[operator]
            """
            SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid) FROM pg_index i
             WHERE i.indrelid = %s::regclass
               AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid)
            """,
            [self._table],
        ).fetchall()
        for name, definition in found:
            self._run(f"DROP INDEX {name}")  # type: ignore[operator]
            self._made.append(definition)

    def __exit__(self, *_: object) -> None:
        for definition in self._made:
            self._run(definition)  # type: ignore[operator]


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
