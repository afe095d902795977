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
    what of it does more than lead there or log in. Raises NotRead.
    """
    found: dict[tuple[str, str], Row] = {}
    for path, text in texts:
        whole = _table(tree(text))
        current = whole.get("current-context") or ""
        if current:
            found.setdefault(("current", ""), ("current", _text(current)))
        for name, context in _named(whole, "contexts", "context"):
            parts = _text(context.get("cluster", "")), _text(context.get("user", ""))
            found.setdefault(("context", name), ("context", name, *parts))
        for name, cluster in _named(whole, "clusters", "cluster"):
            url, why = _address(cluster)
            row = ("cluster", name, url, why, *_files(cluster, _FILES_OF_CLUSTER, path))
            found.setdefault(("cluster", name), row)
        for name, user in _named(whole, "users", "user"):
            more = sorted(set(user) - _USER)
            why = f"its login comes from `{more[0][:40]}`, which may run a program" if more else ""
            found.setdefault(("user", name), ("user", name, why, *_files(user, _FILES_OF_USER, path)))
    return list(found.values())


def _address(cluster: dict[str, object]) -> tuple[str, str]:
    """The address without a login, and why it is none."""
    more = sorted(set(cluster) - _CLUSTER)
    if more:
        return "", f"its cluster says `{more[0][:40]}`, which may lead elsewhere"
    server = _text(cluster.get("server", ""))
    scheme, mark, rest = server.partition("://")
    authority = rest.partition("/")[0]
    if not mark or scheme not in ("https", "http") or "@" in authority or not set("\\?#%").isdisjoint(rest):
        return "", "its cluster's address is none"
    return f"{scheme}://{authority}", ""


def _files(table: dict[str, object], names: tuple[str, ...], path: str) -> list[str]:
    return [normpath(join(dirname(path), _text(table[name]))) for name in names if table.get(name)]


def _named(whole: dict[str, object], plural: str, kind: str) -> Iterator[tuple[str, dict[str, object]]]:
    listed = whole.get(plural) or []
    if not isinstance(listed, list):
        raise NotRead(f"`{plural}` is no list")
    for each in listed:
        entry = _table(each)
        if not set(entry) <= {"name", kind}:
            raise NotRead(f"`{plural}` holds something else")
        yield _text(entry.get("name", "")), _table(entry.get(kind) or {})


def _table(value: object) -> dict[str, object]:
    if not isinstance(value, dict) or "<<" in value:
        raise NotRead("a table is expected")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise NotRead("a text is expected")
    return value
