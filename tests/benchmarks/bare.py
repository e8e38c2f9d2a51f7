"""The least that a Django view can do that keeps what it was sent: one INSERT, one commit. For the same gunicorn."""

from __future__ import annotations

from django.conf import settings

from console.settings.environment import database_config, read

settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"],
    DATABASES={"default": database_config(read("DATABASE_URL"))},
    MIDDLEWARE=[],
    ROOT_URLCONF=__name__,
    SECRET_KEY=read("SLUICE_SECRET_KEY"),
)

from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.db import connection  # noqa: E402
from django.http import HttpRequest, JsonResponse  # noqa: E402
from django.urls import path  # noqa: E402


def submit(request: HttpRequest) -> JsonResponse:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO bare_submitted (body) VALUES (%s) RETURNING id", [request.body.decode()])
        (row,) = cursor.fetchall()
    return JsonResponse({"id": row[0]}, status=201)


urlpatterns = [path("submit", submit)]
application = get_wsgi_application()
