"""The sandbox plan: all that one call can see and do while it runs.

A plan is made by `gateway.sandbox.plan` from a verdict, and kept by a backend. It is plain data: the same verdict,
policy and survey of the host give the same plan, whatever backend there is.
"""

from __future__ import annotations

from gateway.core.value import Value

READ, WRITE, FIXED, HIDDEN = "read", "write", "fixed", "hidden"
WORKSPACE_SECRETS = "workspace-secrets"  # the rule that hides what a workspace holds of secrets
ASKED = "asked"
CLUSTER, HELM = "kubernetes", "helm"
"""What `Endpoint.also` says of the API of a cluster, and of one of which helm's releases are read as well."""


TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.model.limits import Limits


class Mount(Value):
    """A path of the host that the call sees at the same place.

    `path` is absolute, resolved and exists. `access`: read; write (also create, rename and delete below it, not of it);
    fixed (readable, and neither it nor a folder on the way to it can be changed, renamed or replaced, though it lies
    below something writable); hidden (there, but neither readable nor listable). `rule`: id of the rule it comes from,
    "" for what every call gets.
    """

    path: str
    access: str
    folder: bool = True
    rule: str = ""


class Endpoint(Value):
    """Hosts and a port that may, or must not, be reached. `host`: a host pattern as policies write it: a name,
    `*.suffix` (not the suffix itself), an address, a network, a group (`metadata`), or `*`. `port` 0: the ports of the
    web, 80 and 443, and those that `Network.ports` names; in a deny, every port. `access`: `read` where requests may
    only read, which is one host's and the web's; `asked` where somebody who was asked while the call
    ran let it go to this very host and port, which opens public addresses alone; "" for any. Of a host to read from,
    `named_by`: hosts whose answers say which files it has, so that only few others can be asked for; `also`: requests
    with a body that read there (`gateway.sandbox.egress.reading_posts`), or the API of a cluster, at one port.
    `socket`: where a daemon of this machine listens that the name stands for, "" for a host; `told`: the variable that
    tells its client the name."""

    host: str
    port: int = 0
    rule: str = ""
    access: str = ""
    named_by: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    socket: str = ""
    told: str = ""


class Injection(Value):
    """A header that is added to requests to a host outside the sandbox; the command never sees the value.

    `source`: where the value is taken from when the request is sent: `env:NAME` or `file:PATH`. `template` holds `{}`
    where the value goes."""

    host: str
    header: str
    source: str
    template: str = "{}"


class Logins(Value):
    """Logins for clusters that are sent outside of the sandbox. `files`: the person's kubeconfigs, in the place of
    which the call sees others without any login; `pairs`: names of a cluster and of a login that may go there."""

    files: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()


NO_LOGINS = Logins()


class Network(Value):
    """`mode`: off (its own loopback only), listed (`allow` only), open (any public host). Denies win in every mode.
    Private, loopback, link-local and metadata addresses are refused unless `allow` names that very name or address.
    `said`: bytes that requests to hosts to read from may choose, 0 for what is usual.
    `installer`: the program that reads from registries (`gateway.policy.installs`), and whose scripts begin with ending
    this network. `session`: by whose name what hosts to read from have named passes from call to call, "" for none.
    `logins`: for clusters of `allow`."""

    mode: str = "off"
    allow: tuple[Endpoint, ...] = ()
    deny: tuple[Endpoint, ...] = ()
    ports: tuple[int, ...] = ()
    inject: tuple[Injection, ...] = ()
    installer: str = ""
    said: int = 0
    session: str = ""
    logins: Logins = NO_LOGINS


class SandboxPlan(Value):
    """The sandbox plan of one call.

    `mounts`: sorted by path; the deepest one that holds a path decides; what no mount holds does not exist.
    `links`: links outside of every mount: those of the top folder as the host has them (`/bin` to `usr/bin`), and
    names under which the call knows what lies elsewhere. `private`: folders that are empty, writable and gone when
    the call ends (/tmp, HOME); mounts below them show through. `cwd`: where the command starts. `environment`: all
    of it, sorted. `watched`: writable folders in which protected names that appear are taken into quarantine.
    `weaker`: names of weaker forms that policy permits (`landlock`, `none`). `permits`: what is left out of the
    filter of system calls by name (`ptrace`, `perf`, `namespaces`). `held`: links in writable folders whose names
    are protected: no mount can hold a link, so they are compared and put back when the call ends. `withheld`: what
    was predicted or asked for and is not granted, each with the reason, for people. `files`: resolved paths at
    which the call sees this content, read-only, instead of what the host has there (`resolv.conf`: what
    `Egress.files` gives). `layers`: writable folders that are not written: what the call changes in one is kept in
    a folder of its project's own, which is laid over it (`gateway.sandbox.layers`). `shared`: private folders that are
    not the call's alone but its session's, each with where that keeps it (`gateway.sandbox.rooms`). `given`: what is
    moved from such a folder to the host's, where nothing has this name, when the call has ended. `loopback`: the
    session's room, whose loopback the call is in, "" for one of its own. `free`: nothing holds the call,
    which was let run without the sandbox. `drafted`: writable folders that are not written: what the call changes in
    them, in its layers and in what it shares lies in layers of this call alone, below `draft`, which whoever runs it
    makes (`gateway.sandbox.drafts`). `laid`: these, as they are mounted: each with the folders that lie below it, the
    topmost first, and the one that holds the layer. `fetching`: the network of a step of its own, in which what the
    call installs is fetched before it runs (`gateway.calls.fetching`), off without one. `contained`: the call can
    change nothing but the workspace, temporary folders and such layers, reach nothing but the loopback of the sandbox,
    and is lent no login. `packages`: a folder of the gateway's own, in which the project's contained calls have
    packages of Python that they install (`gateway.sandbox.user_packages`), "" for none. `known`: the protected names in
    `watched` that there were when it was planned, None where nobody has looked: what is there besides when the call
    starts is not held by any mount.
    """

    mounts: tuple[Mount, ...]
    links: tuple[tuple[str, str], ...]
    private: tuple[str, ...]
    cwd: str
    environment: tuple[tuple[str, str], ...]
    network: Network
    limits: Limits
    watched: tuple[str, ...] = ()
    weaker: tuple[str, ...] = ()
    permits: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    withheld: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[str, bytes], ...] = ()
    layers: tuple[tuple[str, str], ...] = ()
    contained: bool = False
    shared: tuple[tuple[str, str], ...] = ()
    given: tuple[str, ...] = ()
    loopback: str = ""
    free: bool = False
    drafted: tuple[str, ...] = ()
    fetching: Network = Network()
    draft: str = ""
    laid: tuple[tuple[str, tuple[str, ...], str], ...] = ()
    packages: str = ""
    transient: tuple[str, ...] = ()
    known: tuple[str, ...] | None = None

    @property
    def writes(self) -> bool:
        """Whether the call may change what is the host's, and not only layers of its own."""
        return not self.drafted and any(mount.access == WRITE for mount in self.mounts)
