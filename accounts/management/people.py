"""What the commands about people share: finding one by name."""

from __future__ import annotations

from django.core.management.base import CommandError

from accounts.models import User


def person(username: str) -> User:
    """The person of this user name, also a disabled one. Raises CommandError, with the names there are."""
    user = User.objects.filter(username=username).first()
    if user is None:
        known = ", ".join(User.objects.order_by("username").values_list("username", flat=True)[:20])
        raise CommandError(f"There is no person {username!r}. Known: {known or 'nobody yet'}.")
    return user
