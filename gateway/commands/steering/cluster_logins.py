"""The clusters of a kubeconfig with the logins that its contexts have for them, for whoever sends these in the place of
a call that sees neither; and the kubeconfig that such a call sees instead. Pure.

A login is never a part of what is shown, compared or put into a message.
"""

from __future__ import annotations

import hashlib
import json

from gateway.commands.steering.kubeconfig import address_of, doubt_of, is_verified, named, table_of, text_of
from gateway.commands.steering.yaml_files import tree
from gateway.policy.hosts import host_and_port

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    Table = dict[str, object]

TLS_PORT = 443
_UNPROVEN = "the cluster need not prove to be one (`insecure-skip-tls-verify`, or no https)"
_NOT_JUDGED = "it was not among those of the kubeconfig when the call was judged, or a call may change its files"


class Access:
    """A cluster and a login that a context names for it. `host` as it is written, an address of version 6 without
    brackets; `base`: the path below which the API is; `name`: of the login; `why`: why it is not sent there, "" if it
    is; `cluster`, `user`: what the files say of them, `files`: these two, for what is named beside them."""

    __slots__ = ("base", "cluster", "files", "host", "name", "port", "user", "why")

    def __init__(self, name: str, cluster: tuple[str, Table], user: tuple[str, Table], why: str) -> None:
        """Each table with the file it stands in. Raises NotRead."""
        self.name, self.files = name, (cluster[0], user[0])
        self.cluster, self.user = cluster[1], user[1]
        url, doubt = address_of(self.cluster)
        server = text_of(self.cluster.get("server", ""))
        authority = url.partition("://")[2]
        self.host, self.port = _split(authority)
        self.base = server[len(url) :].rstrip("/") if url else ""
        unproven = "" if is_verified(self.cluster) else _UNPROVEN
        self.why = doubt or doubt_of(self.user) or unproven or why

    def vouched(self) -> tuple[object, ...]:
        """By what the cluster proves to be one, for comparing."""
        said = (self.cluster.get(name) for name in ("certificate-authority", "certificate-authority-data"))
        return (*said, self.cluster.get("tls-server-name"), self.files[0])


def accesses(texts: Sequence[tuple[str, str]], judged: Collection[tuple[str, str]]) -> list[Access]:
    """Of all contexts of some files, each a path and its text. The first that names something counts, and the context
    that is the current one stands first. `judged`: the names of clusters with logins that may be sent there. Raises
    NotRead."""
    clusters: dict[str, tuple[str, Table]] = {}
    users: dict[str, tuple[str, Table]] = {"": ("", {})}
    contexts: dict[str, tuple[str, str]] = {}
    current = ""
    for path, text in texts:
        whole = table_of(tree(text))
        current = current or text_of(whole.get("current-context") or "")
        for name, context in named(whole, "contexts", "context"):
            contexts.setdefault(name, (text_of(context.get("cluster", "")), text_of(context.get("user", ""))))
        for name, cluster in named(whole, "clusters", "cluster"):
            clusters.setdefault(name, (path, cluster))
        for name, user in named(whole, "users", "user"):
            users.setdefault(name, (path, user))
    pairs = dict.fromkeys([contexts[current]] if current in contexts else [])
    pairs.update(dict.fromkeys(contexts.values()))
    return [
        Access(user, clusters[cluster], users[user], "" if (cluster, user) in judged else _NOT_JUDGED)
        for cluster, user in pairs
        if cluster in clusters and user in users
    ]


def stand_in(user: str) -> str:
    """What the programs of a call say in the place of a login."""
    return "gateway-" + hashlib.sha256(user.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def without_logins(text: str, authority: str, proxy: str) -> str:
    """A kubeconfig with the names, addresses and namespaces of another, and nothing else of it: each cluster has the
    authority in a file, each user a word that stands for the login. `proxy`: by which clusters on the loopback are
    reached, where clients ask none by themselves. Raises NotRead."""
    whole = table_of(tree(text))
    clusters = []
    for name, cluster in named(whole, "clusters", "cluster"):
        url = address_of(cluster)[0]
        if url:
            near = {"proxy-url": proxy} if _is_near(_split(url.partition("://")[2])[0].lower()) else {}
            server = text_of(cluster["server"])
            clusters.append({"name": name, "cluster": {"server": server, "certificate-authority": authority, **near}})
    users = [{"name": name, "user": {"token": stand_in(name)}} for name, _user in named(whole, "users", "user")]
    contexts = [
        {"name": name, "context": dict(_texts(context, ("cluster", "user", "namespace")))}
        for name, context in named(whole, "contexts", "context")
    ]
    found = {
        "apiVersion": "v1", "kind": "Config", "current-context": text_of(whole.get("current-context") or ""),
        "clusters": clusters, "contexts": contexts, "users": users,
    }  # fmt: skip
    return json.dumps(found, indent=1) + "\n"


def _texts(table: Table, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        if found := text_of(table.get(name) or ""):
            yield name, found


def _is_near(host: str) -> bool:
    return host in ("localhost", "::1") or host.endswith(".localhost") or host.startswith("127.")


def _split(authority: str) -> tuple[str, int]:
    """Host and port, an address of version 6 without its brackets; of what is neither, a host that nobody has."""
    try:
        host, port = host_and_port(authority)
    except ValueError:
        return "", 0
    return host, port or TLS_PORT
