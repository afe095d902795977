"""Requests to hosts that may only be read from, on their way out: judged, counted, and with whose login they go."""

from __future__ import annotations

from gateway.core.value import Value
from gateway.model.plan import CLUSTER
from gateway.sandbox.egress import forward, http, reading
from gateway.sandbox.egress.dial import Refused
from gateway.sandbox.egress.inject import ClusterError
from gateway.sandbox.egress.loop import in_thread
from gateway.sandbox.egress.streams import StreamError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.commands.steering.cluster_logins import Access
    from gateway.sandbox.egress.addresses import Host
    from gateway.sandbox.egress.forward import Made
    from gateway.sandbox.egress.http import Request
    from gateway.sandbox.egress.outside import Outside
    from gateway.sandbox.egress.streams import Stream


class Sent(Value):
    """A request as it may be sent. `body`: None for what comes with it; `access`: the login that goes with it; `made`:
    what is made of its answer, None for nothing."""

    request: Request
    body: bytes | None = None
    access: Access | None = None
    made: Made | None = None


async def only_reading(outside: Outside, client: Stream, request: Request, host: Host, port: int) -> Sent:
    """A request to a host that may only be read from, with its body if it has one. Raises Refused."""
    said, rules = outside.said, outside.rules
    access: Access | None = None
    try:
        if CLUSTER in (also := rules.also(host, port)):
            access = await _access(outside, request, host, port)
        found = said.judged(host, request, also, access.base if access is not None else "")
        sent, body = found.request, None
        if found.post is not None:
            came = await forward.read_body(client, request.length, found.post.most)
            sent, body = reading.with_body(found, request, came)
        said.spend(host, sent, body)
    except (reading.NotReadingError, ClusterError, http.HttpError, StreamError, TimeoutError) as error:
        socket = rules.socket(host)
        may = "this daemon may only be looked at" if socket else "this host may only be read from"
        remedy = "let the person do it" if socket else "read what is needed by GET, or ask for a rule"
        reason = f"{may}, and the request is refused: {error or 'its body did not come'}"
        raise Refused(socket or host.at(port), rules.name(host, port).rule, reason, remedy) from None
    return Sent(sent, body, access, found.made)


async def _access(outside: Outside, request: Request, host: Host, port: int) -> Access:
    """The login by which a request to a cluster's API goes. Raises ClusterError."""
    if outside.clusters is None:
        raise ClusterError("there is no kubeconfig for this call")
    if not outside.clusters.is_loaded:
        await in_thread(outside.clusters.load)
    return outside.clusters.access(host, port, request)
