"""The only way out of confined calls: one `Egress` for a process, one session for a call."""

from __future__ import annotations

import os
import threading
import weakref

from gateway.sandbox.base import SandboxError
from gateway.sandbox.egress import authority, surroundings
from gateway.sandbox.egress.authority import Authority, AuthorityError
from gateway.sandbox.egress.clients import Call
from gateway.sandbox.egress.decide import rules_of
from gateway.sandbox.egress.inject import ClusterError
from gateway.sandbox.egress.learned_names import Sessions
from gateway.sandbox.egress.listeners import Namespaces, network_of
from gateway.sandbox.egress.loop import Loop
from gateway.sandbox.egress.session import Session
from gateway.sandbox.egress.surroundings import ALONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable

    from gateway.model.plan import Network
    from gateway.model.result import Violation
    from gateway.sandbox.egress.clusters import Clusters
    from gateway.sandbox.egress.dial import Dialler, Resolve, Route
    from gateway.sandbox.egress.held_connection import Asks
    from gateway.sandbox.egress.names import Names
    from gateway.sandbox.egress.outside import Outside
    from gateway.sandbox.egress.report import Report
    from gateway.sandbox.egress.surroundings import Place


class Egress:
    """Opens listeners in the network namespaces of calls and serves them from one background thread.

    Thread-safe. The helper process and the thread start with the first call, or with `start`. In a fork of the process
    it begins anew: sessions belong to the parent alone. `resolve` finds the addresses of a name, `route` the place to
    connect to for an address and a port, `trust` names a file of certificates instead of the system's, `namespaces` is
    a helper that others use too, which `close` leaves to them.
    """

    def __init__(
        self,
        resolve: Resolve | None = None,
        route: Route | None = None,
        trust: str = "",
        namespaces: Namespaces | None = None,
    ) -> None:
        self._resolve, self._route, self._trust = resolve, route, trust
        self._lock = threading.Lock()
        self._namespaces, self._shared = namespaces or Namespaces(), namespaces is not None
        self._loop = Loop()
        self._authority = Authority()
        self._dialler: Dialler | None = None
        self._taught = Sessions()
        self._trusted: ssl.SSLContext | None = None
        self._sessions: set[Session] = set()
        me = weakref.ref(self)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=lambda: _begin_anew(me()))

    def environment(self, network: Network) -> tuple[tuple[str, str], ...]:
        """The variables a command needs under a network, sorted by name; known before it starts. () without one."""
        return surroundings.variables(network, self._intercepts(network))

    def files(self, network: Network, place: Place | None = None) -> tuple[tuple[str, bytes], ...]:
        """Files that the call must see with this content, by resolved path, for tools that know no proxy. `place`: as
        `attach` is told. Raises SandboxError when certificates are needed and cannot be made."""
        place = place or ALONE
        if not self._intercepts(network):
            return surroundings.files(network, b"", place)
        try:
            certificates = authority.system_bundle() + b"\n" + self._authority.certificate()
            return surroundings.files(network, certificates, place)
        except AuthorityError as error:
            raise SandboxError(f"headers cannot be added to encrypted requests: {error}") from None
        except ClusterError as error:
            raise SandboxError(f"the login of a cluster cannot be sent for the call: {error}") from None

    def start(self) -> None:
        """Starts what the first call would start, without waiting for it. Raises SandboxError."""
        with self._lock:
            self._namespaces.start()
            self._loop.start()

    def attach(
        self,
        pid: int,
        network: Network,
        report: Callable[[Violation], None],
        place: Place | None = None,
        asks: Asks | None = None,
    ) -> Session:
        """Listeners inside the network namespace of a process, the first of its call, which need not have finished
        setting it up. `place`: where in it; `asks`: who says whether the call may connect to what `network` does not
        speak of, None for nobody.

        `report` is told of the first refusal of each kind, from the background thread; `Session.violations` has all
        with their counts. Raises SandboxError; then nothing is left behind.
        """
        try:
            rules = rules_of(network)
        except ValueError as error:
            raise SandboxError(f"the network of this call is not clear: {error}") from None
        self.start()
        namespace = network_of(pid)
        try:
            session = Session(
                self._loop, self._namespaces, rules, report,
                environment=self.environment(network), dialler=self._dial,
                outside=lambda made, names, end: self._outside(network, made, names, end),
                ended=self._sessions.discard, call=Call(pid), place=place or ALONE, asks=asks,
            )  # fmt: skip
            session.open(namespace)
        except BaseException:
            os.close(namespace)
            raise
        self._sessions.add(session)
        return session

    def close(self) -> None:
        """Closes every session, ends the thread and the helper, deletes the keys. It starts again when used again."""
        for session in tuple(self._sessions):
            session.close()
        with self._lock:
            self._loop.close()
            if not self._shared:
                self._namespaces.close()
            self._authority.close()
            self._dialler = None
            self._taught = Sessions()

    def __enter__(self) -> Egress:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _intercepts(self, network: Network) -> bool:
        looks = bool(network.inject) or any(each.access and not each.socket for each in network.allow)
        return looks and network.mode != "off" and authority.available()

    def _dial(self) -> Dialler:
        """Shared, so that a name is not resolved anew for every call. Made in the thread, when it is needed."""
        if self._dialler is None:
            from gateway.sandbox.egress.dial import Dialler, resolve_with_system, straight

            self._dialler = Dialler(self._resolve or resolve_with_system, self._route or straight)
        return self._dialler

    def _outside(self, network: Network, report: Report, names: Names, end: Callable[[], Awaitable[None]]) -> Outside:
        from gateway.sandbox.egress.outside import Outside

        certificates = self._authority if self._intercepts(network) else None
        clusters: Clusters | None = None
        if network.logins.files:
            from gateway.sandbox.egress.clusters import Clusters  # lazy: few calls reach any

            clusters = Clusters(network.logins, self._fresh)
        return Outside(
            rules_of(network), self._dial(), report, authority=certificates, trust=self._certificates,
            named=names.host_at, end=end if network.installer else None, taught=self._taught.of(network.session),
            clusters=clusters,
        )  # fmt: skip

    def _certificates(self) -> ssl.SSLContext:
        """What servers outside are verified with."""
        if self._trusted is None:
            self._trusted = self._fresh()
        return self._trusted

    def _fresh(self, authority: str = "") -> ssl.SSLContext:
        """The same anew, or by an authority (PEM) alone. Raises ssl.SSLError."""
        import ssl

        cafile = None if authority else self._trust or None
        context = ssl.create_default_context(cafile=cafile, cadata=authority or None)
        if authority:  # as Go does: certificates of clusters are older than what Python asks of new ones
            context.verify_flags &= ~ssl.VERIFY_X509_STRICT
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        return context

    def _forget(self) -> None:
        self._lock = threading.Lock()
        for session in self._sessions:
            session.drop()
        self._sessions = set()
        self._loop.forget()
        self._namespaces.forget()
        self._authority.forget()
        self._dialler = None
        self._taught = Sessions()


def _begin_anew(egress: Egress | None) -> None:
    if egress is not None:
        egress._forget()  # noqa: SLF001  # of this module
