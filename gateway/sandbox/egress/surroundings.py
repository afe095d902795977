"""What the command is given so that its programs find the proxy: variables and files. Constant for a `Network`."""

from __future__ import annotations

import os
import shutil

from gateway.core.value import Value
from gateway.sandbox.egress import offline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.plan import Network

# Below 1024: a command without capabilities can neither take these ports nor miss them.
PROXY_ADDRESS, PROXY_PORT = "127.0.0.1", 808
DNS_PORT = 53
CERTIFICATES = "/run/gateway-certificates.pem"
_PROXY = f"http://{PROXY_ADDRESS}:{PROXY_PORT}"
_OURSELVES = "localhost,127.0.0.1,127.0.0.0/8,::1,.localhost"
# ALL_PROXY is an HTTP proxy too: programs without a SOCKS library (httpx) fail to start on `socks5h`.
_VARIABLES = tuple(
    (spelling, value)
    for name, value in (
        ("ALL_PROXY", _PROXY), ("HTTP_PROXY", _PROXY), ("HTTPS_PROXY", _PROXY), ("NO_PROXY", _OURSELVES),
    )
    for spelling in (name, name.lower())
)  # fmt: skip
# Each replaces the certificates a program trusts, but NODE_EXTRA_CA_CERTS, which adds to them: the file holds all.
_TRUST = (
    "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", "CURL_CA_BUNDLE", "DENO_CERT",
    "GIT_SSL_CAINFO", "NIX_SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "NPM_CONFIG_CAFILE", "PIP_CERT", "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE", "YARN_HTTPS_CA_FILE_PATH",
)  # fmt: skip
# Where systems keep the certificates that programs trust which heed none of these (wget, apt).
_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)  # fmt: skip
# Where JVMs keep theirs, beside the one that belongs to each: links to one of these, or files of their own.
_JAVA_STORES = (
    "/etc/ssl/certs/java/cacerts", "/etc/pki/java/cacerts", "/etc/pki/ca-trust/extracted/java/cacerts",
    "/var/lib/ca-certificates/java-cacerts", "/etc/ssl/java-cacerts",
)  # fmt: skip
_OF_A_JVM = ("lib/security/cacerts", "jre/lib/security/cacerts")
# The name that sandboxes give themselves; others keep the host's.
HOSTNAME, OWN_ADDRESS = "sandbox", "127.0.1.1"
_HOSTS = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n{own} {names}\n"
_RESOLVER = "nameserver {address}\noptions timeout:25 attempts:1\n"


class Place(Value):
    """Where the listeners of a call are in its network. `alone`: no other call is in that, else all that is the call's
    has addresses of its own. `block`: the first numbers of these."""

    address: str = PROXY_ADDRESS
    alone: bool = True
    block: str = "127.1"

    def address_of(self, number: int) -> str:
        """The address that stands for the name with this number, from 1; "" where there are no more."""
        if self.alone:
            return f"{self.block}.{number >> 8}.{number & 255}"
        return f"{self.block}.{number + 1}" if number < 254 else ""


ALONE = Place()


def beside_others() -> Place:
    """One in a network that a call shares with others: any that is most likely nobody's. Whose it is decides whoever
    listens there first; that takes rights that commands do not have."""
    drawn = os.urandom(2)
    block = f"127.{2 + drawn[0] % 250}.{drawn[1]}"
    return Place(f"{block}.1", alone=False, block=block)


def variables(network: Network, certificates: bool) -> tuple[tuple[str, str], ...]:
    """Names and values, sorted. `certificates`: requests to some hosts are answered with certificates of ours."""
    if network.mode == "off":
        return ()
    told = tuple((each.told, f"tcp://{each.host}:80") for each in network.allow if each.socket)
    trust = tuple((name, CERTIFICATES) for name in _TRUST) if certificates else ()
    installing = tuple(offline.variables(network.installer).items()) if network.installer else ()
    kubeconfigs = ":".join(map(os.path.realpath, network.logins.files))
    named = (("KUBECONFIG", kubeconfigs),) if kubeconfigs else ()
    return tuple(sorted(_VARIABLES + trust + told + installing + named))


def own_names() -> tuple[str, ...]:
    """The names by which a sandbox may know itself."""
    return tuple(dict.fromkeys((HOSTNAME, os.uname().nodename.lower())))


def files(network: Network, certificates: bytes, place: Place = ALONE) -> tuple[tuple[str, bytes], ...]:
    """Files of the host that the call must see with other content, as resolved paths: how names are looked up. The
    resolver and the hosts file of the host speak of addresses that do not exist inside.

    What does not exist here is left out: without a resolv.conf programs ask 127.0.0.1 by themselves.
    """
    if network.mode == "off":
        return ()
    found = []
    for path, content in (
        (
            "/etc/hosts",
            _HOSTS.format(own=OWN_ADDRESS, names=" ".join(own_names())).encode(),
        ),
        ("/etc/nsswitch.conf", _switch(_read("/etc/nsswitch.conf"))),
        ("/etc/resolv.conf", _RESOLVER.format(address=place.address).encode()),
    ):
        real = os.path.realpath(path)
        if os.path.isfile(real):
            found.append((real, content))
    if network.installer:
        found.append((offline.SHELL, offline.shell(PROXY_ADDRESS, PROXY_PORT)))
    if certificates:
        found.append((CERTIFICATES, certificates))
        bundles = {real for path in _BUNDLES if os.path.isfile(real := os.path.realpath(path))}
        found += [(real, certificates) for real in bundles]
        stores = java_stores()
        if stores:
            from gateway.sandbox.egress.java_store import store_of

            store = store_of(certificates)
            found += [(real, store) for real in stores if real not in bundles]
    if network.logins.files:
        from gateway.sandbox.egress.clusters import shown  # lazy: few calls reach a cluster

        kubeconfigs = shown(network.logins.files, CERTIFICATES, _PROXY)
        found += {os.path.realpath(path): content for path, content in kubeconfigs}.items()
    return tuple(sorted(found))


def java_stores() -> tuple[str, ...]:
    """The files of certificates that JVMs of this host trust: of the system, of the one in PATH, of JAVA_HOME."""
    java = shutil.which("java") or ""
    homes = {os.environ.get("JAVA_HOME", ""), os.path.dirname(os.path.dirname(os.path.realpath(java))) if java else ""}
    paths = [*_JAVA_STORES, *(os.path.join(home, each) for home in homes if home for each in _OF_A_JVM)]
    return tuple(sorted({real for path in paths if os.path.isfile(real := os.path.realpath(path))}))


def _switch(text: bytes) -> bytes:
    """Hosts from the hosts file and DNS, whatever services the host asks beside them."""
    kept = [line for line in text.splitlines() if not line.strip().lower().startswith(b"hosts:")]
    return b"\n".join([*kept, b"hosts: files dns", b""])


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
