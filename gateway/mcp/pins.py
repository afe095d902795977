"""What servers said of their tools when they were first seen, so that none of it changes unnoticed.

The first sight of a server is kept. From then on a tool that is new or says something else, and another program or
address under a name that is taken, wait until a person accepts them. The store lies in the user's state folder; one
that somebody else could have written, or that is broken, pins nothing and lets nothing through.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time
from contextlib import contextmanager

from gateway.core.cache import digest, read_owned, replace_whole
from gateway.core.errors import ConfigError, Problem
from gateway.core.value import Value
from gateway.policy.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

# What a tool's definition says to a client. `_meta` is never handed on, and so not pinned.
SAID = ("name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons", "execution")
# Of more tools of one server, those that nobody accepted and that it has no longer are forgotten.
MOST_KEPT = 5_000
NEW, CHANGED, ELSEWHERE = "new", "changed", "elsewhere"


class Pin(Value):
    """One tool as it is kept. `state`: "" for accepted, else why it waits. `identity`: whose it is. `was`, `now`: what
    it said when it was accepted, and what it says now if that waits, as JSON on several lines."""

    server: str
    tool: str
    digest: str
    seen: str
    state: str
    identity: str
    was: str
    now: str


def identity_of(declared: Mapping[str, Any]) -> str:
    """What a server is known by besides its name: its program with all words and the names of its variables, or its
    address."""
    if declared["url"]:
        return "url " + str(declared["url"])
    names = sorted(declared["env"])
    said: dict[str, Any] = {"command": list(declared["command"])} | ({"env": names} if names else {})
    return json.dumps(said, ensure_ascii=True)


def definition_of(tool: Mapping[str, Any]) -> dict[str, Any]:
    """What is pinned of a tool."""
    return {key: tool[key] for key in SAID if key in tool}


def digest_of(definition: Mapping[str, Any]) -> str:
    """The digest of what a tool says of itself."""
    return digest([json.dumps(definition, sort_keys=True, ensure_ascii=True)])


def digest_of_waiting(shown: tuple[Pin, ...]) -> str:
    """The digest of what waits, by which a person accepts exactly that."""
    said = [[pin.server, pin.identity, pin.tool, pin.now] for pin in shown]
    return digest([json.dumps(said, ensure_ascii=True)])


class Pins:
    """The store. Several processes may use it at once."""

    def __init__(self, state: str) -> None:
        self.path = os.path.join(state, "mcp", "pins.json")

    def look(self, server: str, identity: str, tools: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
        """Holds what a server says of its tools against what is kept. Gives, for those that must not be used, why: new,
        changed, elsewhere. The first sight of a server, and what waits for a person, are kept. Raises ConfigError where
        the store cannot be used."""
        said = {name: digest_of(definition) for name, definition in tools.items()}
        known = self._read().get(server, {}).get(identity)
        if known is not None and not known["waits"] and all(_is(known, name, said[name]) for name in said):
            return {}
        with self._locked():
            store = self._read()
            of_name = store.setdefault(server, {})
            entry = of_name.get(identity)
            if entry is None:
                is_first = not of_name
                entry = of_name[identity] = {"waits": not is_first, "tools": {}}
                for name, definition in tools.items():
                    entry["tools"][name] = _kept(said[name], definition, waits=not is_first)
            if len(entry["tools"]) > MOST_KEPT:
                entry["tools"] = {
                    name: kept for name, kept in entry["tools"].items() if kept["digest"] or name in tools
                }
            found: dict[str, str] = {}
            for name, definition in tools.items():
                kept = entry["tools"].setdefault(name, _kept(said[name], definition, waits=True))
                if entry["waits"]:
                    found[name] = ELSEWHERE
                elif not kept["digest"]:
                    found[name] = NEW
                elif kept["digest"] != said[name]:
                    found[name] = CHANGED
                if name in found:
                    kept["next"] = {"digest": said[name], "says": dict(definition), "seen": _now()}
                else:
                    kept.pop("next", None)
            self._write(store)
        return found

    def all(self, server: str = "") -> list[Pin]:
        """Everything that is kept, or of one server. Raises ConfigError."""
        found = []
        for name, identities in sorted(self._read().items()):
            for identity, entry in identities.items() if name == (server or name) else ():
                for tool, kept in sorted(entry["tools"].items()):
                    later = kept.get("next")
                    state = ELSEWHERE if entry["waits"] else NEW if not kept["digest"] else CHANGED if later else ""
                    found.append(
                        Pin(
                            name,
                            tool,
                            digest=kept["digest"],
                            seen=kept["seen"],
                            state=state,
                            identity=identity,
                            was=_lines(kept["says"]),
                            now=_lines(later["says"] if later else None),
                        )
                    )
        return found

    def waiting(self, server: str, tools: tuple[str, ...] = ()) -> tuple[Pin, ...]:
        """What waits of a server's tools, all or these, as it was last seen. Raises ConfigError."""
        return tuple(pin for pin in self.all(server) if pin.now and (not tools or pin.tool in tools))

    def accept(self, shown: tuple[Pin, ...]) -> list[str]:
        """Takes what `waiting` gave, exactly as it was. Gives the tools' names. Raises ConfigError, and takes nothing,
        where one of them says something else by now."""
        with self._locked():
            store = self._read()
            for pin in shown:
                entry = store.get(pin.server, {}).get(pin.identity, {"tools": {}})
                later = entry["tools"].get(pin.tool, {}).get("next")
                if later is None or _lines(later["says"]) != pin.now:
                    raise ConfigError(
                        Problem(
                            "a tool must not change while it is looked at "
                            f"(`{visible(pin.tool)}` of {visible(pin.server)} did)",
                            remedy="look again",
                        )
                    )
                kept = entry["tools"][pin.tool]
                kept.update(kept.pop("next"))
                entry["waits"] = entry["waits"] and any("next" in each for each in entry["tools"].values())
            if shown:
                self._write(store)
        return sorted({pin.tool for pin in shown})

    def forget(self, server: str) -> bool:
        """Forgets a server: what it says next is its first sight. False if it was not known. Raises ConfigError."""
        with self._locked():
            store = self._read()
            if server not in store:
                return False
            del store[server]
            self._write(store)
        return True

    def _read(self) -> dict[str, dict[str, Any]]:
        data = read_owned(self.path)
        if data is None:
            is_there = os.path.lexists(self.path)
            data = read_owned(self.path) if is_there else None  # it may have been made just now
        if data is None:
            if is_there:
                raise self._problem(
                    "must belong to you alone", "look at it, then delete it or give it back to yourself"
                )
            return {}
        try:
            store = json.loads(data)["servers"]
            for identities in store.values():
                for entry in identities.values():
                    if not isinstance(entry["waits"], bool):
                        raise TypeError("waits")
                    for kept in entry["tools"].values():
                        if not all(isinstance(kept[key], str) for key in ("digest", "seen")):
                            raise TypeError("digest")
                        kept["says"].items()
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            remedy = "delete it, and look at your servers' tools anew"
            raise self._problem(f"must be what was written there (got {error})", remedy) from error
        found: dict[str, dict[str, Any]] = store
        return found

    def _write(self, store: dict[str, dict[str, Any]]) -> None:
        data = json.dumps({"version": 1, "servers": store}, indent=1, sort_keys=True, ensure_ascii=True).encode()
        try:
            replace_whole(self.path, data + b"\n")
        except OSError as error:
            raise self._problem(f"cannot be written: {error.strerror}", "nothing was kept") from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One writer at a time, over all processes."""
        folder = os.path.dirname(self.path)
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            where = self.path + ".lock"
            descriptor = os.open(where, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        except OSError as error:
            raise self._problem(f"cannot be written: {error.strerror}", "nothing was kept") from error
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise self._problem("cannot be locked", f"remove {where}")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _problem(self, what: str, remedy: str) -> ConfigError:
        return ConfigError(Problem(f"the store of pinned tools {what}", file=self.path, remedy=remedy))


def _is(entry: Mapping[str, Any], name: str, said: str) -> bool:
    kept = entry["tools"].get(name)
    return kept is not None and kept["digest"] == said and "next" not in kept


def _kept(said: str, definition: Mapping[str, Any], *, waits: bool) -> dict[str, Any]:
    return {"digest": "" if waits else said, "says": {} if waits else dict(definition), "seen": _now()}


def _lines(definition: Any) -> str:
    return json.dumps(definition, indent=2, sort_keys=True, ensure_ascii=True) if definition else ""


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
