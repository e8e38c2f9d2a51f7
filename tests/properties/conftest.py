"""How hard the properties are tried: quickly by default, thoroughly with SLUICE_HYPOTHESIS_PROFILE=thorough."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("fast", max_examples=60, deadline=None)
settings.register_profile("thorough", max_examples=2_000, deadline=None)
settings.load_profile(os.environ.get("SLUICE_HYPOTHESIS_PROFILE", "fast"))
