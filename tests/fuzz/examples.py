"""Examples of requests made from the API's own description, and what every answer has to keep."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import schemathesis
import yaml
from django.core.wsgi import get_wsgi_application
from django.db import transaction
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from schemathesis import APIOperation, Case, GenerationMode, Response, SerializationContext
from schemathesis.specs.openapi import checks
from schemathesis.transport.serialization import serialize_binary

from tests.fuzz.scene import Scene

ROOT = Path(__file__).resolve().parents[2]
SEED = 20_260_312
EXAMPLES = 100


@cache
def live_schema() -> Any:
    """The description that the running application serves."""
    return schemathesis.openapi.from_wsgi("/api/v1/schema", get_wsgi_application())


@cache
def operations() -> dict[str, APIOperation]:
    """By operation id."""
    found = [result.ok() for result in live_schema().get_all_operations()]
    return {operation.definition.raw["operationId"]: operation for operation in found}


def written_operations() -> list[str]:
    """Operation ids of the document in the repository: known before any application is there."""
    document = yaml.safe_load((ROOT / "docs" / "openapi.yaml").read_text(encoding="utf-8"))
    return sorted(
        operation["operationId"]
        for methods in document["paths"].values()
        for method, operation in methods.items()
        if method in {"get", "post", "put", "patch", "delete"}
    )


ARCHIVES = ("application/zip", "application/x-tar", "application/gzip", "application/octet-stream")


@schemathesis.serializer(*ARCHIVES)
def _as_it_is(context: SerializationContext, value: Any) -> Any:
    return value if isinstance(value, bytes) else serialize_binary(value)


CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]


def _can_be_wrong(operation: APIOperation) -> bool:
    """Can its input break the description? A name in an address cannot: any text is one."""
    return bool(operation.body) or bool(operation.query)


@st.composite
def _cases(draw: Any, name: str, scene: Scene) -> Case:
    """A request as described or one with something wrong, mostly about things that exist."""
    operation = operations()[name]
    modes = [GenerationMode.POSITIVE, *([GenerationMode.NEGATIVE] if _can_be_wrong(operation) else [])]
    mode = draw(st.sampled_from(modes))
    case: Case = draw(operation.as_strategy(generation_mode=mode))
    if mode is GenerationMode.POSITIVE and name in scene.bodies and draw(st.booleans()):
        _make_sensible(draw, case, scene.bodies[name])
    for place in (case.path_parameters, *([case.query, case.body] if mode is GenerationMode.POSITIVE else [])):
        for key in sorted(place) if isinstance(place, dict) else ():
            known = scene.known.get(f"{name}.{key}") or scene.known.get(key)
            if known and draw(st.integers(0, 3)):
                place[key] = draw(st.sampled_from(known))
    return case


def _make_sensible(draw: Any, case: Case, body: Any) -> None:
    """A body that is right, but for at most two fields that are only as described."""
    if isinstance(body, dict):
        made = sorted(case.body) if isinstance(case.body, dict) else []
        kept = draw(st.lists(st.sampled_from(made), max_size=2, unique=True)) if made else []
        case.body = {**body, **{key: case.body[key] for key in kept}}
    else:
        case.body, case.media_type = body, ARCHIVES[0]


def _right(name: str, scene: Scene) -> Case:
    """A request about the first things that are known, with the body of the scene."""
    operation = operations()[name]
    known = {
        parameter.name: (scene.known.get(f"{name}.{parameter.name}") or scene.known[parameter.name])[0]
        for parameter in operation.path_parameters
    }
    body = scene.bodies.get(name)
    if body is None:
        return operation.Case(path_parameters=known)
    kind = "application/json" if isinstance(body, dict) else ARCHIVES[0]
    return operation.Case(path_parameters=known, body=body, media_type=kind)


def examine(name: str, scene: Scene, ask: Callable[[Case], None], *, count: int = EXAMPLES) -> None:
    """``ask`` about ``count`` examples of an operation, always the same ones; the smallest one that fails is told.

    Before them comes one that is right as far as the scene knows.
    """
    ask(_right(name, scene))

    @seed(SEED)
    @settings(max_examples=count, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=_cases(name, scene))
    def each(case: Case) -> None:
        ask(case)

    each()


def answers(case: Case, scene: Scene) -> dict[str, Response]:
    """What each role is answered. Nothing that a question changes is there for the next one."""
    found = {}
    for role, headers in scene.headers.items():
        with transaction.atomic():
            found[role] = case.call(headers=headers)
            transaction.set_rollback(True)
    return found


def keeps_to_the_description(case: Case, response: Response) -> None:
    """Raises schemathesis' group of failures, with a curl command, for an answer that was not described."""
    judged = CHECKS
    if response.status_code == 207:  # what was wrong is refused in its own entry
        judged = [check for check in CHECKS if check is not checks.negative_data_rejection]
    case.validate_response(response, checks=judged)
