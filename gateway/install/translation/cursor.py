"""Cursor: `permissions` of its command line's files, and the lists of `permissions.json`. Deny stands above allow.

`Shell(x)` names the first word of a command, `Shell(x:y)` what follows it, too; `Read(…)` and `Write(…)` are globs,
relative ones within the workspace; `WebFetch(host)`; `Mcp(server:tool)`. Lists of commands are first words. No matcher
of Cursor's can be run here: this is what its documentation says, read narrowly for allow and widely for deny.
"""

from __future__ import annotations

import os
import re

from gateway.install.cursor import NAME, TITLE
from gateway.install.jsonc import MISSING, JsonDocument
from gateway.install.translation.common_call import FETCH, READ, SHELL, WRITE
from gateway.install.translation.deciding import STRICTEST
from gateway.install.translation.globs_of_paths import glob_expression, ignore_expression, samples
from gateway.install.translation.matching import STAR, Command, Everything
from gateway.install.translation.matching_targets import Host, Path, Server, everything
from gateway.install.translation.places import Place, json_line, user_and_project
from gateway.install.translation.rules import ALLOW, DENY, Remark, Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.install.base import Site
    from gateway.install.translation.common_call import Where
    from gateway.install.translation.matching import Test

WAY = STRICTEST
PATH_PROGRAMS: frozenset[str] = frozenset()
_BARE = {"Shell": SHELL, "Read": READ, "Write": WRITE, "WebFetch": FETCH}


def places(site: Site) -> tuple[Place, ...]:
    """Where Cursor takes its permissions from on this machine."""
    from gateway.install import cursor

    user, project = user_and_project(cursor, site)
    return (
        Place(os.path.join(user, "cli-config.json"), "user"),
        Place(os.path.join(project, "cli.json"), "project"),
        Place(os.path.join(user, "permissions.json"), "user"),
        Place(os.path.join(project, "permissions.json"), "project"),
    )


def read(text: str, file: str, _level: str, where: Where) -> tuple[list[Rule], list[Remark]]:
    """Raises ConfigError for a text that is no JSON."""
    document = JsonDocument(text, file)
    rules: list[Rule] = []
    remarks: list[Remark] = []
    for lane, path in ((ALLOW, ("permissions", "allow")), (DENY, ("permissions", "deny"))):
        for entry in _list(document, path):
            line = json_line(document, text, entry)
            if not isinstance(entry, str):
                remarks.append(Remark(NAME, file, line, text=repr(entry), why="is no text", ignored=True))
                continue
            tests, idle = _tests(entry, lane, where)
            rules.append(Rule(NAME, file, line, text=entry, lane=lane, tests=tests, idle=idle))
    for entry in _list(document, ("terminalAllowlist",)):
        line = json_line(document, text, entry)
        if isinstance(entry, str) and entry.strip():
            rules.append(Rule(NAME, file, line, text=entry, lane=ALLOW, tests=(Command((entry.strip(),), more=True),)))
        else:
            remarks.append(Remark(NAME, file, line, text=repr(entry), why="is no text", ignored=True))
    for entry in _list(document, ("mcpAllowlist",)):
        line = json_line(document, text, entry)
        server, colon, tool = str(entry).partition(":")
        tests = (Server(server, tool),) if colon and server and tool else ()
        rules.append(
            Rule(
                NAME,
                file,
                line,
                text=str(entry),
                lane=ALLOW,
                tests=tests,
                idle="" if tests else "must be `server:tool`",
            )
        )
    guidance = document.get(("autoRun",))
    if guidance is not MISSING:
        line = json_line(document, text, "autoRun")
        remarks.append(Remark(NAME, file, line, text="autoRun", why="is prose for a model, which no rule can say"))
    return rules, remarks


def _list(document: JsonDocument, path: tuple[str, ...]) -> list[object]:
    found = document.get(path)
    return found if found is not MISSING and isinstance(found, list) else []


def _tests(text: str, lane: str, where: Where) -> tuple[tuple[Test, ...], str]:
    found = re.fullmatch(r"\s*([A-Za-z]+)\((.*)\)\s*", text, re.DOTALL)
    if not found or not found[2].strip():
        return (), "must be a kind with something in parentheses"
    name, inner = found[1], found[2].strip()
    if name in _BARE and inner in (STAR, "**", "**/*") and name != "Shell":
        return (everything(_BARE[name], lane, where),), ""
    if name == "Shell":
        return (_shell(inner, lane),), ""
    if name in ("Read", "Write"):
        return (_path(_BARE[name], inner, lane, where),), ""
    if name == "WebFetch":
        return (Host(inner),), ""
    if name == "Mcp":
        server, _, tool = inner.partition(":")
        return ((Server(server, tool or STAR),), "") if server else ((), "must be `Mcp(server:tool)`")
    return (), f"`{name}` is no kind that Cursor knows"


def _shell(inner: str, lane: str) -> Test:
    base, colon, arguments = inner.partition(":")
    if base == STAR:
        return Everything(SHELL)
    pieces = tuple(each for each in re.split(r"(\*)", base) if each)
    if not colon or arguments in (STAR, "") or lane != ALLOW:
        return Command(pieces, more=True)
    tail = tuple(each for each in re.split(r"(\*)", arguments) if each)
    head = (*pieces[:-1], pieces[-1] + " ") if pieces[-1] != STAR else (*pieces, " ")
    joined = (*head[:-1], head[-1] + tail[0], *tail[1:]) if tail[0] != STAR else (*head, *tail)
    return Command(joined)


def _path(kind: str, pattern: str, lane: str, where: Where) -> Path:
    if pattern.startswith("/"):
        ours, expression, base = f"/{pattern}", glob_expression(pattern), ""
    elif pattern.startswith("~/"):
        ours, expression, base = pattern, re.escape(where.home) + "/" + glob_expression(pattern[2:]), where.home
    elif lane == ALLOW:
        ours, expression, base = (
            f"./{pattern}",
            re.escape(where.project) + "/" + glob_expression(pattern),
            where.project,
        )
    else:  # whether one without a slash holds at any depth nobody says
        deep = "/" not in pattern
        ours = pattern if deep else f"./{pattern}"
        base = where.project
        expression = re.escape(base) + "/" + ("(?:.*/)?" if deep else "") + ignore_expression(pattern)
    return Path(
        kind,
        expression,
        (ours,),
        denies=(ours,),
        samples=samples(base, pattern.removeprefix("~/")),
        alone=lane == ALLOW,
    )


__all__ = ["NAME", "PATH_PROGRAMS", "TITLE", "WAY", "places", "read"]
