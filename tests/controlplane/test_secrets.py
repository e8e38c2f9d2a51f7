"""Values of teams on the real cluster: written by an account that cannot read them."""

from __future__ import annotations

import base64

import pytest

from clusters.backends.kueue_volcano.backend import KueueVolcanoBackend
from clusters.contract import Rejected, Retryable
from tests.controlplane.api import ApiError
from tests.controlplane.console import Console, open_console
from tests.controlplane.plane import Plane

pytestmark = pytest.mark.django_db(transaction=True)
SPACE = "slu-vision-000000"


@pytest.fixture
def console(plane: Plane, transactional_db: None) -> Console:
    return open_console(plane)


def stored(console: Console, name: str) -> dict[str, str] | None:
    found = console.plane.client.find(f"/api/v1/namespaces/{SPACE}/secrets/{name}")
    return None if found is None else {key: base64.b64decode(value).decode() for key, value in found["data"].items()}


def test_a_secret_is_written_changed_and_dropped(console: Console) -> None:
    backend = KueueVolcanoBackend(console.cluster)
    backend.put_secret(SPACE, "slu-env", {"TOKEN": b"one"})
    backend.put_secret(SPACE, "slu-env", {"TOKEN": b"two"})
    assert stored(console, "slu-env") == {"TOKEN": "two"}
    for _ in range(2):
        backend.drop_secret(SPACE, "slu-env")
    assert stored(console, "slu-env") is None


def test_a_secret_of_somebody_else_is_left_alone(console: Console) -> None:
    foreign = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "theirs"}, "stringData": {"A": "b"}}
    console.plane.request("POST", f"/api/v1/namespaces/{SPACE}/secrets", foreign)
    backend = KueueVolcanoBackend(console.cluster)
    with pytest.raises(Rejected, match="theirs"):
        backend.put_secret(SPACE, "theirs", {"TOKEN": b"one"})
    with pytest.raises(Rejected, match="theirs"):
        backend.drop_secret(SPACE, "theirs")
    assert stored(console, "theirs") == {"A": "b"}


def test_a_space_that_is_not_there_yet_is_waited_for(console: Console) -> None:
    with pytest.raises(Retryable):
        KueueVolcanoBackend(console.cluster).put_secret("slu-later-000000", "slu-env", {"TOKEN": b"one"})


def test_the_account_cannot_read_what_it_wrote(console: Console) -> None:
    KueueVolcanoBackend(console.cluster).put_secret(SPACE, "slu-env", {"TOKEN": b"one"})
    client = console.plane.client_of("runtime")
    for path in ("/slu-env", ""):
        with pytest.raises(ApiError) as caught:
            client.request("GET", f"/api/v1/namespaces/{SPACE}/secrets{path}")
        assert caught.value.status == 403
    with pytest.raises(ApiError) as caught:  # this one would answer with everything that it would delete
        client.request("DELETE", f"/api/v1/namespaces/{SPACE}/secrets?dryRun=All")
    assert caught.value.status == 403
    client.close()
