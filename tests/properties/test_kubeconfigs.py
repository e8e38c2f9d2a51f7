"""Whatever is uploaded as a kubeconfig, it is read or refused in the product's own words."""

from __future__ import annotations

import json
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from clusters.backends.kueue_volcano.addresses import AddressError, parse_server
from clusters.backends.kueue_volcano.kubeconfig import Access, KubeconfigError, parse_kubeconfig
from tests.certificates import client_entries, kubeconfig, kubeconfig_file

WORDS = (
    "apiVersion kind current-context name contexts context clusters cluster users user server token exec as"
    " certificate-authority-data client-certificate-data client-key-data"
)
KEYS = st.sampled_from(WORDS.split())
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.sampled_from(["there", "me", "main"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FILE = kubeconfig_file(**client_entries())


def read(data: bytes) -> None:
    try:
        access = parse_kubeconfig(data)
    except KubeconfigError as error:
        assert len(error.name) <= 60 and (error.name.isprintable() or not error.name)
    else:
        assert isinstance(access, Access)
        assert bool(access.token) != bool(access.client_cert_pem and access.client_key_pem)
        assert access.server.url.startswith("https://")
        assert access.ca_pem


@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    read(data)


@given(st.text(alphabet="abk:-?[]{}&*!|>'\"%@`#,\n\t \\0xU", max_size=200))
def test_any_text_of_yamls_own_signs(text: str) -> None:
    read(text.encode())


@given(VALUES)
def test_any_document(value: Any) -> None:
    read(json.dumps(value).encode())


@given(st.lists(st.tuples(st.sampled_from(["contexts", "clusters", "users"]), KEYS | st.text(max_size=8), VALUES)))
def test_any_change_of_an_entry(changes: list[tuple[str, str, Any]]) -> None:
    config = kubeconfig(**client_entries())
    for kind, key, value in changes:
        entry = config[kind][0]
        inner = entry.get(kind.rstrip("s"))
        (inner if isinstance(inner, dict) else entry)[key] = value
    read(yaml.safe_dump(config, allow_unicode=True).encode())


@given(st.integers(0, len(FILE) - 1), st.integers(0, 255), st.integers(0, 3))
def test_any_slip_in_a_good_file(position: int, byte: int, dropped: int) -> None:
    read(FILE[:position] + bytes([byte]) + FILE[position + dropped :])


@given(st.text(max_size=60))
def test_any_address(text: str) -> None:
    for prefix in ("", "https://"):
        try:
            server = parse_server(prefix + text)
        except AddressError:
            continue
        assert parse_server(server.url) == server
        assert server.host.isascii() and 1 <= server.port <= 65_535
