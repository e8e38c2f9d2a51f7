"""The configuration files of Kueue and Volcano, as far as the console cares. Pure.

Fields that are missing have the programs' own defaults: Kueue manages batch/job alone and counts every resource; a
Volcano without a file runs :data:`VOLCANO_DEFAULT`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from clusters.preflight.survey import GateSettings, PodsReady, StarterSettings

KUEUE_KEY = "controller_manager_config.yaml"
VOLCANO_KEY = "volcano-scheduler.conf"
SIZE_MAX = 256 * 1024
READY_DEFAULT_SECONDS = 300

VOLCANO_DEFAULT = StarterSettings(
    ("enqueue", "allocate", "backfill"),
    frozenset({"priority", "gang", "conformance", "overcommit", "drf", "predicates", "proportion", "nodeorder"}),
)

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|us|µs|ns|h|m|s)")
_UNIT_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


class Unreadable(ValueError):
    """The file is not what the program would accept."""


def seconds_of(text: object) -> int:
    """Whole seconds of a Go duration such as 1h30m, rounded down. Raises Unreadable."""
    words = str(text)
    if words == "0":
        return 0
    parts = _DURATION.findall(words)
    if not parts or "".join(number + unit for number, unit in parts) != words:
        raise Unreadable(f"not a duration: {words[:40]}")
    return int(sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts))


def gate_settings(text: str) -> GateSettings:
    """Kueue's `Configuration`, v1beta1 or v1beta2. Raises Unreadable."""
    config = _mapping(_parsed(text))
    integrations = _mapping(config.get("integrations"))
    frameworks = [str(name) for name in _list(integrations.get("frameworks"))] or ["batch/job"]
    retention = _mapping(_mapping(config.get("objectRetentionPolicies")).get("workloads"))
    return GateSettings(
        integrations=_with_implied(frozenset(frameworks)),
        excluded_prefixes=tuple(
            str(name) for name in _list(_mapping(config.get("resources")).get("excludeResourcePrefixes"))
        ),
        manages_unlabelled=bool(config.get("manageJobsWithoutQueueName", False)),
        pods_ready=_pods_ready(config.get("waitForPodsReady")),
        fair_sharing=_is_on(config.get("fairSharing")),
        usage_based_order=config.get("admissionFairSharing") is not None,
        deletes_given_up=retention.get("afterDeactivatedByKueue") is not None,
        switches={str(name): bool(value) for name, value in _mapping(config.get("featureGates")).items()},
    )


def starter_settings(text: str) -> StarterSettings:
    """Volcano's scheduler configuration. Raises Unreadable."""
    config = _mapping(_parsed(text))
    actions = config.get("actions")
    if actions is None:
        return VOLCANO_DEFAULT
    plugins = {
        str(_mapping(plugin).get("name", ""))
        for tier in _list(config.get("tiers"))
        for plugin in _list(_mapping(tier).get("plugins"))
    }
    named = (action.strip() for action in str(actions).split(","))
    return StarterSettings(tuple(action for action in named if action), frozenset(plugins - {""}))


def _with_implied(frameworks: frozenset[str]) -> frozenset[str]:
    """Kueue manages the pods of a Deployment by its integration for pods, and switches that on by itself."""
    return frameworks | {"pod"} if "deployment" in frameworks else frameworks


def _pods_ready(value: object) -> PodsReady | None:
    """Presence switches it on; v1beta1 could say `enable: false` as well."""
    if not _is_on(value):
        return None
    wait = _mapping(value)
    retries = _mapping(wait.get("requeuingStrategy")).get("backoffLimitCount")
    if retries is not None and (isinstance(retries, bool) or not isinstance(retries, int)):
        raise Unreadable("backoffLimitCount is not a number")
    timeout = wait.get("timeout")
    return PodsReady(
        timeout=READY_DEFAULT_SECONDS if timeout is None else seconds_of(timeout),
        blocks_admission=bool(wait.get("blockAdmission", False)),
        retries=retries,
    )


def _is_on(value: object) -> bool:
    return value is not None and bool(_mapping(value).get("enable", True))


def _parsed(text: str) -> object:
    if len(text) > SIZE_MAX:
        raise Unreadable("the file is too large")
    try:
        return yaml.load(text, yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise Unreadable(str(error)[:200]) from error


def _mapping(value: object) -> Mapping[Any, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise Unreadable("a value stands where a group of values belongs")
    return value


def _list(value: object) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise Unreadable("a value stands where a list belongs")
    return value
