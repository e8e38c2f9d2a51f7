"""The WSGI application that gunicorn serves."""

from __future__ import annotations

import gc
import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings.base")
# A request never waits for the database without bound; workers have limits of their own.
os.environ.setdefault(
    "PGOPTIONS", "-c statement_timeout=15s -c lock_timeout=10s -c idle_in_transaction_session_timeout=30s"
)

application = get_wsgi_application()

# All pages are loaded now and not by the first reader, and what is loaded is no garbage: a full collection would look
# through it for a tenth of a second while somebody waits.
_ = get_resolver().url_patterns
gc.collect()
gc.freeze()
