"""Certificates for hosts whose requests get a header: made for this process, trusted by its sandboxes only.

Made in this process by the package `cryptography`, which is imported when the first one is needed: no program is
started for it, and no key of the authority is ever written to a file.
"""

from __future__ import annotations

import contextlib
import os
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl

    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey
    from cryptography.x509 import Certificate, CertificateBuilder, GeneralName, KeyUsage, Name

DAYS = 7
MAX_CONTEXTS = 256
BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/etc/pki/tls/cacert.pem",
)


class AuthorityError(Exception):
    """No certificates can be made here; the message says why."""


class Authority:
    """A certificate authority that lives as long as this process, in its memory alone. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._own: tuple[EllipticCurvePrivateKey, Certificate] | None = None
        self._contexts: dict[str, ssl.SSLContext] = {}

    def certificate(self) -> bytes:
        """Its own certificate (PEM). Raises AuthorityError."""
        with self._lock:
            return _pem(self._signer()[1])

    def known(self, host: str) -> ssl.SSLContext | None:
        """What `context` has given before, at once; None where it would have to be made."""
        return self._contexts.get(host)

    def context(self, host: str) -> ssl.SSLContext:
        """For serving TLS as a host. Raises AuthorityError."""
        with self._lock:
            known = self._contexts.get(host)
            if known is None:
                if len(self._contexts) >= MAX_CONTEXTS:
                    self._contexts.clear()
                known = self._contexts[host] = _context(host, *self._signer())
            return known

    def close(self) -> None:
        """Forgets its keys and all that was made with them; the next certificate is of a new authority."""
        with self._lock:
            self._own = None
            self._contexts.clear()

    def forget(self) -> None:
        """In a fork of this process: the keys are the parent's."""
        self._lock = threading.Lock()
        self._own = None
        self._contexts = {}

    def _signer(self) -> tuple[EllipticCurvePrivateKey, Certificate]:
        if self._own is None:
            self._own = _authority()
        return self._own


def available() -> bool:
    """Whether certificates can be made here."""
    try:
        from cryptography import x509  # noqa: F401
    except ImportError:
        return False
    return True


def system_bundle() -> bytes:
    """The certificates that this host trusts (PEM); empty when there is no such file."""
    named = os.environ.get("SSL_CERT_FILE", "")
    for path in (named, *BUNDLES):
        if path:
            with contextlib.suppress(OSError), open(path, "rb") as file:
                return file.read()
    return b""


def _context(host: str, key: EllipticCurvePrivateKey, issuer: Certificate) -> ssl.SSLContext:
    """What serves TLS as a host, with a certificate of its own. Raises AuthorityError."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        load_chain(context, b"".join(_leaf(host, key, issuer)))
    except (OSError, ValueError, ssl.SSLError) as error:
        raise AuthorityError(f"a certificate could not be used: {error}") from None
    return context


def load_chain(context: ssl.SSLContext, pem: bytes) -> None:
    """A certificate and its key, for a context. `ssl` takes both from a file only: one in memory, which nobody else can
    open. Raises OSError, which ssl.SSLError is, and ValueError; a key that is encrypted is none."""
    descriptor = os.memfd_create("gateway-key", os.MFD_CLOEXEC)
    with os.fdopen(descriptor, "wb") as file:
        file.write(pem)
        file.flush()
        context.load_cert_chain(f"/proc/self/fd/{descriptor}", password=lambda: b"")


def _authority() -> tuple[EllipticCurvePrivateKey, Certificate]:
    """A new key, and the certificate that says what it may do: sign certificates of hosts. Raises AuthorityError."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError as error:
        raise AuthorityError(f"the package `cryptography` cannot be loaded: {error}") from None

    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("gateway for this process only")
    builder = _built(name, name, key.public_key())
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(signs=True), critical=True)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    return key, builder.sign(key, hashes.SHA256())


def _leaf(host: str, key: EllipticCurvePrivateKey, issuer: Certificate) -> tuple[bytes, bytes]:
    """The certificate of a host and its key (PEM). Raises ValueError for what is no host."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID

    own = ec.generate_private_key(ec.SECP256R1())
    identifier = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    builder = _built(_name("gateway"), issuer.subject, own.public_key())
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(x509.SubjectAlternativeName([_named(host)]), critical=False)
    builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    builder = builder.add_extension(_usage(signs=False), critical=True)
    builder = builder.add_extension(
        x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False
    )
    made = builder.sign(key, hashes.SHA256())
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return _pem(made), own.private_bytes(serialization.Encoding.PEM, form, plain)


def _built(subject: Name, issuer: Name, key: EllipticCurvePublicKey) -> CertificateBuilder:
    """What every certificate has."""
    from datetime import UTC, datetime, timedelta

    from cryptography import x509

    now = datetime.now(UTC)
    return x509.CertificateBuilder(
        issuer, subject, key, x509.random_serial_number(), now - timedelta(minutes=5), now + timedelta(days=DAYS)
    )


def _name(text: str) -> Name:
    from cryptography import x509

    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def _named(host: str) -> GeneralName:
    """A host as a certificate names it."""
    import ipaddress

    from cryptography import x509

    if ":" in host or host.rpartition(".")[2].isdigit():
        return x509.IPAddress(ipaddress.ip_address(host))
    return x509.DNSName(host)


def _usage(*, signs: bool) -> KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not signs, key_cert_sign=signs, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, crl_sign=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _pem(certificate: Certificate) -> bytes:
    from cryptography.hazmat.primitives import serialization

    return certificate.public_bytes(serialization.Encoding.PEM)
