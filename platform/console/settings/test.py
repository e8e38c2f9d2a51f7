"""Tests: the wheel's PostgreSQL (started by the pytest plugin), no broker, cheap password hashes."""

from __future__ import annotations

import os

os.environ.setdefault("SLUICE_SECRET_KEY", "tests-only-" + "0123456789abcdef" * 4)
os.environ.setdefault("SLUICE_FERNET_KEYS", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
os.environ.setdefault("REDIS_URL", "redis://127.0.0.1:1/0")  # nothing listens: hints must not matter
os.environ.setdefault("DATABASE_URL", "postgresql:///sluice")

from console.settings.base import *  # noqa: F403

SLUICE = {
    **SLUICE,  # noqa: F405
    "LEASE_SECONDS": 30,
    "FIGURES_SECONDS": 0.0,  # tests fill and empty a cluster faster than people do
    "WASTE_SECONDS": 0.0,
}
INSTALLED_APPS = [*INSTALLED_APPS, "django_linear_migrations"]  # noqa: F405
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
CELERY_BROKER_URL = "memory://"
DATABASES["default"]["CONN_MAX_AGE"] = 0  # noqa: F405
ALLOWED_HOSTS = ["testserver", "127.0.0.1", "localhost"]
