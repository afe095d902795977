"""What the package brings along: its tools, and what it says of programs, of foreign agents' tools and of MCP servers.

A wheel carries them compiled. A checkout compiles them once, and again when a file is another one: the stamps here say
when that is.
"""

from __future__ import annotations

import marshal
import os
import sys

from gateway.config import prebuilt
from gateway.config.descriptions import Layered
from gateway.config.layers import read_file
from gateway.config.tool_files import with_tools
from gateway.core.cache import Cache, digest
from gateway.core.errors import ConfigError, Problem
from gateway.core.packed import Descriptions, OnDisk
from gateway.core.places import COMMANDS, PACKAGE, SERVERS, packaged
from gateway.tools.foreign import Foreign
from gateway.tools.registry import Registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from gateway.config.descriptions import Entry, Lookup
    from gateway.config.layers import PolicyFile
    from gateway.core.places import Places

# What makes compiled forms, and what gives them their meaning.
_COMPILING = (
    "core", "model", "shell", "policy", "commands", "commands/special", "commands/special/javascript",
    "commands/special/perl", "commands/special/python", "commands/special/sql", "host", "tools", "spec", "config",
    "judge", "agents/tools",
)  # fmt: skip
_stamps: dict[str, str] = {}
# What this process compiled and no cache could keep, by its key.
_unkept: dict[str, bytes] = {}


def load_tools(places: Places, brought: Sequence[PolicyFile] = ()) -> Registry:
    """The declared tools, and those of the files that layers bring besides. Raises ConfigError for a broken one."""
    shipped = _shipped_tools(places)
    if not brought:
        return shipped
    cache, compiled = Cache(places.cache), []
    for file in brought:
        key = "tools-" + digest([code_stamp(), file.layer, file.path, file.content])
        found = cache.read(key)
        if found is None:
            from gateway.spec.tools import compile_tools

            found = compile_tools(file.content, file.path, file.layer)
            cache.write(key, found)
        compiled.append((file.layer, found))
    return with_tools(shipped, compiled)


def _shipped_tools(places: Places) -> Registry:
    built = prebuilt.tools()
    if built is not None:
        return Registry(built["tools"])
    path = packaged("tools.yaml")
    cache = Cache(places.cache)
    key = "packed-tools-" + digest([code_stamp(), path])  # whose state the stamp holds, too
    packed = cache.read_bytes(key)
    if packed is None:
        from gateway.spec.tools import compile_tools

        packed = prebuilt.pack_tools("", compile_tools(read_file(path), path))
        cache.write_bytes(key, packed)
    return Registry(prebuilt.unpack_tools(packed)["tools"])


def load_server_tools(places: Places, name: str) -> dict[str, dict[str, Any]]:
    """What a described MCP server's tools do, by their own names. Raises ConfigError where nobody describes it."""
    path = os.path.join(SERVERS, f"{name}.yaml")
    if not os.path.isfile(path):
        known = sorted(each.removesuffix(".yaml") for each in os.listdir(SERVERS) if each.endswith(".yaml"))
        remedy = f"described are {', '.join(known)}"
        raise ConfigError(Problem(f"no description says what the MCP server `{name}` does", remedy=remedy))
    content, cache = read_file(path), Cache(places.cache)
    key = "server-" + digest([code_stamp(), path, content])
    compiled = cache.read(key)
    if compiled is None:
        from gateway.spec.tools import compile_tools

        compiled = compile_tools(content, path)
        cache.write(key, compiled)
    found: dict[str, dict[str, Any]] = compiled["tools"]
    return found


def load_descriptions(places: Places) -> Descriptions:
    """The packaged descriptions of programs. The first look-up raises ConfigError if one is broken."""
    if prebuilt.tools() is not None:
        return Descriptions(prebuilt.commands)
    return Descriptions(lambda: _packed_descriptions(places))


def described(shipped: Descriptions, commands: tuple[Entry, ...]) -> Lookup:
    """What known programs do: the packaged descriptions, with what layers say besides."""
    return Layered(shipped, commands) if commands else shipped


def load_foreign(places: Places) -> Foreign:
    """The tools of foreign agents. The first look-up raises ConfigError if a description is broken."""
    if prebuilt.tools() is not None:
        return Foreign(Descriptions(prebuilt.foreign))
    return Foreign(Descriptions(lambda: _packed_foreign(places)))


def _packed_foreign(places: Places) -> bytes | OnDisk:
    """Those of a checkout, from the cache unless one of their files is another one by now."""

    def make() -> bytes:
        from gateway.config.compiling import pack_foreign  # lazy: where there is a cache nothing is compiled

        return pack_foreign(_shipped_tools(places))

    return _in_checkout(places, "foreign-" + digest([code_stamp()]), make)


def _in_checkout(places: Places, key: str, make: Callable[[], bytes]) -> bytes | OnDisk:
    """Packed descriptions by their key in the cache; where nothing can be kept there, this process compiles once."""
    cache = Cache(places.cache)
    found = cache.open_blocks(key)
    if found is not None:
        return OnDisk(found.read)
    packed = _unkept.get(key) or make()
    if not cache.write_blocks(key, packed):
        _unkept[key] = packed
    return packed


def descriptions_stamp() -> str:
    """Changes whenever a packaged description of a checkout does; "" for a wheel, whose code stamp covers them. A
    process looks once, as for its code."""
    found = _stamps.get(COMMANDS)
    if found is None:
        found = _stamps[COMMANDS] = "" if prebuilt.tools() is not None else _stamp_of_descriptions()
    return found


def _stamp_of_descriptions() -> str:
    return digest(_states(COMMANDS, ".yaml"))


def _states(folder: str, suffix: str | tuple[str, ...]) -> list[bytes]:
    """The names of the files of a folder, in its own order, and how each was when it was last written. Of a thousand
    files this is looked at for each call: `repr` of it, or an order, would take as long as the looking."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with os.scandir(opened) as entries:  # of what is open, names alone are looked up
            found = [(e.name, (now := e.stat()).st_size, now.st_mtime_ns) for e in entries if e.name.endswith(suffix)]
    finally:
        os.close(opened)
    return [marshal.dumps(found, 2)]  # of that version: what equals is the same bytes


def _packed_descriptions(places: Places) -> bytes | OnDisk:
    """Those of a checkout, from the cache unless one of their files is another one by now."""
    return _in_checkout(places, "commands-" + digest([code_stamp(), descriptions_stamp()]), _pack_descriptions)


def _pack_descriptions() -> bytes:
    from gateway.config.compiling import pack_descriptions  # lazy: where there is a cache nothing is compiled

    return pack_descriptions()


def code_stamp() -> str:
    """Changes whenever the code that makes compiled forms does, or the tools that rules are read against. A process
    looks once: it goes on with the code that it has."""
    found = _stamps.get(PACKAGE)
    if found is None:
        found = _stamps[PACKAGE] = _code_stamp()
    return found


def code_digest() -> str:
    """The same, with the packaged descriptions, as a short digest."""
    found = _stamps.get("")
    if found is None:
        found = _stamps[""] = digest([code_stamp(), descriptions_stamp()])[:16]
    return found


def _code_stamp() -> str:
    platform = (sys.platform, *sys.version_info[:2])
    built = prebuilt.tools()
    if built is not None:
        return repr((*platform, built["stamp"]))
    found = os.stat(packaged("tools.yaml"))
    stamp = [repr((*platform, found.st_size, found.st_mtime_ns)).encode()]
    for folder in _COMPILING:
        try:
            stamp += _states(os.path.join(PACKAGE, folder), (".py", ".yaml") if folder == "agents/tools" else ".py")
        except FileNotFoundError:
            stamp.append(b"")
    return digest(stamp)
