"""Requests to the API of a cluster of Kubernetes that only read, and read no secrets. Pure.

A path is taken apart as the API server does, and every part of it is held to what stands for reading: discovery, the
schemas, and objects by group, version, kind and name. What reads by the letter and acts or leads on is none of these:
`exec`, `attach`, `portforward` and `proxy` are paths of GET as well. Queries pass by name, each by its grammar, and are
written anew in one order, so that neither spelling nor order says anything.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote_to_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_QUERY = 4096


class ClusterRequestError(ValueError):
    """A request that does more than read, or reads what is kept as a secret; the message says why."""


_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_GROUP = rf"{_LABEL}(?:\.{_LABEL}){{0,15}}"
_VERSION = _LABEL
_OBJECT = r"(?:[A-Za-z0-9_][A-Za-z0-9._:-]{0,252}|~)"
_NO_OBJECT = re.compile(
    rf"/version|/(?:healthz|livez|readyz)|/api(?:/v1)?|/apis(?:/{_GROUP}(?:/{_VERSION})?)?|/openapi/v2|"
    rf"/openapi/v3(?:/(?:api(?:/v1)?|apis(?:/{_GROUP}(?:/{_VERSION})?)?))?"
).fullmatch
_OF_OBJECTS = re.compile(
    rf"/(?:api/v1|apis/(?P<group>{_GROUP})/{_VERSION})(?:/namespaces/(?P<namespace>{_LABEL})(?=/))?"
    rf"/(?P<kind>[a-z0-9][a-z0-9-]{{0,62}})(?:/(?P<name>{_OBJECT})(?:/(?P<part>[a-z]{{1,40}}))?)?"
).fullmatch
_PARTS = frozenset(("status", "scale"))
_LOG = "log"
# Objects that are secrets, or hold what logs in somewhere, whatever their group; `watch` and `proxy` stand where kinds
# do, and lead on to anything.
_SECRET = re.compile(r"secrets|.*(?:tokens|credentials|passwords|kubeconfigs|privatekeys)").fullmatch
_LEADING_ON = frozenset(("watch", "proxy", "redirect"))
_RELEASE = "sh.helm.release.v1."

_YES = r"true|false|1|0|"
_SECONDS = r"[0-9]{1,9}"
_SELECTED = r"[A-Za-z0-9._/ ,=!<>()-]{0,1024}"
_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2})"


def _grammars(**given: str) -> dict[str, re.Pattern[str]]:
    return {name: re.compile(text) for name, text in given.items()}


_ALWAYS = _grammars(timeout=r"[0-9]{1,9}(?:\.[0-9]{1,9})?(?:ns|us|ms|s|m|h)?", pretty=_YES)
_OF_READING = _grammars(
    limit=r"[0-9]{1,6}", labelSelector=_SELECTED, fieldSelector=r"[A-Za-z0-9._/ ,=!:\[\]()-]{0,1024}", watch=_YES,
    resourceVersion=r"[0-9]{0,20}", resourceVersionMatch="NotOlderThan|Exact", timeoutSeconds=_SECONDS,
    allowWatchBookmarks=_YES, sendInitialEvents=_YES, includeObject="None|Metadata|Object",
    # What the server gave to go on with; of the client's choice it is counted as any other text.
    **{"continue": r"[A-Za-z0-9_=-]{0,2048}"},
)  # fmt: skip
_OF_LOGS = _grammars(
    container=_LABEL, follow=_YES, previous=_YES, timestamps=_YES, sinceSeconds=_SECONDS, sinceTime=_TIME,
    tailLines=_SECONDS, limitBytes=_SECONDS, stream="All|Stdout|Stderr",
)  # fmt: skip
_OF_THE_REST = _grammars(hash=r"[0-9A-Za-z_=-]{1,128}", verbose=_YES)

_PARAMETER = rb"[a-z]{1,10} ?= ?[A-Za-z0-9.-]{1,64}"
_TYPE = rb"[a-z*]{1,20}/(?:[A-Za-z0-9*][A-Za-z0-9*+.@-]{0,80})(?: ?; ?" + _PARAMETER + rb"){0,4}"
FIELDS: Mapping[bytes, re.Pattern[bytes]] = {b"accept": re.compile(_TYPE + rb"(?: ?, ?" + _TYPE + rb"){0,9}")}
"""What of a request's fields has another grammar here: answers as tables, and in the server's own form."""

# What somebody may do, and who somebody is: asked by POST, kept nowhere.
REVIEWS = re.compile(
    rb"/apis/(?:authorization\.k8s\.io/v1(?:beta1)?/selfsubject(?:access|rules)reviews|"
    rb"authentication\.k8s\.io/v1(?:alpha1|beta1)?/selfsubjectreviews)"
)
TYPES = (b"application/vnd.kubernetes.protobuf", b"application/json")
FIELDS_OF_REVIEWS: Mapping[bytes, re.Pattern[bytes]] = {
    **FIELDS, b"content-type": re.compile(b"|".join(map(re.escape, TYPES)), re.IGNORECASE)
}  # fmt: skip


def target_of(path: bytes, query: bytes, base: str = "", *, helm: bool = False) -> bytes:
    """The target that is sent for one that came. `base`: the path below which the API is, "" for none; `helm`: what
    helm keeps of its releases may be read. Raises ClusterRequestError."""
    try:
        text = path.decode("ascii")
    except UnicodeDecodeError:
        raise ClusterRequestError("the path has characters that no path of this API has") from None
    if base:
        if not text.startswith(f"{base}/"):
            raise ClusterRequestError("the path is not below that of the kubeconfig's cluster")
        text = text[len(base) :]
    if len(query) > MOST_QUERY:
        raise ClusterRequestError(f"the query has more than {MOST_QUERY:,} bytes")
    said = _said(query)
    _check(text, said, helm=helm)
    return (base + text).encode("ascii") + (b"?" + _written(said) if said else b"")


def _check(text: str, said: dict[str, str], *, helm: bool) -> None:
    known: Mapping[str, re.Pattern[str]] = _OF_THE_REST
    if not _NO_OBJECT(text):
        found = _OF_OBJECTS(text)
        if found is None:
            raise ClusterRequestError("the path is none by which this API shows objects, their kinds or its state")
        kind, name, part = found["kind"], found["name"] or "", found["part"] or ""
        if kind in _LEADING_ON:
            raise ClusterRequestError(f"`{kind}` in its path leads on to anything")
        if _SECRET(kind) and not (helm and kind == "secrets" and not found["group"] and _is_release(name, said)):
            raise ClusterRequestError(f"`{kind}` hold what is kept as a secret, and are not read so")
        known = _OF_READING
        if part == _LOG and kind == "pods" and not found["group"] and found["namespace"]:
            known = _OF_LOGS
        elif part and part not in _PARTS:
            raise ClusterRequestError(f"`{part}` of an object does more than show it")
    for each, value in said.items():
        grammar = known.get(each) or _ALWAYS.get(each)
        if grammar is None:
            raise ClusterRequestError(f"`{each[:40]}` is no query that such a request reads with")
        if not grammar.fullmatch(value):
            raise ClusterRequestError(f"`{each}` has a value that it never has in a request that reads")


def _is_release(name: str, said: Mapping[str, str]) -> bool:
    """Whether of secrets only what helm keeps of its releases is asked for."""
    if name:
        return name.startswith(_RELEASE)
    selected = said.get("labelSelector", "")
    return "(" not in selected and "owner=helm" in selected.split(",")


def _said(query: bytes) -> dict[str, str]:
    """What a query says: each name once."""
    found: dict[str, str] = {}
    for pair in query.split(b"&") if query else ():
        name, _, value = pair.partition(b"=")
        if not name.isalpha() or not _ESCAPED.fullmatch(value):
            raise ClusterRequestError("the query is none as clients of this API write it")
        text = unquote_to_bytes(value.replace(b"+", b" "))
        if not text.isascii() or (known := name.decode("ascii")) in found:
            raise ClusterRequestError("the query is none as clients of this API write it, or says something twice")
        found[known] = text.decode("ascii")
    return found


_ESCAPED = re.compile(rb"(?:[A-Za-z0-9._~!$'()*+,:;=@/-]|%[0-9A-Fa-f]{2})*")


def _written(said: dict[str, str]) -> bytes:
    return "&".join(f"{name}={quote(said[name], safe='')}" for name in sorted(said)).encode("ascii")
