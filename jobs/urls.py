"""`/jobs/…`"""

from __future__ import annotations

from django.urls import path, register_converter

from jobs.domain.operations import Operation
from jobs.pages import bulk, engineer, job, operate


class OperationConverter:
    """The name of an operation in an address; any other word is no address of ours."""

    regex = "|".join(operation.value for operation in Operation)

    def to_python(self, value: str) -> Operation:
        return Operation(value)

    def to_url(self, value: Operation | str) -> str:
        return str(value)


register_converter(OperationConverter, "operation")

app_name = "jobs"
urlpatterns = [
    path("jobs/", engineer.job_list, name="list"),
    path("jobs/new/", engineer.submit, name="submit"),
    path("jobs/new/preview/", engineer.preview, name="preview"),
    path("jobs/bulk/", bulk.operate, name="bulk"),
    path("jobs/<str:public_id>/", job.detail, name="detail"),
    path("jobs/<str:public_id>/logs/", job.logs, name="logs"),
    path("jobs/<str:public_id>/log-file/", job.log_file, name="log_file"),
    path("jobs/<str:public_id>/<operation:operation>/", operate.operate, name="operate"),
]
