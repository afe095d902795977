"""Files, hosts and tools of servers, as rules of agents name them. Pure."""

from __future__ import annotations

import re

from gateway.core.value import Value
from gateway.install.translation.common_call import FETCH, MCP, READ, SHELL, WRITE, Asked, words_of
from gateway.install.translation.globs_of_paths import below
from gateway.install.translation.matching import TOOLS, Everything

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.install.translation.common_call import Where
    from gateway.install.translation.matching import Clause


class Path(Value):
    """Files by an expression over absolute paths. `kind`: read or write. `allows`, `denies`: patterns of ours for it,
    () where there are none. `alone`: it does not name what lies below what it names, as patterns of ours do."""

    kind: str
    expression: str
    allows: tuple[str, ...]
    denies: tuple[str, ...]
    samples: tuple[str, ...] = ()
    alone: bool = False

    def holds(self, asked: Asked) -> bool:
        """As every test."""
        return asked.kind == self.kind and re.fullmatch(self.expression, asked.text) is not None

    def narrow(self) -> tuple[Clause, ...]:
        """As every test."""
        if not self.allows:
            return ()
        effects = ["list", "read"] if self.kind == READ else ["list", "read", "write"]
        without = [each for pattern in self.allows if (each := below(pattern))] if self.alone else []
        spared = {"path_not": without} if without else {}
        return ({"tool": TOOLS[self.kind], "effect": effects, "path": list(self.allows), **spared},)

    def wide(self) -> tuple[Clause, ...]:
        """As every test."""
        if not self.denies:
            return ({"tool": TOOLS[self.kind]},)
        if self.kind == READ:
            return ({"effect": ["list", "read", "write", "delete"], "path": list(self.denies)},)
        # What a call writes without naming it (`git commit` in `.git`) no rule on an agent's tools speaks of.
        return ({"effect": ["write", "delete"], "path": list(self.denies), "named": True},)

    def tried(self) -> tuple[Asked, ...]:
        """As every test."""
        shell = (
            ("cat {}", "dd if={} of=x", "tar cf x.tar {}")
            if self.kind == READ
            else ("tee {}", "rm {}", "cp README.md {}")
        )
        found = [Asked(SHELL, form.format(path)) for path in self.samples[:2] if words_of(path) for form in shell]
        return (Asked(self.kind, self.samples[0]), *found, *(Asked(self.kind, path) for path in self.samples[1:]))


def everything(kind: str, lane: str, where: Where) -> Everything | Path:
    """Every call of a kind, for an agent that asks about files outside of its project whatever its rules allow."""
    if lane != "allow" or kind not in (READ, WRITE):
        return Everything(kind)
    base = where.project
    samples = tuple(base + rest for rest in ("/src/main.py", "/a/b", "x/y"))
    return Path(
        kind,
        re.escape(base) + "/.*",
        ("./**",),
        denies=("./**",),
        samples=(*samples, "/elsewhere/a", where.home + "/notes"),
    )


class Host(Value):
    """Addresses by their host: a name, `*.` and a name, or `*`; `scheme`: "" for any."""

    pattern: str
    scheme: str = ""
    deeper: bool = False
    kind: str = FETCH

    def holds(self, asked: Asked) -> bool:
        """As every test."""
        if asked.kind != FETCH:
            return False
        scheme, _, rest = asked.text.partition("://")
        host = re.split(r"[/?#:]", rest.rpartition("@")[2] if "@" in rest.split("/", 1)[0] else rest, maxsplit=1)[
            0
        ].lower()
        if self.scheme and scheme != self.scheme:
            return False
        pattern = self.pattern.lower()
        if pattern.startswith("*."):
            return host.endswith(pattern[1:])
        return pattern == "*" or host == pattern or (self.deeper and host.endswith("." + pattern))

    def narrow(self) -> tuple[Clause, ...]:
        """As every test."""
        if self.pattern == "*":
            return () if self.scheme else ({"tool": ["WebFetch"]},)
        if not _is_host(self.pattern) or self.scheme == "http":
            return ()
        port = {"port": [443]} if self.scheme == "https" else {}
        return ({"tool": ["WebFetch"], "effect": ["connect"], "direction": ["fetch"], "host": [self.pattern], **port},)

    def wide(self) -> tuple[Clause, ...]:
        """As every test."""
        if not _is_host(self.pattern):
            return ({"tool": ["WebFetch"]},)
        hosts = [self.pattern, f"*.{self.pattern}"] if self.deeper else [self.pattern]
        return ({"effect": ["connect"], "host": hosts},)

    def tried(self) -> tuple[Asked, ...]:
        """As every test."""
        name = self.pattern.replace("*", "api")
        found = [Asked(FETCH, f"{scheme}://{host}/x") for scheme in ("https", "http") for host in (name, f"a.{name}")]
        found += [Asked(FETCH, "https://other.example.net/"), Asked(SHELL, f"curl https://{name}/")]
        return tuple(found)


def _is_host(name: str) -> bool:
    return re.fullmatch(r"(?:\*\.)?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?", name) is not None


class Server(Value):
    """Tools of a server of the Model Context Protocol. `server` and `tool` may be `*`."""

    server: str
    tool: str = "*"
    kind: str = MCP

    def holds(self, asked: Asked) -> bool:
        """As every test."""
        if asked.kind != MCP:
            return False
        server, _, tool = asked.text.partition("/")
        return _globbed(self.server, server) and _globbed(self.tool, tool)

    def narrow(self) -> tuple[Clause, ...]:
        """As every test."""
        if not re.fullmatch(r"[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*", self.server) or not re.fullmatch(
            r"[\w*-]+", self.tool
        ):
            return ()
        return ({"tool": [f"mcp__{self.server}__{self.tool}"]},)

    def wide(self) -> tuple[Clause, ...]:
        """As every test."""
        server = self.server if re.fullmatch(r"[\w-]+", self.server) else "*"
        tool = self.tool if re.fullmatch(r"[\w*-]+", self.tool) else "*"
        return ({"tool": [f"mcp__{server}__{tool}" if server != "*" or tool != "*" else "mcp__*"]},)

    def tried(self) -> tuple[Asked, ...]:
        """As every test."""
        server, tool = self.server.replace("*", "github"), self.tool.replace("*", "get")
        return (Asked(MCP, f"{server}/{tool}"), Asked(MCP, f"{server}/{tool}x"), Asked(MCP, f"{server}x/{tool}"))


def _globbed(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text) is not None
