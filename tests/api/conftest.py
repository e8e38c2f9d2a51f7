from __future__ import annotations

from tests.api_server import server  # noqa: F401 - a fixture
from tests.services.conftest import _cast_of_module, standing_cast  # noqa: F401 - fixtures
