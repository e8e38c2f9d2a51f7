"""What is taken from an uploaded kubeconfig: where the API server is, its CA, and one account's proof. Pure.

Everything else a kubeconfig can say is refused by name: programs to run, files to read, proxies, switched-off
checks. The file is read as text without types, aliases, tags or duplicates; only the chosen context counts.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import yaml
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from yaml.events import AliasEvent, NodeEvent
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from clusters.backends.kueue_volcano.addresses import AddressError, Server, parse_server

SIZE_MAX = 64 * 1024
DEPTH_MAX = 16
TOKEN_MAX = 16 * 1024
CERTIFICATES_MAX = 50
NAME_MAX = 60


class Problem(StrEnum):
    """Why a kubeconfig is refused. The spelling of the server adds those of `AddressProblem`."""

    TOO_LARGE = "too_large"
    NOT_TEXT = "not_text"
    NOT_YAML = "not_yaml"
    SEVERAL_DOCUMENTS = "several_documents"
    ALIASES = "aliases"
    TAGS = "tags"
    TOO_DEEP = "too_deep"
    DUPLICATE_KEY = "duplicate_key"
    NOT_KUBECONFIG = "not_kubeconfig"
    DUPLICATE_NAME = "duplicate_name"
    CONTEXT_MISSING = "context_missing"
    CONTEXT_UNCLEAR = "context_unclear"
    CONTEXT_UNKNOWN = "context_unknown"
    CLUSTER_MISSING = "cluster_missing"
    USER_MISSING = "user_missing"
    SERVER_MISSING = "server_missing"
    PROXY = "proxy"
    INSECURE = "insecure"
    TLS_SERVER_NAME = "tls_server_name"
    CA_MISSING = "ca_missing"
    CA_FILE = "ca_file"
    CA_BAD = "ca_bad"
    EXEC = "exec"
    AUTH_PROVIDER = "auth_provider"
    PASSWORD = "password"
    IMPERSONATION = "impersonation"
    TOKEN_FILE = "token_file"
    TOKEN_BAD = "token_bad"
    CERTIFICATE_FILE = "certificate_file"
    CERTIFICATE_BAD = "certificate_bad"
    CERTIFICATE_INCOMPLETE = "certificate_incomplete"
    KEY_BAD = "key_bad"
    KEY_LOCKED = "key_locked"
    KEY_FOREIGN = "key_foreign"
    ACCOUNT_MISSING = "account_missing"
    ACCOUNT_UNCLEAR = "account_unclear"
    UNKNOWN_ENTRY = "unknown_entry"


class KubeconfigError(Exception):
    """Refused. ``code`` is a `Problem` or an `AddressProblem`; ``name`` is a harmless word of the file, or empty."""

    def __init__(self, code: StrEnum, name: str = "") -> None:
        super().__init__(code.value)
        self.code = code
        self.name = "".join(sign for sign in name if sign.isprintable())[:NAME_MAX]


@dataclass(frozen=True, slots=True, repr=False)
class Access:
    """One account at one API server, as a kubeconfig gives it. Exactly one of token and client certificate."""

    server: Server
    ca_pem: str
    token: str = ""
    client_cert_pem: str = ""
    client_key_pem: str = ""
    valid_from: datetime | None = None
    valid_until: datetime | None = None  # of the certificate, or what the token says of itself
    ca_valid_until: datetime | None = None  # of the last CA certificate to end

    def __repr__(self) -> str:
        return f"<Access {self.server.url}>"


def parse_kubeconfig(data: bytes, context: str = "") -> Access:
    """The account of ``context``, else of the file's current context, else of its only one.

    Raises KubeconfigError, whatever the bytes are.
    """
    top = _mapping(_load(data))
    if top.get("kind", "Config") != "Config" or top.get("apiVersion", "v1") != "v1" or "clusters" not in top:
        raise KubeconfigError(Problem.NOT_KUBECONFIG)
    chosen = _mapping(_chosen_context(top, context).get("context"))
    cluster = _named(top, "clusters", _text(chosen, "cluster"))
    user = _named(top, "users", _text(chosen, "user"))
    if cluster is None:
        raise KubeconfigError(Problem.CLUSTER_MISSING, _text(chosen, "cluster"))
    if user is None:
        raise KubeconfigError(Problem.USER_MISSING, _text(chosen, "user"))
    server, authorities = _cluster(_mapping(cluster.get("cluster")))
    account = _account(_mapping(user.get("user")))
    return Access(
        server=server,
        ca_pem=_pem(authorities),
        ca_valid_until=max(authority.not_valid_after_utc for authority in authorities),
        **account,
    )


# --------------------------------------------------------------------------- YAML


class _PlainLoader(yaml.SafeLoader):
    """Scalars stay the text they are, but for nothing (null); no aliases, tags or duplicate keys."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag == "tag:yaml.org,2002:null"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        event = self.peek_event()
        if isinstance(event, AliasEvent) or (isinstance(event, NodeEvent) and event.anchor is not None):
            raise KubeconfigError(Problem.ALIASES)
        if getattr(event, "tag", None) is not None:
            raise KubeconfigError(Problem.TAGS)
        if self._depth == DEPTH_MAX:
            raise KubeconfigError(Problem.TOO_DEEP)
        self._depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1


def _load(data: bytes) -> Any:
    """The one document of the file as dicts, lists, texts and None."""
    if len(data) > SIZE_MAX:
        raise KubeconfigError(Problem.TOO_LARGE)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise KubeconfigError(Problem.NOT_TEXT) from None
    try:
        loader = _PlainLoader(text)
        if not loader.check_node():
            raise KubeconfigError(Problem.NOT_KUBECONFIG)
        root = loader.get_node()
        if loader.check_node():
            raise KubeconfigError(Problem.SEVERAL_DOCUMENTS)
    except (yaml.YAMLError, ValueError, OverflowError):  # the scanner lets some odd numbers and escapes through
        raise KubeconfigError(Problem.NOT_YAML) from None
    return _plain(root)


def _plain(node: Node | None) -> Any:
    if isinstance(node, ScalarNode):
        return None if node.tag == "tag:yaml.org,2002:null" else node.value
    if isinstance(node, SequenceNode):
        return [_plain(each) for each in node.value]
    assert isinstance(node, MappingNode)
    found: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, ScalarNode):
            raise KubeconfigError(Problem.NOT_KUBECONFIG)
        if key.value in found:
            raise KubeconfigError(Problem.DUPLICATE_KEY, _word(key.value))
        found[key.value] = _plain(value)
    return found


def _word(key: str) -> str:
    """The name of an entry for a sentence; '' for what looks like no name and might be a secret out of place."""
    return key if re.fullmatch(r"[A-Za-z-]{1,30}", key) else ""


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise KubeconfigError(Problem.NOT_KUBECONFIG)
    return value


def _text(mapping: Mapping[str, Any], key: str) -> str:
    """A text, '' when it is missing or null."""
    value = mapping.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise KubeconfigError(Problem.NOT_KUBECONFIG)
    return value


# --------------------------------------------------------------------------- contexts


def _entries(top: Mapping[str, Any], kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The named entries of a list of the file. Raises KubeconfigError for two of one name."""
    values = top.get(kind) or []
    if not isinstance(values, list):
        raise KubeconfigError(Problem.NOT_KUBECONFIG)
    seen: set[str] = set()
    for value in values:
        entry = _mapping(value)
        name = _text(entry, "name")
        if name in seen:
            raise KubeconfigError(Problem.DUPLICATE_NAME, name)
        seen.add(name)
        yield name, entry


def _named(top: Mapping[str, Any], kind: str, name: str) -> Mapping[str, Any] | None:
    return dict(_entries(top, kind)).get(name)


def _chosen_context(top: Mapping[str, Any], wanted: str) -> Mapping[str, Any]:
    contexts = dict(_entries(top, "contexts"))
    if not contexts:
        raise KubeconfigError(Problem.CONTEXT_MISSING)
    name = wanted or _text(top, "current-context")
    if not name and len(contexts) > 1:
        raise KubeconfigError(Problem.CONTEXT_UNCLEAR)
    if name and name not in contexts:
        raise KubeconfigError(Problem.CONTEXT_UNKNOWN, name)
    return contexts[name] if name else next(iter(contexts.values()))


# --------------------------------------------------------------------------- the cluster's half

_CLUSTER_ENTRIES = {"server", "certificate-authority-data", "extensions", "disable-compression"}
_USER_ENTRIES = {"token", "client-certificate-data", "client-key-data", "extensions"}
_REFUSED = {
    "proxy-url": Problem.PROXY,
    "tls-server-name": Problem.TLS_SERVER_NAME,
    "certificate-authority": Problem.CA_FILE,
    "exec": Problem.EXEC,
    "auth-provider": Problem.AUTH_PROVIDER,
    "username": Problem.PASSWORD,
    "password": Problem.PASSWORD,
    "tokenFile": Problem.TOKEN_FILE,
    "client-certificate": Problem.CERTIFICATE_FILE,
    "client-key": Problem.CERTIFICATE_FILE,
    "as": Problem.IMPERSONATION,
    "as-uid": Problem.IMPERSONATION,
    "as-groups": Problem.IMPERSONATION,
    "as-user-extra": Problem.IMPERSONATION,
}


def _only(entries: Mapping[str, Any], known: set[str]) -> None:
    """Refuse every entry that says something and is not known."""
    for key, value in entries.items():
        if key in known or value in (None, "", [], {}):
            continue
        if key == "insecure-skip-tls-verify":
            if str(value).lower() == "false":
                continue
            raise KubeconfigError(Problem.INSECURE)
        raise KubeconfigError(_REFUSED.get(key, Problem.UNKNOWN_ENTRY), _word(key))


def _cluster(cluster: Mapping[str, Any]) -> tuple[Server, list[x509.Certificate]]:
    _only(cluster, _CLUSTER_ENTRIES)
    if not (address := _text(cluster, "server")):
        raise KubeconfigError(Problem.SERVER_MISSING)
    try:
        server = parse_server(address)
    except AddressError as error:
        raise KubeconfigError(error.code) from None
    if not (authority := _text(cluster, "certificate-authority-data")):
        raise KubeconfigError(Problem.CA_MISSING)
    return server, _certificates(authority, Problem.CA_BAD)


_UNREADABLE = (ValueError, TypeError, UnsupportedAlgorithm, x509.InvalidVersion)
"""How the cryptography package says that it cannot read something."""


def _decoded(text: str, problem: Problem) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except ValueError:
        raise KubeconfigError(problem) from None


def _certificates(text: str, problem: Problem) -> list[x509.Certificate]:
    pem = _decoded(text, problem)
    try:
        found = x509.load_pem_x509_certificates(pem)
        for certificate in found:
            certificate.public_key()  # what is wrong with a key shows only when it is asked for
    except _UNREADABLE:
        raise KubeconfigError(problem) from None
    if len(found) > CERTIFICATES_MAX:
        raise KubeconfigError(problem)
    return found


def _pem(certificates: list[x509.Certificate]) -> str:
    """The certificates and nothing that stood between them."""
    return "".join(certificate.public_bytes(Encoding.PEM).decode() for certificate in certificates)


# --------------------------------------------------------------------------- the user's half

_TOKEN = re.compile(r"[\x21-\x7e]+")
_KEYS = (RSAPrivateKey, EllipticCurvePrivateKey, Ed25519PrivateKey)  # what TLS can show


def _account(user: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of Access that belong to the account."""
    _only(user, _USER_ENTRIES)
    token = _text(user, "token").strip()
    certificate, key = _text(user, "client-certificate-data"), _text(user, "client-key-data")
    if token and (certificate or key):
        raise KubeconfigError(Problem.ACCOUNT_UNCLEAR)
    if token:
        if len(token) > TOKEN_MAX or not _TOKEN.fullmatch(token):
            raise KubeconfigError(Problem.TOKEN_BAD)
        return {"token": token, "valid_until": token_end(token)}
    if not certificate and not key:
        raise KubeconfigError(Problem.ACCOUNT_MISSING)
    if not certificate or not key:
        raise KubeconfigError(Problem.CERTIFICATE_INCOMPLETE)
    chain = _certificates(certificate, Problem.CERTIFICATE_BAD)
    return {
        "client_cert_pem": _pem(chain),
        "client_key_pem": _key(_decoded(key, Problem.KEY_BAD), chain[0]),
        "valid_from": chain[0].not_valid_before_utc,
        "valid_until": chain[0].not_valid_after_utc,
    }


def _key(pem: bytes, certificate: x509.Certificate) -> str:
    """The private key of this certificate, written plainly."""
    if b"ENCRYPTED" in pem:
        raise KubeconfigError(Problem.KEY_LOCKED)
    try:
        key = load_pem_private_key(pem, password=None)
    except _UNREADABLE:
        raise KubeconfigError(Problem.KEY_BAD) from None
    if not isinstance(key, _KEYS):
        raise KubeconfigError(Problem.KEY_BAD)
    if _spki(key.public_key()) != _spki(certificate.public_key()):
        raise KubeconfigError(Problem.KEY_FOREIGN)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def _spki(key: CertificatePublicKeyTypes) -> bytes:
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def token_end(token: str) -> datetime | None:
    """When a token says that it ends; None if it does not say so. Nothing is verified: this only warns people."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return datetime.fromtimestamp(int(claims["exp"]), UTC)
    except (ValueError, TypeError, KeyError, OverflowError, OSError, RecursionError):
        return None
