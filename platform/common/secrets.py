"""Secrets at rest: sealed on the way into the database, opened only where they are used.

The first key of SLUICE_FERNET_KEYS seals, every key of it opens. To change keys, put the new one in front, restart
every process, run `manage.py credentials_rotate`, and take the old one out when it says that nothing is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.apps import apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import models

HOW_TO_MAKE_A_KEY = (
    "SLUICE_FERNET_KEYS must hold at least one key of 32 bytes in URL-safe base64, newest first, separated by commas."
    ' Make one with: python3 -c "import base64, os; print(base64.urlsafe_b64encode(os.urandom(32)).decode())"'
)
HOW_TO_OPEN_AGAIN = (
    "A stored secret opens with none of the keys in SLUICE_FERNET_KEYS. Put the key that sealed it back at the end of"
    " that list, or store the secret anew."
)


class SecretUnreadable(Exception):
    """None of the keys opens a stored secret. The text says what to do and nothing of the secret."""

    def __init__(self) -> None:
        super().__init__(HOW_TO_OPEN_AGAIN)


class SealedTextField(models.TextField):
    """A column of sealed text: no form and no page of operators shows it, and `credentials_rotate` finds it.

    The attribute holds what :func:`seal` gave, so that neither a repr nor a query lays anything open. To migrations
    it is a plain text column.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        options["editable"] = False
        super().__init__(*args, **options)

    def deconstruct(self) -> tuple[str, str, list[Any], dict[str, Any]]:
        name, _path, args, options = super().deconstruct()
        del options["editable"]
        return name, "django.db.models.TextField", list(args), options


def seal(text: str) -> str:
    """``text`` encrypted with the first key. Raises ImproperlyConfigured without usable keys."""
    return _keys().encrypt(text.encode()).decode()


def unseal(sealed: str) -> str:
    """What was sealed. Raises SecretUnreadable."""
    try:
        return _keys().decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise SecretUnreadable from None


def _keys() -> MultiFernet:
    return _fernets(tuple(settings.FERNET_KEYS))[1]


@lru_cache(maxsize=2)
def _fernets(keys: tuple[str, ...]) -> tuple[Fernet, MultiFernet]:
    """The first key alone, and all together."""
    try:
        every = [Fernet(key) for key in keys]
        return every[0], MultiFernet(every)
    except (ValueError, IndexError):
        raise ImproperlyConfigured(HOW_TO_MAKE_A_KEY) from None


# --------------------------------------------------------------------------- changing keys


@dataclass(slots=True)
class Rotation:
    """What happened to the sealed values of one column."""

    column: str
    sealed_anew: int = 0
    already_current: int = 0
    unreadable: int = 0


def sealed_columns() -> Iterator[tuple[type[models.Model], str]]:
    """Every model and column of sealed text."""
    for model in apps.get_models():
        for field in model._meta.local_concrete_fields:
            if isinstance(field, SealedTextField):
                yield model, field.name


_ELSEWHERE: list[Callable[[], Rotation]] = []


def also_rotate(rotation: Callable[[], Rotation]) -> None:
    """Have :func:`rotate` call this as well: for sealed text that lies in no column of its own."""
    if rotation not in _ELSEWHERE:
        _ELSEWHERE.append(rotation)


def rotate() -> list[Rotation]:
    """Seal every stored secret with the first key; one result for each column.

    Each value changes in a statement of its own and opens before and after it, so this may stop anywhere and be run
    again, also while the console works. What no key opens is counted and left alone.
    """
    return [_rotate_column(model, field) for model, field in sealed_columns()] + [rotation() for rotation in _ELSEWHERE]


def reseal(sealed: str, done: Rotation) -> str:
    """``sealed`` with the first key, or as it is when that is so already or no key opens it; counted in ``done``."""
    first, every = _fernets(tuple(settings.FERNET_KEYS))
    if _opens(first, sealed):
        done.already_current += 1
        return sealed
    if not _opens(every, sealed):
        done.unreadable += 1
        return sealed
    done.sealed_anew += 1
    return every.rotate(sealed.encode()).decode()


def _rotate_column(model: type[models.Model], field: str) -> Rotation:
    done = Rotation(f"{model._meta.label}.{field}")
    rows = model._default_manager.exclude(**{field: ""}).order_by("pk")
    for pk in rows.values_list("pk", flat=True):
        _rotate_value(model._default_manager.filter(pk=pk), field, done)
    return done


def _rotate_value(row: models.QuerySet[Any], field: str, done: Rotation) -> None:
    first, every = _fernets(tuple(settings.FERNET_KEYS))
    while sealed := row.values_list(field, flat=True).first():
        if _opens(first, sealed):
            done.already_current += 1
            return
        if not _opens(every, sealed):
            done.unreadable += 1
            return
        # Only what was read is replaced: somebody may have stored another secret meanwhile.
        if row.filter(**{field: sealed}).update(**{field: every.rotate(sealed.encode()).decode()}):
            done.sealed_anew += 1
            return


def _opens(key: Fernet | MultiFernet, sealed: str) -> bool:
    try:
        key.decrypt(sealed.encode())
    except InvalidToken:
        return False
    return True
