"""Web push: messages that only the browser can read (RFC 8291), sent by whom it asked for them (VAPID, RFC 8292)."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import http_ece
import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from gateway.frontends.console.remote.notices import Sent
from gateway.tools.paths import UnclearError
from gateway.tools.urls import parse

if TYPE_CHECKING:
    from gateway.frontends.console.remote.people import Browser

# Whoever may sign in says where his browser is told: at a push service, and nowhere else.
SERVICES = (
    "fcm.googleapis.com", "updates.push.services.mozilla.com", ".push.services.mozilla.com", "web.push.apple.com",
    ".push.apple.com", ".notify.windows.com",
)  # fmt: skip
_TOKEN_SECONDS = 12 * 3600
_KEPT_SECONDS = 900
_CURVE = ec.SECP256R1()


def new_key() -> str:
    """A key pair of this console, as PEM: browsers tie what they ask for to it."""
    made = ec.generate_private_key(_CURVE)
    return made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def public_key(pem: str) -> str:
    """Its public half, as browsers take it."""
    return _spelled(_point(_loaded(pem)))


def is_service(endpoint: str) -> bool:
    """Whether an address is one of a known push service's."""
    try:
        url = parse(endpoint)
    except UnclearError:
        return False
    hosts = (url.host == each or (each[0] == "." and url.host.endswith(each)) for each in SERVICES)
    return url.text.startswith("https:") and url.port == 443 and any(hosts)


def is_key(key: str, secret: str) -> bool:
    """Whether these are a point of the curve, and a secret, as browsers give them."""
    try:
        ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, _read(key))
        return len(_read(secret)) == 16
    except ValueError:
        return False


def message(pem: str, browser: Browser, told: dict[str, Any], origin: str, now: int) -> Sent:
    """A message to one browser. `origin`: who sends it, for the service's people. Raises ValueError for keys that are
    none."""
    key = _loaded(pem)
    body: bytes = http_ece.encrypt(
        json.dumps(told).encode(),
        private_key=ec.generate_private_key(_CURVE),
        dh=_read(browser.key),
        auth_secret=_read(browser.secret),
        version="aes128gcm",
    )
    parts = urlsplit(browser.endpoint)
    claims = {"aud": f"{parts.scheme}://{parts.netloc}", "exp": now + _TOKEN_SECONDS, "sub": origin}
    token = jwt.encode(claims, key, algorithm="ES256")
    return Sent(
        browser.endpoint,
        {
            "Content-Type": "application/octet-stream",
            "Content-Encoding": "aes128gcm",
            "TTL": str(_KEPT_SECONDS),
            "Urgency": "high",
            "Authorization": f"vapid t={token}, k={public_key(pem)}",
        },
        body=body,
    )


def _loaded(pem: str) -> ec.EllipticCurvePrivateKey:
    found = load_pem_private_key(pem.encode(), None)
    if not isinstance(found, ec.EllipticCurvePrivateKey):
        raise ValueError("the key of web push is none")
    return found


def _point(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _spelled(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _read(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
