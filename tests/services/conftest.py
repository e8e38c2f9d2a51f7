from __future__ import annotations

import pytest

from tests.cast import Cast, build_cast


@pytest.fixture
def cast(db: None) -> Cast:
    return build_cast()
