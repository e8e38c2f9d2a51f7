"""What every scheduler backend must do."""

import pytest

pytest.register_assert_rewrite("tests.backends.scenario_runner")
