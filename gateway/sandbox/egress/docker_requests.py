"""Requests to Docker's daemon that show something and change nothing: what is let through, and what of the answers.
Pure.

The daemon's socket is as good as root, so this is a list, by the documents of the Engine API (1.24 to 1.51): what is
not on it does not pass. Never on it are GETs that do more than show: those that have the daemon ask a registry, hand
out files, tokens or keys, or change to another protocol. What shows the environments of containers passes where the
call was predicted to show them (`docker-inspect`); else of a container only what other views take of it.
"""

from __future__ import annotations

import json
import re

from gateway.sandbox.egress.reading import NotReadingError, Reading
from gateway.sandbox.egress.strict_json import object_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.sandbox.egress.http import Request

DOCKER, INSPECT, TOP = "docker", "docker-inspect", "docker-top"
USER_AGENT = (b"user-agent", b"gateway")
MAX_TARGET = 4096
_NAME = rb"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}"
_IMAGE = rb"[A-Za-z0-9][A-Za-z0-9_.-]*(?::[0-9]{1,5})?(?:/[A-Za-z0-9][A-Za-z0-9_.-]*)*(?::[\w.-]{1,128})?"
_IMAGE += rb"(?:@sha256:[0-9a-f]{64})?|sha256:[0-9a-f]{64}"
_VERSION = re.compile(rb"\A/v1\.[0-9]{1,3}(?=/)")
_VALUE = re.compile(rb"(?:[A-Za-z0-9._~:,*+-]|%[0-9A-Fa-f]{2}){0,1024}")


def _path(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern.replace(b"NAME", _NAME).replace(b"IMAGE", b"(?:" + _IMAGE + b")"))


_ONE = _path(rb"/containers/NAME/json")
_TOP = _path(rb"/containers/NAME/top")
# What is asked for, and by which parameters.
_SHOWS: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (_path(rb"/_ping"), ""),
    (_path(rb"/version"), ""),
    (_path(rb"/info"), ""),
    (_path(rb"/containers/json"), "all limit size filters since before"),
    (_ONE, "size"),
    (_TOP, ""),
    (_path(rb"/containers/NAME/logs"), "stdout stderr since until timestamps follow tail details"),
    (_path(rb"/containers/NAME/stats"), "stream one-shot"),
    (_path(rb"/containers/NAME/changes"), ""),
    (_path(rb"/images/json"), "all filters digests shared-size manifests filter"),
    (_path(rb"/images/IMAGE/json"), "manifests platform"),
    (_path(rb"/images/IMAGE/history"), "platform"),
    (_path(rb"/networks"), "filters"),
    (_path(rb"/networks/NAME"), "verbose scope"),
    (_path(rb"/volumes"), "filters"),
    (_path(rb"/volumes/NAME"), ""),
    (_path(rb"/events"), "since until filters"),
    (_path(rb"/system/df"), "type verbose"),
)
_OF_ONE = ("Id", "Name", "Created", "State", "Image", "Platform", "Driver", "RestartCount", "Mounts", "NetworkSettings",
           "SizeRw", "SizeRootFs")  # fmt: skip
_OF_CONFIG = ("Tty", "Image", "OpenStdin", "ExposedPorts")


def reading(request: Request, also: tuple[str, ...]) -> Reading:
    """The request as it may be sent. `also`: what the call may be shown, of the names above. Raises NotReadingError."""
    target = request.path
    path, mark, query = target.partition(b"?")
    if request.upgrade or request.expects or any(name == b"upgrade" for name, _value in request.fields):
        raise NotReadingError("it asks to change to another protocol, by which what runs in a container is reached")
    if request.method != b"GET" and (request.method, path) != (b"HEAD", b"/_ping"):
        raise NotReadingError(f"{request.method.decode('ascii')} is no way to look at what Docker tells")
    if request.length:
        raise NotReadingError("a request that shows something has no body")
    asked = _VERSION.sub(b"", path, count=1)
    names = next((names for pattern, names in _SHOWS if pattern.fullmatch(asked)), None)
    if names is None or len(target) > MAX_TARGET:
        raise NotReadingError(
            "a call may look at containers, their logs, images, networks and volumes: this would do, or hand out, more"
        )
    allowed = names.split() + (["ps_args"] if TOP in also and _TOP.fullmatch(asked) else [])
    if mark:
        _check_query(query, allowed)
    cuts = _ONE.fullmatch(asked) is not None and INSPECT not in also
    return Reading(request.replace(fields=(USER_AGENT,)), made=without_secrets if cuts else None)


def _check_query(query: bytes, allowed: list[str]) -> None:
    seen = set()
    for pair in query.split(b"&"):
        name, _equals, value = pair.partition(b"=")
        if name.decode("latin-1") not in allowed or name in seen or not _VALUE.fullmatch(value):
            raise NotReadingError(
                f"it is asked for with `{name.decode('latin-1')[:40]}`, which is none of its parameters"
            )
        seen.add(name)


def without_secrets(body: bytes) -> bytes:
    """What is told of one container, without its environment, its words and its labels. Raises JsonError."""
    found = object_of(body)
    kept: dict[str, Any] = {name: found[name] for name in _OF_ONE if name in found}
    config = found.get("Config")
    if isinstance(config, dict):
        kept["Config"] = {name: config[name] for name in _OF_CONFIG if name in config}
    return json.dumps(kept).encode()
