"""What is taken from a kubeconfig, and everything that is refused by name."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from clusters.backends.kueue_volcano.addresses import AddressProblem, Server
from clusters.backends.kueue_volcano.kubeconfig import (
    SIZE_MAX,
    Access,
    KubeconfigError,
    Problem,
    parse_kubeconfig,
    token_end,
)
from tests.certificates import (
    END,
    LATER,
    START,
    TOKEN,
    as_file,
    authority,
    base64_of,
    client,
    client_entries,
    issue,
    kubeconfig,
    kubeconfig_file,
    token_that_ends,
)


def refusal(data: bytes, context: str = "") -> KubeconfigError:
    with pytest.raises(KubeconfigError) as caught:
        parse_kubeconfig(data, context)
    return caught.value


def code(data: bytes, context: str = "") -> StrEnum:
    return refusal(data, context).code


# --------------------------------------------------------------------------- what is taken


def test_server_ca_and_token_are_taken() -> None:
    access = parse_kubeconfig(kubeconfig_file())
    assert access == Access(
        server=Server("10.1.2.3", 6443), ca_pem=authority().certificate, token=TOKEN, ca_valid_until=END
    )


def test_server_ca_and_client_certificate_are_taken() -> None:
    access = parse_kubeconfig(kubeconfig_file(**client_entries()))
    assert (access.token, access.client_cert_pem, access.client_key_pem) == ("", client().certificate, client().key)
    assert (access.valid_from, access.valid_until) == (START, END)


def test_json_is_read_as_well() -> None:
    assert parse_kubeconfig(json.dumps(kubeconfig()).encode()).token == TOKEN


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm() -> None:
    data = b"\xef\xbb\xbf" + kubeconfig_file().replace(b"\n", b"\r\n")
    assert parse_kubeconfig(data).token == TOKEN


def test_entries_that_say_nothing_are_passed_over() -> None:
    quiet = {"insecure-skip-tls-verify": False, "proxy-url": "", "extensions": [{"name": "minikube"}], "exec": None}
    assert parse_kubeconfig(kubeconfig_file(cluster=quiet)).token == TOKEN


def test_only_certificates_are_kept_of_a_ca_file() -> None:
    bundle = f"subject=/CN=first\n{authority().certificate}{authority().key}{authority('second').certificate}"
    access = parse_kubeconfig(kubeconfig_file(cluster={"certificate-authority-data": base64_of(bundle)}))
    assert access.ca_pem == authority().certificate + authority("second").certificate


def test_the_chain_of_a_client_certificate_is_kept() -> None:
    entries = client_entries()
    entries["client-certificate-data"] = base64_of(client().certificate + authority().certificate)
    access = parse_kubeconfig(kubeconfig_file(**entries))
    assert access.client_cert_pem == client().certificate + authority().certificate


def test_a_key_in_its_older_spelling_is_taken() -> None:
    key = load_pem_private_key(client().key.encode(), None)
    older = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    entries = client_entries() | {"client-key-data": base64.b64encode(older).decode()}
    assert parse_kubeconfig(kubeconfig_file(**entries)).client_key_pem == client().key


def test_nothing_secret_shows_in_a_repr() -> None:
    access = parse_kubeconfig(kubeconfig_file())
    assert repr(access) == str(access) == "<Access https://10.1.2.3:6443>"


def test_the_end_of_a_ca_is_known() -> None:
    old = issue("old", is_authority=True, end=datetime(2026, 2, 1, tzinfo=UTC))
    assert parse_kubeconfig(kubeconfig_file(ca=old)).ca_valid_until == datetime(2026, 2, 1, tzinfo=UTC)


# --------------------------------------------------------------------------- contexts


def two_contexts(current: str | None) -> dict[str, Any]:
    config = kubeconfig()
    config["contexts"].append({"name": "other", "context": {"cluster": "there", "user": "you"}})
    config["users"].append({"name": "you", "user": {"token": "another"}})
    del config["current-context"]
    if current is not None:
        config["current-context"] = current
    return config


def test_the_current_context_is_taken_unless_one_is_named() -> None:
    data = as_file(two_contexts("other"))
    assert parse_kubeconfig(data).token == "another"
    assert parse_kubeconfig(data, "main").token == TOKEN


@pytest.mark.parametrize("current", [None, ""])
def test_several_contexts_need_a_choice(current: str | None) -> None:
    assert code(as_file(two_contexts(current))) is Problem.CONTEXT_UNCLEAR


def test_a_single_context_needs_no_choice() -> None:
    config = kubeconfig()
    del config["current-context"]
    assert parse_kubeconfig(as_file(config)).token == TOKEN


def test_a_context_that_is_not_there_is_named() -> None:
    assert (code(kubeconfig_file(), "elsewhere"), refusal(kubeconfig_file(), "elsewhere").name) == (
        Problem.CONTEXT_UNKNOWN,
        "elsewhere",
    )
    assert code(as_file(two_contexts("gone"))) is Problem.CONTEXT_UNKNOWN


def test_what_other_contexts_use_does_not_matter() -> None:
    config = two_contexts("main")
    config["users"][1]["user"] = {"exec": {"command": "/bin/sh"}}
    assert parse_kubeconfig(as_file(config)).token == TOKEN


# --------------------------------------------------------------------------- refused by name


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    config = copy.deepcopy(kubeconfig())
    change(config)
    return as_file(config)


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"proxy-url": "http://127.0.0.1:3128"}, Problem.PROXY),
        ({"insecure-skip-tls-verify": True}, Problem.INSECURE),
        ({"insecure-skip-tls-verify": "yes"}, Problem.INSECURE),
        ({"insecure-skip-tls-verify": "TRUE", "certificate-authority-data": None}, Problem.INSECURE),
        ({"tls-server-name": "kubernetes"}, Problem.TLS_SERVER_NAME),
        ({"certificate-authority": "/etc/kubernetes/pki/ca.crt"}, Problem.CA_FILE),
        ({"certificate-authority-data": None}, Problem.CA_MISSING),
        ({"certificate-authority-data": ""}, Problem.CA_MISSING),
        ({"certificate-authority-data": "%%%"}, Problem.CA_BAD),
        ({"certificate-authority-data": base64_of("no certificate")}, Problem.CA_BAD),
        ({"certificate-authority-data": base64_of(client().key)}, Problem.CA_BAD),
        ({"certificate-authority-data": base64_of(authority().certificate.replace("M", "N", 9))}, Problem.CA_BAD),
        ({"server": None}, Problem.SERVER_MISSING),
        ({"server": "http://10.1.2.3:8080"}, AddressProblem.NOT_HTTPS),
        ({"server": "https://admin:pw@10.1.2.3"}, AddressProblem.USER_INFO),
        ({"server": "https://10.1.2.3/k8s/clusters/c-1"}, AddressProblem.PATH),
        ({"server": "https://2130706433"}, AddressProblem.ODD),
        ({"certificate-authority-file": "x"}, Problem.UNKNOWN_ENTRY),
    ],
)
def test_a_cluster_says_only_where_and_by_which_ca(entry: dict[str, Any], problem: StrEnum) -> None:
    assert code(kubeconfig_file(cluster=entry)) is problem


@pytest.mark.parametrize(
    ("user", "problem"),
    [
        ({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/sh"}}, Problem.EXEC),
        ({"exec": {"command": "aws"}, "token": TOKEN}, Problem.EXEC),
        ({"auth-provider": {"name": "gcp"}}, Problem.AUTH_PROVIDER),
        ({"username": "admin", "password": "pw"}, Problem.PASSWORD),
        ({"password": "pw", "token": TOKEN}, Problem.PASSWORD),
        ({"tokenFile": "/var/run/secrets/token"}, Problem.TOKEN_FILE),
        ({"tokenFile": "/etc/passwd", "token": TOKEN}, Problem.TOKEN_FILE),
        ({"client-certificate": "/c.crt", "client-key": "/c.key"}, Problem.CERTIFICATE_FILE),
        ({"token": TOKEN, "as": "system:admin"}, Problem.IMPERSONATION),
        ({"token": TOKEN, "as-groups": ["system:masters"]}, Problem.IMPERSONATION),
        ({"token": TOKEN, "oidc": "x"}, Problem.UNKNOWN_ENTRY),
        ({"token": "two words"}, Problem.TOKEN_BAD),
        ({"token": "line\r\nX-Remote-User: admin"}, Problem.TOKEN_BAD),
        ({"token": "tök"}, Problem.TOKEN_BAD),
        ({"token": "x" * 20_000}, Problem.TOKEN_BAD),
        ({"token": ""}, Problem.ACCOUNT_MISSING),
        ({"token": TOKEN, **client_entries()}, Problem.ACCOUNT_UNCLEAR),
        ({"client-certificate-data": base64_of(client().certificate)}, Problem.CERTIFICATE_INCOMPLETE),
        ({"client-key-data": base64_of(client().key)}, Problem.CERTIFICATE_INCOMPLETE),
        ({**client_entries(), "client-certificate-data": "%%%"}, Problem.CERTIFICATE_BAD),
        ({**client_entries(), "client-key-data": base64_of("no key")}, Problem.KEY_BAD),
        ({**client_entries(), "client-key-data": base64_of(client().locked_key())}, Problem.KEY_LOCKED),
        ({**client_entries(), "client-key-data": base64_of(authority().key)}, Problem.KEY_FOREIGN),
    ],
)
def test_a_user_shows_one_token_or_one_certificate(user: dict[str, Any], problem: Problem) -> None:
    assert code(kubeconfig_file(**user)) is problem


def test_a_refused_entry_is_named() -> None:
    assert refusal(kubeconfig_file(token=TOKEN, oidc="x")).name == "oidc"


@pytest.mark.parametrize("key", [f"token {TOKEN}", TOKEN, "eyJhbGciOi.J9"])
def test_a_secret_in_the_place_of_a_name_is_not_repeated(key: str) -> None:
    assert refusal(kubeconfig_file(**{key: "x"})).name == ""


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", Problem.NOT_KUBECONFIG),
        (b"# nothing\n", Problem.NOT_KUBECONFIG),
        (b"[]", Problem.NOT_KUBECONFIG),
        (b"just words", Problem.NOT_KUBECONFIG),
        (b"{}", Problem.NOT_KUBECONFIG),
        (b"a: [b", Problem.NOT_YAML),
        (b"a:\n\t- b", Problem.NOT_YAML),
        (b"%YAML " + b"9" * 5000 + b".1\n---\na: b", Problem.NOT_YAML),
        (rb'a: "\UFFFFFFFF"', Problem.NOT_YAML),
        (b"a: \x00", Problem.NOT_YAML),
        (b"\xff\xfea\x00", Problem.NOT_TEXT),
        (b"a: &x b\nc: *x", Problem.ALIASES),
        (b"a: &x b", Problem.ALIASES),
        (b"a: *x", Problem.ALIASES),
        (b"a: !!python/object/apply:os.system ['id']", Problem.TAGS),
        (b"a: !!str b", Problem.TAGS),
        (b"!x {}", Problem.TAGS),
        (b"a: b\na: c", Problem.DUPLICATE_KEY),
        (b"a: {b: c, b: c}", Problem.DUPLICATE_KEY),
        (b"? [a]\n: b", Problem.NOT_KUBECONFIG),
        (b"[" * 60_000, Problem.TOO_DEEP),
        (b"- " * 30_000, Problem.TOO_DEEP),
        (b"{a: " * 15_000, Problem.TOO_DEEP),
        (b"a: b\n---\nc: d", Problem.SEVERAL_DOCUMENTS),
        (b"#" * (SIZE_MAX + 1), Problem.TOO_LARGE),
    ],
)
def test_a_file_is_one_plain_document(data: bytes, problem: Problem) -> None:
    assert code(data) is problem


def test_the_largest_file_is_read() -> None:
    data = kubeconfig_file()
    assert parse_kubeconfig(data + b"#" * (SIZE_MAX - len(data))).token == TOKEN


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda c: c.update(kind="Secret"), Problem.NOT_KUBECONFIG),
        (lambda c: c.update(apiVersion="v2"), Problem.NOT_KUBECONFIG),
        (lambda c: c.pop("clusters"), Problem.NOT_KUBECONFIG),
        (lambda c: c.update(clusters="there"), Problem.NOT_KUBECONFIG),
        (lambda c: c.update(users=[None]), Problem.NOT_KUBECONFIG),
        (lambda c: c["contexts"][0].update(context="there"), Problem.NOT_KUBECONFIG),
        (lambda c: c["clusters"][0]["cluster"].update(server=["https://10.1.2.3"]), Problem.NOT_KUBECONFIG),
        (lambda c: c["users"][0]["user"].update(token={"a": "b"}), Problem.NOT_KUBECONFIG),
        (lambda c: c.update(contexts=[]), Problem.CONTEXT_MISSING),
        (lambda c: c.update(contexts=None), Problem.CONTEXT_MISSING),
        (lambda c: c.update(clusters=[]), Problem.CLUSTER_MISSING),
        (lambda c: c.update(users=None), Problem.USER_MISSING),
        (lambda c: c["contexts"][0]["context"].update(user="nobody"), Problem.USER_MISSING),
        (lambda c: c["contexts"][0]["context"].update(cluster="nowhere"), Problem.CLUSTER_MISSING),
        (lambda c: c["users"].append(c["users"][0] | {"user": {}}), Problem.DUPLICATE_NAME),
        (lambda c: c["contexts"].append({"name": "main"}), Problem.DUPLICATE_NAME),
    ],
)
def test_a_file_has_the_parts_of_a_kubeconfig(change: Callable[[dict[str, Any]], object], problem: Problem) -> None:
    assert code(changed(change)) is problem


def test_a_certificate_with_a_slip_is_read_or_refused() -> None:
    """Each seventh byte of a certificate is turned over, so that everything in it breaks once."""
    whole = x509.load_pem_x509_certificate(authority().certificate.encode()).public_bytes(Encoding.DER)
    found = set()
    for position in range(0, len(whole), 7):
        broken = bytearray(whole)
        broken[position] ^= 0xFF
        pem = f"-----BEGIN CERTIFICATE-----\n{base64.encodebytes(broken).decode()}-----END CERTIFICATE-----\n"
        try:
            parse_kubeconfig(kubeconfig_file(cluster={"certificate-authority-data": base64_of(pem)}))
        except KubeconfigError as error:
            found.add(error.code)
    assert found == {Problem.CA_BAD}


# --------------------------------------------------------------------------- tokens that end


def test_a_token_says_when_it_ends() -> None:
    assert parse_kubeconfig(kubeconfig_file(token=token_that_ends(LATER))).valid_until == LATER


@pytest.mark.parametrize(
    "token",
    ["opaque", "a.b", "a.b.c", "..", "a.!!!.c", f"a.{base64.urlsafe_b64encode(b'[]').decode()}.c"]
    + [
        f"a.{base64.urlsafe_b64encode(claims).decode().rstrip('=')}.c"
        for claims in (b"{}", b'{"exp": null}', b'{"exp": 1e400}', b'{"exp": 1e30}', b'{"exp": "x"}', b"[" * 9_000)
    ],
)
def test_a_token_that_does_not_say_when_it_ends_is_no_problem(token: str) -> None:
    assert token_end(token) is None
