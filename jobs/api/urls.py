"""`/api/v1/jobs…`"""

from __future__ import annotations

from django.urls import path

from jobs.api import bulk, idle, operations, views

urlpatterns = [
    path("idle", idle.IdleView.as_view(), name="idle"),
    path("idle/nodes", idle.IdleNodesView.as_view(), name="idle-nodes"),
    path("waste", idle.WasteView.as_view(), name="waste"),
    path("jobs", views.JobsView.as_view(), name="jobs"),
    path("jobs/bulk", bulk.BulkSubmitView.as_view(), name="jobs-bulk"),
    path("jobs/bulk-operate", bulk.BulkOperateView.as_view(), name="jobs-bulk-operate"),
    path("jobs/<str:public_id>", views.JobView.as_view(), name="job"),
    path("jobs/<str:public_id>/cancel", operations.JobCancelView.as_view(), name="job-cancel"),
    path("jobs/<str:public_id>/restart", operations.JobRestartView.as_view(), name="job-restart"),
    path("jobs/<str:public_id>/hold", operations.JobHoldView.as_view(), name="job-hold"),
    path("jobs/<str:public_id>/resume", operations.JobResumeView.as_view(), name="job-resume"),
    path("jobs/<str:public_id>/preempt", operations.JobPreemptView.as_view(), name="job-preempt"),
    path("jobs/<str:public_id>/requeue", operations.JobRequeueView.as_view(), name="job-requeue"),
    path("jobs/<str:public_id>/priority", operations.JobPriorityView.as_view(), name="job-priority"),
    path("jobs/<str:public_id>/scale", operations.JobScaleView.as_view(), name="job-scale"),
    path("jobs/<str:public_id>/timeline", views.JobTimelineView.as_view(), name="job-timeline"),
    path("jobs/<str:public_id>/logs", views.JobLogsView.as_view(), name="job-logs"),
    path("jobs/<str:public_id>/log", views.JobLogFileView.as_view(), name="job-log"),
]
