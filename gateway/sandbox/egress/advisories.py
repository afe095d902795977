"""What npm asks a registry about known faults of packages: names with their versions, and nothing else. Pure."""

from __future__ import annotations

import json
import re

from gateway.sandbox.egress.strict_json import object_of

_NAME = re.compile(r"(?:@[a-z0-9._~-]{1,100}/)?[A-Za-z0-9._~-]{1,100}")
_VERSION = re.compile(r"[0-9]{1,10}\.[0-9]{1,10}\.[0-9]{1,10}(?:[-+][A-Za-z0-9.+-]{1,60})?")


class AdvisoriesError(ValueError):
    """A request that says more than names and versions; the message says why."""


def rewritten(body: bytes) -> bytes:
    """The question, made of what was read of it. Raises ValueError."""
    found = object_of(body)
    for name, versions in found.items():
        if not _NAME.fullmatch(name) or versions.__class__ is not list or not versions:
            raise AdvisoriesError("a question about packages must be their names, each with its versions")
        if not all(each.__class__ is str and _VERSION.fullmatch(each) for each in versions):
            raise AdvisoriesError(f"the versions of a package must be versions (`{name[:100]}`)")
    return json.dumps(found, separators=(",", ":")).encode("ascii")
