"""A kubeconfig, as kubectl and helm read it: which clusters its contexts mean, and with which logins. Pure.

What is read out holds no secret: addresses, names, the files that a login lies in. A user or cluster that says anything
but what is known here to start nothing and to reach nothing else carries the reason.
"""

from __future__ import annotations

from posixpath import dirname, join, normpath

from gateway.commands.steering.entries import NotRead
from gateway.commands.steering.yaml_files import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Row = tuple[str, ...]

_CLUSTER = frozenset((
    "server", "certificate-authority", "certificate-authority-data", "insecure-skip-tls-verify", "tls-server-name",
    "disable-compression", "extensions",
))  # fmt: skip
_USER = frozenset((
    "client-certificate", "client-certificate-data", "client-key", "client-key-data", "token", "tokenFile", "username",
    "password", "as", "as-uid", "as-groups", "as-user-extra", "extensions",
))  # fmt: skip
_FILES_OF_CLUSTER = ("certificate-authority",)
_FILES_OF_USER = ("client-certificate", "client-key", "tokenFile")


def rows(texts: Sequence[tuple[str, str]]) -> list[Row]:
    """What the files say together, each a path and its text; the first that names something counts, as for kubectl.

    `current NAME`; `context NAME CLUSTER USER`; `cluster NAME URL WHY FILE…` and `user NAME WHY FILE…`, where WHY says
    what of it does more than lead there or log in; `unverified NAME` for a cluster that need not prove to be one.
    Raises NotRead.
    """
    found: dict[tuple[str, str], Row] = {}
    for path, text in texts:
        whole = table_of(tree(text))
        current = whole.get("current-context") or ""
        if current:
            found.setdefault(("current", ""), ("current", text_of(current)))
        for name, context in named(whole, "contexts", "context"):
            parts = text_of(context.get("cluster", "")), text_of(context.get("user", ""))
            found.setdefault(("context", name), ("context", name, *parts))
        for name, cluster in named(whole, "clusters", "cluster"):
            url, why = address_of(cluster)
            row = ("cluster", name, url, why, *_files(cluster, _FILES_OF_CLUSTER, path))
            if ("cluster", name) not in found and not is_verified(cluster):
                found["unverified", name] = ("unverified", name)
            found.setdefault(("cluster", name), row)
        for name, user in named(whole, "users", "user"):
            row = ("user", name, doubt_of(user), *_files(user, _FILES_OF_USER, path))
            found.setdefault(("user", name), row)
    return list(found.values())


def is_verified(cluster: dict[str, object]) -> bool:
    """Whether whoever answers there must prove to be the cluster before it gets a login."""
    skips = cluster.get("insecure-skip-tls-verify") or ""
    return text_of(cluster.get("server", "")).startswith("https://") and skips in ("", "false")


def doubt_of(user: dict[str, object]) -> str:
    """What a login does beside logging in, "" for nothing."""
    more = sorted(set(user) - _USER)
    return f"its login comes from `{more[0][:40]}`, which may run a program" if more else ""


def address_of(cluster: dict[str, object]) -> tuple[str, str]:
    """The scheme, host and port of a cluster, and why nobody can tell; one of both is ""."""
    more = sorted(set(cluster) - _CLUSTER)
    if more:
        return "", f"its cluster says `{more[0][:40]}`, which may lead elsewhere"
    server = text_of(cluster.get("server", ""))
    scheme, mark, rest = server.partition("://")
    authority = rest.partition("/")[0]
    if not mark or scheme not in ("https", "http") or "@" in authority or not set("\\?#%").isdisjoint(rest):
        return "", "its cluster's address is none"
    return f"{scheme}://{authority}", ""


def _files(table: dict[str, object], names: tuple[str, ...], path: str) -> list[str]:
    return [normpath(join(dirname(path), text_of(table[name]))) for name in names if table.get(name)]


def named(whole: dict[str, object], plural: str, kind: str) -> Iterator[tuple[str, dict[str, object]]]:
    """The entries of a list of a kubeconfig by their names. Raises NotRead."""
    listed = whole.get(plural) or []
    if not isinstance(listed, list):
        raise NotRead(f"`{plural}` is no list")
    for each in listed:
        entry = table_of(each)
        if not set(entry) <= {"name", kind}:
            raise NotRead(f"`{plural}` holds something else")
        yield text_of(entry.get("name", "")), table_of(entry.get(kind) or {})


def table_of(value: object) -> dict[str, object]:
    """A table. Raises NotRead for anything else, and for one that another is merged into."""
    if not isinstance(value, dict) or "<<" in value:
        raise NotRead("a table is expected")
    return value


def text_of(value: object) -> str:
    """A text. Raises NotRead for anything else."""
    if not isinstance(value, str):
        raise NotRead("a text is expected")
    return value
