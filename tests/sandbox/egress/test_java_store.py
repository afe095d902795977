"""Certificates in the form of a JVM's own store."""

from __future__ import annotations

import shutil
import ssl
import subprocess

import pytest

from gateway.sandbox.egress.authority import Authority, available, system_bundle
from gateway.sandbox.egress.java_store import PASSWORD, store_of


@pytest.mark.skipif(shutil.which("keytool") is None or not available(), reason="the oracle is keytool")
def test_java_reads_each_certificate_of_a_bundle(tmp_path) -> None:
    own = Authority().certificate()
    bundle = (
        own + b"-----BEGIN CERTIFICATE-----\nno base64!\n-----END CERTIFICATE-----\n" + own + system_bundle()[:20_000]
    )
    path = tmp_path / "store"
    path.write_bytes(store_of(bundle))
    words = ["keytool", "-J-XX:TieredStopAtLevel=1", "-list", "-rfc", "-keystore", str(path), "-storepass", PASSWORD]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    kept = told.split("-----BEGIN CERTIFICATE-----")[1:]
    assert told.count("trustedCertEntry") == len(kept) > 3
    read = {
        ssl.PEM_cert_to_DER_cert("-----BEGIN CERTIFICATE-----" + each.partition("\n\n")[0].strip()) for each in kept
    }
    assert ssl.PEM_cert_to_DER_cert(own.decode()) in read
    assert len(read) == len(kept)
