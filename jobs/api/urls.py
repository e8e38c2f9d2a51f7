"""`/api/v1/jobs…`"""

from __future__ import annotations

from django.urls import path

from jobs.api import views

urlpatterns = [
    path("jobs", views.JobsView.as_view(), name="jobs"),
    path("jobs/<str:public_id>", views.JobView.as_view(), name="job"),
    path("jobs/<str:public_id>/cancel", views.JobCancelView.as_view(), name="job-cancel"),
    path("jobs/<str:public_id>/restart", views.JobRestartView.as_view(), name="job-restart"),
    path("jobs/<str:public_id>/hold", views.JobHoldView.as_view(), name="job-hold"),
    path("jobs/<str:public_id>/resume", views.JobResumeView.as_view(), name="job-resume"),
    path("jobs/<str:public_id>/timeline", views.JobTimelineView.as_view(), name="job-timeline"),
    path("jobs/<str:public_id>/logs", views.JobLogsView.as_view(), name="job-logs"),
    path("jobs/<str:public_id>/log", views.JobLogFileView.as_view(), name="job-log"),
]
