"""The Celery application and its schedule. Tasks are ticks: they carry no payload that could be lost.

Every entry expires below its period, so a slow worker never works off a backlog of stale ticks.
"""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings.base")

app = Celery("console")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

app.conf.beat_schedule = {
    "clusters-sync-due": {"task": "clusters.sync_due", "schedule": 1.0, "options": {"expires": 0.9}},
    "jobs-sweep": {"task": "jobs.sweep", "schedule": 2.0, "options": {"expires": 1.9}},
    "jobs-collect-logs": {"task": "jobs.collect_logs", "schedule": 3.0, "options": {"expires": 2.9}},
    "console-demo-arrivals": {"task": "console.demo_arrivals", "schedule": 5.0, "options": {"expires": 4.5}},
    "clusters-bring-secrets": {"task": "clusters.bring_secrets", "schedule": 60.0, "options": {"expires": 50}},
    "clusters-preflight-due": {"task": "clusters.preflight_due", "schedule": 20.0, "options": {"expires": 19}},
    "clusters-care-for-nodes": {"task": "clusters.care_for_nodes", "schedule": 30.0, "options": {"expires": 29}},
    "clusters-watch-conflicts": {"task": "clusters.watch_conflicts", "schedule": 30.0, "options": {"expires": 29}},
    "clusters-water-sample": {"task": "clusters.water_sample", "schedule": 30.0, "options": {"expires": 29}},
    "clusters-water-roll-up": {"task": "clusters.water_roll_up", "schedule": 300.0, "options": {"expires": 290}},
    "clusters-water-keep": {"task": "clusters.water_keep", "schedule": 3600.0, "options": {"expires": 600}},
    "quotas-apply": {"task": "quotas.apply", "schedule": 60.0, "options": {"expires": 50}},
    "jobs-tell-of-maintenance": {"task": "jobs.tell_of_maintenance", "schedule": 60.0, "options": {"expires": 50}},
    "jobs-housekeeping": {"task": "jobs.housekeeping", "schedule": 3600.0, "options": {"expires": 600}},
}
