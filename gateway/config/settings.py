"""The settings of all layers merged: the lowest layer that sets one wins, within the bounds and locks of upper ones."""

from __future__ import annotations

from gateway.config.layers import STRICTER, Setting
from gateway.core.errors import Problem
from gateway.model.changes import BOUNDS
from gateway.model.decision import REVIEWS
from gateway.model.plan import CLUSTER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.config.layers import PolicyFile

# What a setting is that no layer sets, where a session or a lower layer may choose another within bounds.
_USUAL = {"mode": "default", "review": REVIEWS[0], "contained": BOUNDS[0]}
# Sections of which no key may come from another layer than the rest: the key of one provider is not for another.
_WHOLE = ("search",)


class Settings:
    """Single values by layer: the lowest layer that sets one wins, unless an upper one locked or bounded it."""

    def __init__(self) -> None:
        self.values: dict[str, Setting] = {}
        self.locked: dict[str, str] = {}
        self.bounds: dict[str, tuple[list[Any], str]] = {}
        self.skipped: list[str] = []
        self.problems: list[Problem] = []
        self.modes_elsewhere: list[str] = []

    def add(self, file: PolicyFile, path: str, doc: dict[str, Any], may_loosen: bool, is_elsewhere: bool) -> None:
        """Takes a file's settings over. `is_elsewhere`: it is another project's than that of the session. Its mode
        holds for calls that reach into it, beside the session's (`modes_elsewhere`): neither takes the other's place.
        """
        settings = dict(doc.get("settings") or {})
        settings.pop("trust", None)
        lock, bounds = settings.pop("lock", ()), settings.pop("bounds", {})
        self._check_sandbox(settings.get("sandbox") or {}, file.layer, path)
        self._check_audit(settings.get("audit") or {}, file.layer, path)
        for servers in ("servers", "language_servers"):
            self._check_servers(settings.get(servers) or {}, file.layer, path)
        self._check_mcp(settings.get("mcp") or {}, file.layer, path)
        self._check_web(settings, file.layer, path)
        self._check_remote(settings, file.layer, path)
        self._check_persons(settings, file.layer, path)
        for name, value in settings.items():
            reason = self._refused(file, name, value, may_loosen, is_elsewhere)
            if not reason and is_elsewhere and name == "mode":
                self.modes_elsewhere.append(value)
            elif reason:
                self.skipped.append(f"{path}: setting `{name}` is not used: {reason}")
            else:
                self._set(name, value, path, file.layer)
        if file.layer == "project":
            return
        for name in lock:
            self.locked.setdefault(name, file.layer)
        for name, allowed in bounds.items():
            if self.locked.get(name, file.layer) != file.layer:
                self.skipped.append(f"{path}: bounds of `{name}` are not used: layer {self.locked[name]} locked it")
                continue
            known = self.bounds.get(name)
            both = [value for value in allowed if known is None or value in known[0]]
            self.bounds[name] = (both, path)

    def _set(self, name: str, value: Any, path: str, layer: str) -> None:
        """Takes a value over; of a section the keys that are not locked, beside those that other layers set."""
        if not isinstance(value, dict) or name in _WHOLE:
            self.values[name] = Setting(value, path, layer)
            return
        before = self.values.get(name, Setting({}, path, layer))
        free = {}
        for key, each in value.items():
            locked_by = self.locked.get(f"{name}.{key}")
            if locked_by and locked_by != layer:
                self.skipped.append(f"{path}: setting `{name}.{key}` is not used: layer {locked_by} locked it")
            else:
                free[key] = each
        origins = {**before.origins, **dict.fromkeys(free, (path, layer))}
        self.values[name] = Setting({**before.value, **free}, path, layer, origins)

    def _check_sandbox(self, sandbox: dict[str, Any], layer: str, path: str) -> None:
        """What is too much for some layers is an error there, not a setting that waits."""
        if "none" in sandbox.get("weaker", ()) and layer not in ("enterprise", "user"):
            remedy = "only the enterprise and the user layer may do without a sandbox"
            self.problems.append(Problem("`weaker` must not hold `none` in this layer", file=path, remedy=remedy))
        if sandbox.get("inject") and layer == "project":
            remedy = "set it in your own policy"
            self.problems.append(Problem("a project must not say where secrets are sent", file=path, remedy=remedy))
        with_login = [
            each for each in sandbox.get("hosts", ()) if each.__class__ is dict and CLUSTER in each.get("also", ())
        ]
        if with_login and layer == "project":
            remedy = "set it in your own policy"
            message = "a project must not say which clusters are read with your login"
            self.problems.append(Problem(message, file=path, remedy=remedy))

    def _check_audit(self, audit: dict[str, Any], layer: str, path: str) -> None:
        """One record serves all projects of a user, so none of them says how it is kept."""
        if audit and layer == "project":
            remedy = "set it in your own policy"
            self.problems.append(Problem("a project must not say how the record is kept", file=path, remedy=remedy))
        elif audit.get("required") == "nothing" and layer not in ("enterprise", "user"):
            remedy = "only the enterprise and the user layer may do without a record"
            self.problems.append(Problem("`required` must not be `nothing` in this layer", file=path, remedy=remedy))

    def _check_servers(self, servers: dict[str, Any], layer: str, path: str) -> None:
        """A project may bring servers, but not say which of the user's secrets they get."""
        given = [
            name
            for name, each in servers.items()
            if any(value.startswith("env:") for value in each["env"].values())
            or any("env" in part for parts in each.get("headers", {}).values() for part in parts)
        ]
        if given and layer == "project":
            remedy = "set it in your own policy"
            message = f"a project must not say which variables a server gets (got `{given[0]}`)"
            self.problems.append(Problem(message, file=path, remedy=remedy))

    def _check_mcp(self, mcp: dict[str, Any], layer: str, path: str) -> None:
        """Who answers for a person, and what servers may do to the one who asks them, is not a project's to say."""
        if mcp and layer == "project":
            remedy = "set it in your own policy"
            self.problems.append(Problem("a project must not set `mcp`", file=path, remedy=remedy))

    def _check_remote(self, settings: dict[str, Any], layer: str, path: str) -> None:
        """Who may answer where, and who is told of calls, is not a project's to say."""
        page = "page" in (settings.get("agents") or {})
        if layer == "project":
            remedy = "set it in your own policy"
            self.problems += [
                Problem(f"a project must not set `{name}`", file=path, remedy=remedy)
                for name, given in (("remote", settings.get("remote")), ("agents.page", page))
                if given
            ]

    def _check_web(self, settings: dict[str, Any], layer: str, path: str) -> None:
        """Neither what is reached beside the public web nor who gets the words that are searched for is a project's
        to say, nor what models cost."""
        if layer == "project":
            remedy = "set it in your own policy"
            self.problems += [
                Problem(f"a project must not set `{name}`", file=path, remedy=remedy)
                for name in ("web", "search", "models")
                if settings.get(name)
            ]

    def _check_persons(self, settings: dict[str, Any], layer: str, path: str) -> None:
        """An accepted plan ends a mode that refuses every write, a pause ends more than that: who accepts the one and
        whether there may be the other is not a project's to say."""
        if layer == "project":
            remedy = "set it in your own policy"
            self.problems += [
                Problem(f"a project must not {what}", file=path, remedy=remedy)
                for name, what in (("plan", "set `plan`"), ("pause", "allow a `pause`"))
                if settings.get(name)
            ]

    def _value(self, name: str) -> str:
        found: str = self.values[name].value if name in self.values else _USUAL[name]
        return found

    def settle_mode(self) -> None:
        """Where the layers bound the mode and none that may stay sets it, the first of those they name holds."""
        allowed, path = self.bounds.get("mode", ([], ""))
        current = self._value("mode")
        if "mode" in self.bounds and current not in allowed:
            if not allowed:
                remedy = "name a mode that all of them allow"
                self.problems.append(Problem("no mode lies within the bounds of all layers", file=path, remedy=remedy))
                return
            self.values["mode"] = Setting(allowed[0], path, "enterprise")

    def allowed(self, name: str) -> tuple[Any, ...]:
        """The values of a setting that a session may choose, () for any."""
        if name in self.locked:
            return (self._value(name),)
        return tuple(self.bounds[name][0]) if name in self.bounds else ()

    def _refused(self, file: PolicyFile, name: str, value: Any, may_loosen: bool, is_elsewhere: bool) -> str:
        """Why a value is not taken over, "" if it is."""
        locked_by = self.locked.get(name)
        if locked_by and locked_by != file.layer:
            return f"layer {locked_by} locked it"
        if name in self.bounds and value not in self.bounds[name][0]:
            return f"{self.bounds[name][1]} bounds it to {', '.join(map(str, self.bounds[name][0]))}"
        if name == "proposals" and file.layer != "enterprise":
            return "only the enterprise layer says which proposed rules hold by themselves"
        if name == "contained":
            mildest = self._value(name)
            return (
                f"it is `{mildest}` already, and every layer only tightens it"
                if BOUNDS.index(value) < BOUNDS.index(mildest)
                else ""
            )
        if file.layer == "project":
            if name == "mode":
                current = self._value("mode")
                if value != current and value not in STRICTER[current] and not is_elsewhere:
                    return "a project may choose only stricter modes"
            elif not may_loosen:
                return "it waits until the project is trusted"
            elif name == "review" and REVIEWS.index(value) < REVIEWS.index(self._value(name)):
                return "a project may only have more reviewed"
        return ""
