"""Certificates and kubeconfigs made for one test run."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

START = datetime(2026, 1, 1, tzinfo=UTC)
END = datetime(2126, 1, 1, tzinfo=UTC)
SERVER = "https://10.1.2.3:6443"
TOKEN = "t0ken-that-nobody-must-ever-read-again"


@dataclass(frozen=True)
class Pair:
    """A certificate with its key, both PEM."""

    certificate: str
    key: str

    def locked_key(self) -> str:
        """The key under a passphrase."""
        return _pem_of_key(_keys[self.key], BestAvailableEncryption(b"secret"))


_keys: dict[str, ec.EllipticCurvePrivateKey] = {}


@cache
def authority(name: str = "cluster-ca") -> Pair:
    return issue(name, is_authority=True)


@cache
def client(name: str = "sluice-runtime") -> Pair:
    return issue(name, by=authority())


def issue(
    name: str,
    *,
    by: Pair | None = None,
    is_authority: bool = False,
    hosts: tuple[str, ...] = (),
    start: datetime = START,
    end: datetime = END,
) -> Pair:
    """A certificate signed by ``by``, or by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    parent = x509.load_pem_x509_certificate(by.certificate.encode()) if by else None
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(parent.subject if parent else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName([_name(host) for host in hosts]), critical=False)
    if by is not None:
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(_keys[by.key].public_key())
        builder = builder.add_extension(issuer, critical=False)
    signed = builder.sign(_keys[by.key] if by else key, hashes.SHA256())
    pair = Pair(signed.public_bytes(Encoding.PEM).decode(), _pem_of_key(key, NoEncryption()))
    _keys[pair.key] = key
    return pair


def _pem_of_key(key: ec.EllipticCurvePrivateKey, lock: Any) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock).decode()


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def base64_of(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def kubeconfig(
    *, server: str = SERVER, ca: Pair | None = None, cluster: dict[str, Any] | None = None, **user: Any
) -> dict[str, Any]:
    """A kubeconfig of one context. ``cluster`` adds to the cluster's entries, or takes away by None."""
    entries = {"server": server, "certificate-authority-data": base64_of((ca or authority()).certificate)}
    entries = {key: value for key, value in {**entries, **(cluster or {})}.items() if value is not None}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {},
        "current-context": "main",
        "contexts": [{"name": "main", "context": {"cluster": "there", "user": "me", "namespace": "default"}}],
        "clusters": [{"name": "there", "cluster": entries}],
        "users": [{"name": "me", "user": user or {"token": TOKEN}}],
    }


def kubeconfig_file(**parts: Any) -> bytes:
    """The same as a file."""
    return as_file(kubeconfig(**parts))


def as_file(config: dict[str, Any]) -> bytes:
    return yaml.safe_dump(config).encode()


def client_entries(pair: Pair | None = None) -> dict[str, str]:
    """A user's entries of a client certificate."""
    pair = pair or client()
    return {"client-certificate-data": base64_of(pair.certificate), "client-key-data": base64_of(pair.key)}


def token_that_ends(at: datetime) -> str:
    """A token as an API server makes it, but for the signature."""

    def part(value: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'RS256'})}.{part({'exp': int(at.timestamp())})}.c2lnbmF0dXJl"


LATER = START + timedelta(days=400)
