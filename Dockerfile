# The console's image: one image for web, worker, beat, watcher and the one-off set-up (see docker-compose.yml).
FROM python:3.11-slim-bookworm AS packages
COPY requirements.lock /tmp/requirements.lock
RUN python -m venv /opt/sluice/venv \
 && /opt/sluice/venv/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r /tmp/requirements.lock

FROM python:3.11-slim-bookworm
RUN useradd --system --uid 10001 --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin sluice \
 && install --directory --owner=sluice --group=sluice --mode=0700 /var/lib/sluice
COPY --from=packages /opt/sluice/venv /opt/sluice/venv
WORKDIR /opt/sluice/app
COPY manage.py pyproject.toml ./
COPY platform platform
COPY accounts accounts
COPY clusters clusters
COPY jobs jobs
COPY quotas quotas
COPY templates templates
COPY static static
COPY locale locale
COPY deploy/healthcheck.py deploy/healthcheck.py
ENV PATH=/opt/sluice/venv/bin:$PATH \
    PYTHONPATH=/opt/sluice/app:/opt/sluice/app/platform \
    PYTHONUNBUFFERED=1 \
    MALLOC_ARENA_MAX=2 \
    DJANGO_SETTINGS_MODULE=console.settings.production \
    SLUICE_STATE_DIR=/var/lib/sluice
# Collecting static files needs settings, but no server and no secret.
RUN SLUICE_SECRET_KEY=unused-while-building SLUICE_FERNET_KEYS= DATABASE_URL=postgresql://unused REDIS_URL=redis://unused \
    python manage.py collectstatic --noinput \
 && python -m compileall -q platform accounts clusters jobs quotas
USER sluice
VOLUME /var/lib/sluice
EXPOSE 8000
CMD ["gunicorn", "console.wsgi:application", "--bind", "0.0.0.0:8000", "--worker-class", "gthread", "--workers", "2", "--threads", "8", "--graceful-timeout", "10", "--no-control-socket", "--worker-tmp-dir", "/dev/shm"]
