"""The audit trail is written in the transaction of the change, or not at all."""

from __future__ import annotations

import pytest
from django.db import transaction

from accounts import audit
from accounts.models import AuditEvent


def test_an_audit_row_needs_the_transaction_of_its_change(transactional_db: None) -> None:
    with pytest.raises(RuntimeError):
        audit.record(None, "team.create", target_type="team", target_id="x")
    with transaction.atomic():
        audit.record(None, "team.create", target_type="team", target_id="x")
    assert AuditEvent.objects.get().actor_name == "command line"
