"""`/team/<slug>/…`: the lead's console."""

from __future__ import annotations

from django.urls import path

from jobs.pages import lead, lead_queues, supplies

app_name = "team"
urlpatterns = [
    path("", lead.overview, name="overview"),
    path("jobs/", lead.job_list, name="jobs"),
    path("queues/", lead_queues.queues, name="queues"),
    path("supplies/", supplies.of_led_team, name="supplies"),
]
