"""The API's description as it is served: written once by each process."""

from __future__ import annotations

import threading
from typing import Any

from django.http import HttpResponse
from django.utils import translation
from drf_spectacular.views import SpectacularAPIView
from rest_framework.permissions import AllowAny
from rest_framework.request import Request

_lock = threading.Lock()
_written: dict[str, str | bytes] = {}


class SchemaView(SpectacularAPIView):
    """For everybody. Writing it takes a second, which strangers must not be able to ask for again and again, and the
    library behind it is not made for two threads at once."""

    permission_classes = [AllowAny]
    authentication_classes: list[Any] = []

    def _get_schema_response(self, request: Request) -> HttpResponse:
        renderer = request.accepted_renderer
        with _lock, translation.override("en"):
            if renderer.media_type not in _written:
                answer = super()._get_schema_response(request)
                _written[renderer.media_type] = renderer.render(answer.data, renderer_context={})
        return HttpResponse(_written[renderer.media_type], content_type=request.accepted_media_type)
