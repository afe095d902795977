"""Certificates for hosts whose requests get a header: made for this process, trusted by its sandboxes only.

Made with the `openssl` program. Where there is none, headers are added to plain requests to the proxy only.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl

DAYS = 7
SECONDS = 20.0
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
    """A certificate authority that lives as long as this process. Thread-safe; `close` deletes its keys."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folder = ""
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._delete: weakref.finalize[[str, bool], Authority] | None = None

    def certificate(self) -> bytes:
        """Its own certificate (PEM). Raises AuthorityError."""
        with self._lock:
            return self._read("ca.pem")

    def context(self, host: str) -> ssl.SSLContext:
        """For serving TLS as a host. Raises AuthorityError."""
        with self._lock:
            known = self._contexts.get(host)
            if known is None:
                if len(self._contexts) >= MAX_CONTEXTS:
                    self._contexts.clear()
                known = self._contexts[host] = self._make(host)
            return known

    def close(self) -> None:
        with self._lock:
            self._folder = ""
            self._contexts.clear()
            if self._delete is not None:
                self._delete()
                self._delete = None

    def forget(self) -> None:
        """In a fork of this process: the keys are the parent's."""
        self._lock = threading.Lock()
        self._folder = ""
        self._contexts = {}
        if self._delete is not None:
            self._delete.detach()
            self._delete = None

    def _read(self, name: str) -> bytes:
        if not self._folder:
            folder = tempfile.mkdtemp(prefix="gateway-ca-")  # mode 0700
            try:
                _openssl_authority(folder)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            self._folder = folder
            self._delete = weakref.finalize(self, shutil.rmtree, folder, True)
        try:
            with open(os.path.join(self._folder, name), "rb") as file:
                return file.read()
        except OSError as error:
            raise AuthorityError(f"the certificate authority of this process is gone: {error.strerror}") from None

    def _make(self, host: str) -> ssl.SSLContext:
        import ssl

        self._read("ca.pem")
        kind = "IP" if ":" in host or host.rpartition(".")[2].isdigit() else "DNS"
        _openssl_leaf(self._folder, host, kind)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        try:
            context.load_cert_chain(os.path.join(self._folder, "leaf.pem"), os.path.join(self._folder, "leaf.key"))
        except (OSError, ssl.SSLError) as error:
            raise AuthorityError(f"a certificate could not be used: {error}") from None
        return context


def available() -> bool:
    """Whether certificates can be made here."""
    return shutil.which("openssl") is not None


def system_bundle() -> bytes:
    """The certificates that this host trusts (PEM); empty when there is no such file."""
    named = os.environ.get("SSL_CERT_FILE", "")
    for path in (named, *BUNDLES):
        if path:
            with contextlib.suppress(OSError), open(path, "rb") as file:
                return file.read()
    return b""


def _openssl(folder: str, *arguments: str) -> None:
    program = shutil.which("openssl")
    if program is None:
        raise AuthorityError("the `openssl` program is not there")
    try:
        done = subprocess.run(
            [program, *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            env={"PATH": os.defpath, "OPENSSL_CONF": os.devnull},
            umask=0o077,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise AuthorityError(f"openssl could not be run: {error}") from None
    if done.returncode:
        raise AuthorityError(f"openssl failed: {done.stderr.decode('utf-8', 'replace').strip()[-300:]}")


_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-sha256")
_CONFIG = "[req]\ndistinguished_name=dn\nprompt=no\n[dn]\nCN={name}\n[ext]\n{extensions}\n"


def _write(folder: str, name: str, text: str) -> None:
    with open(os.path.join(folder, name), "w", encoding="ascii") as file:
        file.write(text)


def _openssl_authority(folder: str) -> None:
    extensions = "basicConstraints=critical,CA:TRUE,pathlen:0\nkeyUsage=critical,keyCertSign\nsubjectKeyIdentifier=hash"
    _write(folder, "ca.cnf", _CONFIG.format(name="gateway for this process only", extensions=extensions))
    _openssl(
        folder, "req", "-x509", "-config", "ca.cnf", "-extensions", "ext", *_NEW_KEY,
        "-keyout", "ca.key", "-out", "ca.pem", "-days", str(DAYS),
    )  # fmt: skip


def _openssl_leaf(folder: str, host: str, kind: str) -> None:
    extensions = (
        f"basicConstraints=critical,CA:FALSE\nsubjectAltName={kind}:{host}\nextendedKeyUsage=serverAuth\n"
        "keyUsage=critical,digitalSignature\nauthorityKeyIdentifier=keyid"
    )
    _write(folder, "leaf.cnf", _CONFIG.format(name="gateway", extensions=extensions))
    _openssl(folder, "req", "-new", "-config", "leaf.cnf", *_NEW_KEY, "-keyout", "leaf.key", "-out", "leaf.csr")
    serial = "0x" + os.urandom(15).hex()
    _openssl(
        folder, "x509", "-req", "-in", "leaf.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-set_serial", serial,
        "-days", str(DAYS), "-sha256", "-extfile", "leaf.cnf", "-extensions", "ext", "-out", "leaf.pem",
    )  # fmt: skip
