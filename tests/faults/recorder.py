"""A witness inside the database: triggers that note what happens to jobs and sandbox objects, whoever does it.

What it notes is rolled back with everything else, so a rehearsal that is undone leaves no trace.
"""

from __future__ import annotations

from django.db import connection

_WITNESS = """
CREATE TEMP TABLE seen_state (id bigserial, job_id bigint, attempt_no int, before text, after text);
CREATE TEMP TABLE seen_birth (id bigserial, name text, ulid text, attempt_no int, beside text);
CREATE TEMP TABLE seen_death (id bigserial, name text, data jsonb);
CREATE TEMP TABLE seen_command (id bigserial, kind text, name text);

CREATE FUNCTION pg_temp.note_state() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO seen_state (job_id, attempt_no, before, after)
    VALUES (NEW.id, NEW.attempt_no, CASE WHEN OLD.attempt_no = NEW.attempt_no THEN OLD.state END, NEW.state);
    RETURN NULL;
END $$;
CREATE FUNCTION pg_temp.note_birth() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO seen_birth (name, ulid, attempt_no, beside)
    SELECT COALESCE(NEW.data->'spec'->'member'->>'service', NEW.name),
           NEW.data->'spec'->>'job_ulid', (NEW.data->'spec'->>'attempt')::int, min(o.name)
      FROM clusters_sandboxobject o
     WHERE o.kind = 'workload' AND o.name <> NEW.name
       AND o.data->'spec'->'member'->>'service' IS DISTINCT FROM COALESCE(NEW.data->'spec'->'member'->>'service', '')
       AND o.data->'spec'->>'job_ulid' = NEW.data->'spec'->>'job_ulid' AND o.data->>'stage' <> 'finished'
       AND NOT (o.data->>'stage' = 'queued' AND (o.data->>'deleting')::boolean);
    RETURN NULL;
END $$;
CREATE FUNCTION pg_temp.note_death() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO seen_death (name, data) VALUES (OLD.name, OLD.data);
    RETURN NULL;
END $$;
CREATE FUNCTION pg_temp.note_command() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO seen_command (kind, name) VALUES (NEW.payload->>'kind', NEW.payload->>'name');
    RETURN NULL;
END $$;

CREATE TRIGGER note_state AFTER UPDATE OF state, attempt_no ON jobs_job
    FOR EACH ROW EXECUTE FUNCTION pg_temp.note_state();
CREATE TRIGGER note_birth AFTER INSERT ON clusters_sandboxobject
    FOR EACH ROW WHEN (NEW.kind = 'workload') EXECUTE FUNCTION pg_temp.note_birth();
CREATE TRIGGER note_death AFTER DELETE ON clusters_sandboxobject
    FOR EACH ROW WHEN (OLD.kind = 'workload') EXECUTE FUNCTION pg_temp.note_death();
CREATE TRIGGER note_command AFTER INSERT ON clusters_sandboxcommand
    FOR EACH ROW EXECUTE FUNCTION pg_temp.note_command();
"""


def call_witness() -> None:
    """Install the triggers for the rest of the transaction."""
    with connection.cursor() as cursor:
        cursor.execute(_WITNESS)
