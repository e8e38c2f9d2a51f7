"""`manage.py instance_setup`: the first state of an installation; safe to run at every start."""

from __future__ import annotations

import gc
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from console.setup import ensure_instance


class Command(BaseCommand):
    help = "Make the first admin, the sandbox cluster and, with SLUICE_DEMO=1, the demo."

    def handle(self, *args: Any, **options: Any) -> None:
        gc.disable()  # tens of thousands of rows are made at the first start, and none of them in circles
        try:
            made = ensure_instance(demo=settings.DEMO, state_dir=settings.STATE_DIR)
        finally:
            gc.enable()
        self.stdout.write(f"{len(made)} people added" if made else "nothing to add")
