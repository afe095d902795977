"""Logins for the clusters of a kubeconfig, sent outside of the sandbox: by header or by certificate, to a server that
the kubeconfig's own authority vouches for.

The files are read when the call starts and nothing of them enters the sandbox. A token that lies in a file is read for
each request, since it is renewed there. No value is logged or put into a message.
"""

from __future__ import annotations

import base64
import binascii
from posixpath import dirname, join, normpath
from urllib.parse import quote

from gateway.commands.steering.cluster_logins import accesses, stand_in, without_logins
from gateway.commands.steering.entries import NotRead
from gateway.core.plain_files import open_plain
from gateway.sandbox.egress.addresses import HostError, host_of
from gateway.sandbox.egress.authority import load_chain
from gateway.sandbox.egress.inject import MAX_VALUE, ClusterError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from gateway.commands.steering.cluster_logins import Access
    from gateway.model.plan import Logins
    from gateway.sandbox.egress.addresses import Host
    from gateway.sandbox.egress.http import Request

    Fields = tuple[tuple[bytes, bytes], ...]

MOST = 1 << 20
_BEARER = b"bearer "
_FOR_ANOTHER = b"impersonate-"


def texts_of(files: tuple[str, ...]) -> list[tuple[str, str]]:
    """The kubeconfigs that are there, each with its path. Raises ClusterError."""
    found = []
    for path in files:
        try:
            with open_plain(path) as file:
                found.append((path, file.read(MOST).decode("utf-8")))
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            raise ClusterError(f"{path} cannot be read: {getattr(error, 'strerror', '') or 'it is no text'}") from None
    return found


def shown(files: tuple[str, ...], authority: str, proxy: str) -> list[tuple[str, bytes]]:
    """What the call sees in the place of each file. Raises ClusterError."""
    try:
        return [(path, without_logins(text, authority, proxy).encode("utf-8")) for path, text in texts_of(files)]
    except NotRead as error:
        raise ClusterError(f"the kubeconfig cannot be read: {error}") from None


class Clusters:
    """Of one call. `logins`: which are sent; `fresh`: a context that verifies by the authorities of a PEM text, by the
    usual ones for ""."""

    def __init__(self, logins: Logins, fresh: Callable[[str], ssl.SSLContext]) -> None:
        self._logins, self._fresh = logins, fresh
        self._accesses: list[Access] | None = None
        self._contexts: dict[Access, ssl.SSLContext] = {}

    @property
    def is_loaded(self) -> bool:
        """Whether the files have been read."""
        return self._accesses is not None

    def load(self) -> None:
        """Reads the files, the first time; blocks. Raises ClusterError."""
        if self._accesses is None:
            try:
                self._accesses = accesses(texts_of(self._logins.files), self._logins.pairs)
            except NotRead as error:
                raise ClusterError(f"the kubeconfig cannot be read: {error}") from None

    def access(self, host: Host, port: int, request: Request) -> Access:
        """The cluster that a request is for, and the login that it names. Raises ClusterError."""
        for name, _value in request.fields:
            if name.replace(b"_", b"-").startswith(_FOR_ANOTHER):
                raise ClusterError("it would act for another, which only the kubeconfig says")
        path = request.path.partition(b"?")[0].decode("ascii", "replace")
        here = [each for each in self._accesses or () if each.port == port and _is(each, host)]
        below = [each for each in here if not each.base or path.startswith(f"{each.base}/")]
        if not below:
            raise ClusterError(
                "the kubeconfig names no cluster there" if not here else "the path is below no cluster's"
            )
        longest = max(len(each.base) for each in below)
        said = [value for name, value in request.fields if name == b"authorization"]
        token = said[0][len(_BEARER) :].decode("latin-1") if len(said) == 1 and _is_bearer(said[0]) else ""
        found = [each for each in below if len(each.base) == longest and stand_in(each.name) == token]
        if not found:
            raise ClusterError(
                "it does not log in by the kubeconfig that this call has, with what a context names for the cluster"
            )
        sent = [each for each in found if not each.why]
        if not sent:
            raise ClusterError(f"the login of the kubeconfig is not sent: {found[0].why}")
        if any(each.vouched() != sent[0].vouched() for each in sent):
            raise ClusterError("the kubeconfig has clusters at one place that prove in different ways to be one")
        return sent[0]

    def headers(self, access: Access) -> Fields:
        """What logs in, as headers. Raises ClusterError."""
        user = access.user
        found: list[tuple[bytes, bytes]] = []
        token = _text(user, "token")
        if path := _text(user, "tokenFile"):  # as for kubectl, it counts before the other
            token = self._beside(access, 1, path, "tokenFile").decode("utf-8", "replace").strip()
        if token:
            found.append((b"Authorization", f"Bearer {token}".encode()))
        elif name := _text(user, "username"):
            pair = f"{name}:{_text(user, 'password')}".encode()
            found.append((b"Authorization", b"Basic " + base64.b64encode(pair)))
        found += _for_another(user)
        for field, value in found:
            if len(value) > MAX_VALUE or any(byte < 0x20 or byte == 0x7F for byte in value):
                raise ClusterError(f"what the kubeconfig has for `{field.decode()}` cannot be sent in a header")
        return tuple(found)

    def known(self, access: Access) -> ssl.SSLContext | None:
        """What `context` has given before, at once; None where it would have to be made."""
        return self._contexts.get(access)

    def context(self, access: Access) -> ssl.SSLContext:
        """What verifies the cluster, and shows it the login's certificate where that has one; blocks. Raises
        ClusterError."""
        if access not in self._contexts:
            import ssl

            authority = self._pem(access, 0, "certificate-authority")
            certificate, secret = (self._pem(access, 1, name) for name in ("client-certificate", "client-key"))
            try:
                made = self._fresh(authority.decode("ascii"))
                if certificate or secret:
                    load_chain(made, certificate + b"\n" + secret)
            except (ssl.SSLError, OSError, ValueError):
                raise ClusterError("the certificates that the kubeconfig names cannot be used") from None
            self._contexts[access] = made
        return self._contexts[access]

    @staticmethod
    def name_of(access: Access, host: Host) -> str:
        """The name that the cluster's certificate must have."""
        return _text(access.cluster, "tls-server-name") or host.text

    def _pem(self, access: Access, which: int, name: str) -> bytes:
        table = (access.cluster, access.user)[which]
        if data := _text(table, f"{name}-data"):  # as for kubectl, it counts before the file
            try:
                return base64.b64decode("".join(data.split()), validate=True)
            except (binascii.Error, ValueError):
                raise ClusterError(f"`{name}-data` of the kubeconfig is not what it should be") from None
        path = _text(table, name)
        return self._beside(access, which, path, name) if path else b""

    def _beside(self, access: Access, which: int, path: str, name: str) -> bytes:
        """What a file holds that is named from a kubeconfig's folder."""
        try:
            # As it was judged, and as kubectl does: `..` is taken from the name, not from where a link leads.
            with open_plain(normpath(join(dirname(access.files[which]), path))) as file:
                return file.read(MOST)
        except OSError as error:
            raise ClusterError(f"what the kubeconfig names as `{name}` cannot be read: {error.strerror}") from None


def _text(table: dict[str, object], name: str) -> str:
    found = table.get(name)
    if found.__class__ not in (str, type(None)):
        raise ClusterError(f"`{name}` of the kubeconfig is no text")
    return found if isinstance(found, str) else ""


def _for_another(user: dict[str, object]) -> list[tuple[bytes, bytes]]:
    """For whom the login acts, as the person has it."""
    found = [(b"Impersonate-User", _text(user, "as")), (b"Impersonate-Uid", _text(user, "as-uid"))]
    found += [(b"Impersonate-Group", each) for each in _list(user.get("as-groups"))]
    extra = user.get("as-user-extra") or {}
    if not isinstance(extra, dict):
        raise ClusterError("`as-user-extra` of the kubeconfig is no table")
    for name, values in extra.items():
        field = b"Impersonate-Extra-" + quote(str(name), safe="!$&'*+^`|").encode("ascii")
        found += [(field, each) for each in _list(values)]
    return [(name, value.encode("utf-8")) for name, value in found if value]


def _list(value: object) -> list[str]:
    if value is not None and not (isinstance(value, list) and all(isinstance(each, str) for each in value)):
        raise ClusterError("the kubeconfig has a list of something else than texts")
    return value or []


def _is_bearer(value: bytes) -> bool:
    return value[: len(_BEARER)].lower() == _BEARER


def _is(access: Access, host: Host) -> bool:
    try:
        return host_of(f"[{access.host}]" if ":" in access.host else access.host) == host
    except HostError:
        return False
