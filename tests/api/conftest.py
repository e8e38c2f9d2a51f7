from __future__ import annotations

from tests.services.conftest import _cast_of_module, standing_cast  # noqa: F401 - fixtures
