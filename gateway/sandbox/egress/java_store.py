"""Certificates as programs in Java keep them: a key store of the form JKS, with certificates alone. Pure.

The form is that of `sun.security.provider.JavaKeyStore`; every JVM since 1.2 reads it, whatever form it writes itself.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import struct
from functools import lru_cache

PASSWORD = "changeit"
"""What JVMs open their own store of trusted certificates with; it guards nothing but against damage."""
_MAGIC, _VERSION, _TRUSTED = 0xFEEDFEED, 2, 2
_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)


@lru_cache(maxsize=2)
def store_of(pem: bytes) -> bytes:
    """A store of all certificates in a text (PEM); what is no base64 between the marks is left out."""
    found: dict[bytes, None] = {}
    for each in _PEM.findall(pem):
        try:
            found[base64.b64decode(b"".join(each.split()), validate=True)] = None
        except binascii.Error:
            continue
    made = struct.pack(">III", _MAGIC, _VERSION, len(found))
    for number, certificate in enumerate(found):
        made += struct.pack(">I", _TRUSTED) + _text(f"trusted-{number}") + struct.pack(">Q", 0) + _text("X.509")
        made += struct.pack(">I", len(certificate)) + certificate
    return (
        made + hashlib.sha1(PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + made, usedforsecurity=False).digest()
    )


def _text(text: str) -> bytes:
    data = text.encode("ascii")
    return struct.pack(">H", len(data)) + data
