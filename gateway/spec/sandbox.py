"""The `sandbox:` setting: what a call that runs confined sees and may do beyond what was predicted of it.

What would be no grant, or an ambiguous one, when a call runs is refused here, with the place in the file.
"""

from __future__ import annotations

from gateway.model.plan import CLUSTER
from gateway.policy import hosts, paths, variables
from gateway.spec import read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gateway.spec.yamltext import Complaints, Node

NETWORKS = ("off", "listed", "open")
WEAKER = ("landlock", "landlock-unscoped", "none")
PERMITS = ("ptrace", "perf", "namespaces")
SANDBOX = {
    "read": "paths that may be read: `~/x`, `./x`, `//x`, with `*` for whole names on the way, and `/**` at the end",
    "write": "paths that may be written, written like those of `read`",
    "hide": "path patterns of what must not be seen inside",
    "show": "path patterns of secrets in the workspace (`*.pem`, `*.tfvars`, what git ignores) that calls see which "
    "reach hosts, too; what rules deny stays hidden",
    "hosts": "hosts that may be reached, with a port other than 80 and 443 as `host:port`; `{host, access: read}` for "
    "one that may only be read from",
    "registries": "installers that contained calls may use: they only read from their registries, and code of what "
    "they fetch runs without a network; [] for none",
    "daemons": "daemons of this machine whose client may show what they tell (`docker ps`, `docker logs`), of calls "
    "that do nothing else: requests that only show pass, and the socket is not seen; [] for none",
    "network": "off: none; listed: only `hosts`; open: any public one",
    "sockets": "paths of local sockets that may be connected to",
    "env": "globs over names of environment variables that are passed on; what looks like a secret only by its name",
    "set": "environment variables that are set",
    "weaker": "names of the weaker forms of confinement that may stand in where the full one cannot be built",
    "permit": "system calls that are let through for debuggers and browsers",
    "inject": "headers that are added to requests outside of the sandbox, which never sees their values",
}
INJECT = {
    "host": "the host whose requests get the header",
    "header": "the header's name",
    "source": "where the value is taken from: `env:NAME` or `file:PATH`",
    "template": "the header's value, with `{}` where the secret goes",
}
READ_HOST = {
    "host": "one host's name, with its port where a cluster has one of several",
    "access": "read: only requests that read are let through, and of these only what reading takes",
    "named_by": "hosts whose answers name the files of this one (an index): only 50 files that none of them named can "
    "be asked for in one call",
    "also": "graphql: queries in GraphQL; npm-audit: names and versions of packages; both sent by POST, read here and "
    "written anew; aws: operations that only read and hand out no secrets, as the client has signed them; kubernetes: "
    "the API of a cluster of your kubeconfig, with its login, at the port that stands there or in `host`",
}
ACCESS = ("read",)
ALSO = ("graphql", "npm-audit", "aws", CLUSTER)
DAEMONS = ("docker",)
REGISTRIES = ("npm", "pip", "uv", "cargo")
SOME = {"registries": REGISTRIES, "daemons": DAEMONS}
_TOKEN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")


def read_sandbox(node: Node, complaints: Complaints) -> dict[str, Any]:
    """The profile that the file sets, checked, as plain data."""
    found: dict[str, Any] = {}
    for name, value in read.known_keys(node, "`sandbox`", SANDBOX, complaints).items():
        what = f"`{name}`"
        if name == "network":
            found[name] = read.choice(value, what, NETWORKS, complaints)
        elif name == "weaker":
            found[name] = read.choices(value, what, WEAKER, complaints)
        elif name == "permit":
            found[name] = read.choices(value, what, PERMITS, complaints)
        elif name in SOME:
            found[name] = read.choices(value, what, SOME[name], complaints) if value.value != [] else []
        elif name == "set":
            given = read.mapping(value, what, complaints)
            found[name] = {key: read.text(item, f"`{key}`", complaints, empty=True) for key, item in given.items()}
            for key, item in given.items():
                if not variables.is_settable(key):
                    complaints.at_key(
                        item, f"`set` must not hold `{key}`", "the sandbox makes it, or nobody may set it"
                    )
        elif name == "inject":
            found[name] = [_injection(item, complaints) for item in read.sequence(value, what, complaints)]
        elif name == "hosts":
            found[name] = _hosts(value, complaints)
        else:
            found[name] = read.texts(value, what, complaints, empty=True)
            check = _CHECKS.get(name)
            for item in value if check is not None else ():
                if item.value.__class__ is str and item.value:
                    check(item, what, complaints)  # type: ignore[misc]
    return found


def _hosts(node: Node, complaints: Complaints) -> list[Any]:
    """Each as its name, or, where it may only be read from, as what is said of it."""
    if not any(item.value.__class__ is dict for item in (node.value if node.value.__class__ is list else ())):
        every = read.texts(node, "`hosts`", complaints, empty=True)
        _check_each(_check_host, node, "`hosts`", complaints)
        return list(every)
    found: list[Any] = []
    names: set[str] = set()
    for item in read.sequence(node, "`hosts`", complaints):
        if item.value.__class__ is dict:
            found.append(_read_host(item, complaints))
            host = found[-1].get("host", "")
        else:
            host = read.text(item, "an entry of `hosts`", complaints)
            if host:
                _check_host(item, "`hosts`", complaints)
            found.append(host)
        if host in names:
            complaints.at(item, f"`hosts` must name a host once (got `{host}` twice)")
        names.add(host)
    return found


def _read_host(item: Node, complaints: Complaints) -> dict[str, Any]:
    """An entry for a host that may only be read from."""
    given = read.known_keys(item, "an entry of `hosts`", READ_HOST, complaints)
    found: dict[str, Any] = {}
    for name in ("host", "access"):
        if name not in given:
            complaints.at(item, f"an entry of `hosts` must have `{name}`")
    if "host" in given:
        host = found["host"] = read.text(given["host"], "`host`", complaints)
        also = given["also"].value if "also" in given else ()
        is_cluster = also == CLUSTER or (also.__class__ is list and CLUSTER in [each.value for each in also])
        if host and not _is_one(host, port=is_cluster):
            complaints.at(
                given["host"],
                f"`host` must be one host's name (got `{host}`)",
                "name each host, without `*` and port; the API of a cluster (`also: kubernetes`) may have one",
            )
    if "access" in given:
        found["access"] = read.choice(given["access"], "`access`", ACCESS, complaints)
    if "named_by" in given:
        found["named_by"] = read.texts(given["named_by"], "`named_by`", complaints)
        _check_each(_check_host, given["named_by"], "`named_by`", complaints)
    if "also" in given:
        found["also"] = read.choices(given["also"], "`also`", ALSO, complaints)
        if CLUSTER in found["also"] and (len(found["also"]) > 1 or "named_by" in given):
            complaints.at(
                given["also"], f"where `{CLUSTER}` is read nothing else is", "leave out what stands beside it"
            )
    return found


def _check_each(check: Callable[[Node, str, Complaints], None], node: Node, what: str, complaints: Complaints) -> None:
    for item in node.value if node.value.__class__ is list else [node]:
        if item.value.__class__ is str and item.value:
            check(item, what, complaints)


def _injection(node: Node, complaints: Complaints) -> dict[str, str]:
    given = read.known_keys(node, "an entry of `inject`", INJECT, complaints)
    found = {name: read.text(value, f"`{name}`", complaints) for name, value in given.items()}
    for name in ("host", "header", "source"):
        if name not in found and isinstance(node.value, dict):
            complaints.at(node, f"an entry of `inject` must have `{name}`")
    host, header, source = (found.get(name) for name in ("host", "header", "source"))
    if host and not _is_single(host):
        complaints.at(given["host"], f"`host` must be one host's name, or `*.` and a name (got `{host}`)")
    if header and not _TOKEN.issuperset(header.lower()):
        complaints.at(given["header"], f"`header` must be a header's name (got `{header}`)")
    if source and not _is_source(source):
        complaints.at(given["source"], f"`source` must be `env:NAME` or `file:/PATH` (got `{source}`)")
    template = found.get("template")
    if template and (template.count("{}") != 1 or not template.isprintable()):
        complaints.at(given["template"], f"`template` must be one line with `{{}}` in it once (got `{template}`)")
    return found


def _is_one(host: str, *, port: bool) -> bool:
    if port:
        try:
            host = hosts.host_and_port(host)[0]
        except ValueError:
            return False
    return _is_single(host) and not host.startswith("*")


def _is_single(host: str) -> bool:
    name = host.removeprefix("*.")
    if "*" in name or not {".", ":"} & set(name) or "/" in name:
        return False
    try:
        hosts.build([(host, 0)])
    except ValueError:
        return False
    return True


def _is_source(source: str) -> bool:
    kind, _, rest = source.partition(":")
    return (kind == "env" and variables.is_name(rest)) or (kind == "file" and rest.startswith(("/", "~/")))


def _check_place(node: Node, what: str, complaints: Complaints) -> None:
    """A pattern that stands for whole files or folders."""
    pattern = str(node.value)
    if pattern.startswith("/") and not pattern.startswith("//"):
        complaints.at(node, f"each entry of {what} must say where it starts (got `{pattern}`)", f"write `/{pattern}`")
        return
    inner = pattern.removesuffix("/**").removesuffix("/*")
    if "**" in inner or not pattern.startswith(("~", "./", "//", "../")):
        remedy = "start it with `./`, `~/` or `//`, and name each folder on the way"
        complaints.at(node, f"each entry of {what} must stand for whole files or folders (got `{pattern}`)", remedy)
        return
    _check_pattern(node, what, complaints)


def _check_pattern(node: Node, what: str, complaints: Complaints) -> None:
    try:
        paths.build([(paths.normalise(str(node.value), base="/b/b/b/b", layer_root="/", home="/h/h"), 0)])
    except ValueError as error:
        complaints.at(node, f"each entry of {what} must be a path pattern: {error}")


def _check_host(node: Node, what: str, complaints: Complaints) -> None:
    try:
        host, _port = hosts.host_and_port(str(node.value))
        hosts.build([(host, 0)])
    except ValueError as error:
        complaints.at(node, f"each entry of {what} must be a host: {error}")


_CHECKS = {
    "read": _check_place,
    "write": _check_place,
    "sockets": _check_place,
    "hide": _check_pattern,
    "show": _check_pattern,
}
