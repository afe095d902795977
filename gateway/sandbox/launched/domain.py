"""Entering a Landlock domain: for good, and for all that this process will start."""

from __future__ import annotations

import ctypes
import os
import sys

from gateway.sandbox.launched.kernel import ADD_RULE, CREATE_RULESET, RESTRICT_SELF, call, open_exactly, shown

SCOPE_SIGNAL = 2


def restrict(handled: int, network: int, scoped: int, rules: list[tuple[bytes, int]]) -> None:
    """Enters a Landlock domain in which only what the rules name is allowed. Raises Refused."""
    head = [handled, network, scoped] if scoped else [handled, network] if network else [handled]
    attributes = (ctypes.c_uint64 * len(head))(*head)
    ruleset = call("a Landlock ruleset", CREATE_RULESET, attributes, ctypes.c_size_t(8 * len(head)), ctypes.c_uint32(0))
    try:
        for path, access in rules:
            _allow(ruleset, path, access)
        call("Landlock", RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: bytes, access: int) -> None:
    descriptor = open_exactly(path)
    if descriptor is None:
        return
    try:
        packed = access.to_bytes(8, sys.byteorder) + descriptor.to_bytes(4, sys.byteorder)
        call(f"a rule for {shown(path)}", ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(1), packed, ctypes.c_uint32(0))
    finally:
        os.close(descriptor)
