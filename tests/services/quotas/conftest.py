from __future__ import annotations

from tests.api_server import server  # noqa: F401 - a fixture
