"""The certificates of one control plane: an authority of its own, and what it signs."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = timedelta(days=365)
CLOCK_SKEW = timedelta(hours=1)
ADDRESSES = ("127.0.0.1", "10.0.0.1")
HOSTS = ("localhost", "kubernetes.default.svc")


class Authority:
    """Signs certificates into a folder; one that is there already is kept, so that a state folder can be used again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.certificate = folder / "ca.crt"
        if self.certificate.exists():
            self._key = _load_key(folder / "ca.key")
        else:
            self._key = _new_key(folder / "ca.key")
            _write(self.certificate, self._sign(_name("plane-ca", ()), self._key, is_authority=True))

    @property
    def bundle(self) -> str:
        """The authority's certificate, as webhook configurations and kubeconfigs want it."""
        return base64.b64encode(self.certificate.read_bytes()).decode()

    def issue(self, file: str, common_name: str, organizations: Sequence[str] = ()) -> tuple[Path, Path]:
        """A certificate and its key, good for serving on loopback and for signing in as ``common_name``."""
        certificate, key_file = self.folder / f"{file}.crt", self.folder / f"{file}.key"
        if not certificate.exists():
            key = _new_key(key_file)
            _write(certificate, self._sign(_name(common_name, organizations), key))
        return certificate, key_file

    def key_pair(self, file: str) -> tuple[Path, Path]:
        """A public and a private key without a certificate: what service account tokens are signed with."""
        public, private = self.folder / f"{file}.pub", self.folder / f"{file}.key"
        if not public.exists():
            key = _new_key(private).public_key()
            public.write_bytes(
                key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
            )
        return public, private

    def _sign(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, is_authority: bool = False
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(_name("plane-ca", ()))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - CLOCK_SKEW)
            .not_valid_after(now + LIFETIME)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        if not is_authority:
            names = [x509.DNSName(host) for host in HOSTS]
            addresses = [x509.IPAddress(ip_address(address)) for address in ADDRESSES]
            usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
            builder = builder.add_extension(x509.SubjectAlternativeName([*names, *addresses]), critical=False)
            builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        return builder.sign(self._key, hashes.SHA256())


def _name(common_name: str, organizations: Sequence[str]) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organizations]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _new_key(file: Path) -> ec.EllipticCurvePrivateKey:
    key = ec.generate_private_key(ec.SECP256R1())
    file.touch(mode=0o600)
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    return key


def _load_key(file: Path) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(file.read_bytes(), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key


def _write(file: Path, certificate: x509.Certificate) -> None:
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
