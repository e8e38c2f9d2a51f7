"""The cache: the broker's server, and the memory of this process while that one is away.

What lies in it are counters: attempts at signing in, and codes of second factors that were used. Without the server
people sign in all the same, and each process counts by itself, so that guessing stays limited.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from django.core.cache.backends.base import DEFAULT_TIMEOUT
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

logger = logging.getLogger(__name__)

REST_SECONDS = 5
"""So long a server that did not answer is left alone, or each question of a request would wait for it."""
OWN_ENTRIES = 100_000
_IN_TIME = {"socket_connect_timeout": 1, "socket_timeout": 2, "retry": Retry(NoBackoff(), 1)}


class SteadyCache(RedisCache):
    """Redis or Valkey; own memory instead of an error. Offers what counters need: add, get, set, delete, clear."""

    _away_until = 0.0  # monotonic; of the whole process, as its threads have a cache each

    def __init__(self, server: str | list[str], params: dict[str, Any]) -> None:
        super().__init__(server, {**params, "OPTIONS": {**_IN_TIME, **params.get("OPTIONS", {})}})
        self._own = LocMemCache("while-away", {**params, "OPTIONS": {"MAX_ENTRIES": OWN_ENTRIES}})

    def add(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        return bool(self._ask("add", key, value, timeout, version))

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        return self._ask("get", key, default, version)

    def set(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        self._ask("set", key, value, timeout, version)

    def delete(self, key: str, version: int | None = None) -> bool:
        return bool(self._ask("delete", key, version))

    def clear(self) -> None:
        self._own.clear()
        self._ask("clear")

    def _ask(self, method: str, *arguments: Any) -> Any:
        if time.monotonic() >= SteadyCache._away_until:
            try:
                return getattr(super(), method)(*arguments)
            except RedisError as error:
                SteadyCache._away_until = time.monotonic() + REST_SECONDS
                logger.warning("the cache is away, this process counts by itself: %s", type(error).__name__)
        return getattr(self._own, method)(*arguments)
