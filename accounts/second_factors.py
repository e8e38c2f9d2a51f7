"""Second factors under changed keys: allauth keeps their sealed secrets inside a JSON column."""

from __future__ import annotations

from allauth.mfa.models import Authenticator
from django.db import transaction

from common.secrets import Rotation, reseal

_SEALED = ("secret", "seed")  # of an authenticator app, of recovery codes


def rotate() -> Rotation:
    """Seal every second factor with the newest key; each in a transaction of its own, so it may stop anywhere."""
    done = Rotation("mfa.Authenticator.data")
    for pk in Authenticator.objects.order_by("pk").values_list("pk", flat=True):
        _rotate(pk, done)
    return done


@transaction.atomic
def _rotate(pk: int, done: Rotation) -> None:
    factor = Authenticator.objects.select_for_update().filter(pk=pk).first()
    if factor is None:
        return
    fresh = {name: reseal(factor.data[name], done) for name in _SEALED if name in factor.data}
    if any(factor.data[name] != text for name, text in fresh.items()):
        factor.data |= fresh
        factor.save(update_fields=["data"])
