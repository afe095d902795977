"""opencode: `permission` of `opencode.json`. The last pattern that matches decides, so the order of keys is meaning.

In a pattern `*` is any text, `?` one character; a last ` *` holds for nothing behind, too. Commands are compared one by
one, paths as they stand from the project's root. What no key speaks of, opencode allows.
"""

from __future__ import annotations

import re

from gateway.install.jsonc import MISSING, JsonDocument
from gateway.install.opencode import NAME, TITLE
from gateway.install.translation.claude import PATH_PROGRAMS
from gateway.install.translation.common_call import FETCH, MCP, READ, SHELL, WRITE
from gateway.install.translation.deciding import FIRST
from gateway.install.translation.globs_of_paths import samples, spanning
from gateway.install.translation.matching import STAR, Command, Everything
from gateway.install.translation.matching_expressions import Expression
from gateway.install.translation.matching_targets import Path, Server, everything
from gateway.install.translation.places import Place, json_line
from gateway.install.translation.rules import ALLOW, LANES, Remark, Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.install.base import Site
    from gateway.install.translation.common_call import Where
    from gateway.install.translation.matching import Test

WAY = FIRST
_KINDS = {"bash": SHELL, "read": READ, "edit": WRITE, "webfetch": FETCH}
_OWN = frozenset(
    [
        "glob",
        "grep",
        "list",
        "task",
        "external_directory",
        "lsp",
        "skill",
        "todowrite",
        "question",
        "websearch",
        "doom_loop",
        "codesearch",
        "plan_enter",
        "plan_exit",
    ]
)


def places(site: Site) -> tuple[Place, ...]:
    """Where OpenCode takes its permissions from on this machine."""
    from gateway.install import opencode
    from gateway.install.base import MANAGED, PROJECT, USER

    made = []
    for level, name in ((MANAGED, "managed"), (USER, "user"), (PROJECT, "project")):
        path = opencode.config(site.replace(level=level))
        made += [Place(path, name), Place(path + "c", name)]
    return tuple(made)


def read(text: str, file: str, _level: str, where: Where) -> tuple[list[Rule], list[Remark]]:
    """The strongest first, which is the last that is written. Raises ConfigError for a text that is no JSON."""
    document = JsonDocument(text, file)
    given = document.get(("permission",))
    rules: list[Rule] = []
    remarks: list[Remark] = []
    entries = {STAR: given} if isinstance(given, str) else given
    if given is MISSING or not isinstance(entries, dict):
        return rules, remarks
    for name, value in entries.items():
        line = json_line(document, text, name)
        for pattern, action in ({STAR: value} if not isinstance(value, dict) else value).items():
            at = json_line(document, text, pattern) if isinstance(value, dict) and pattern != STAR else line
            shown = f"permission.{name}{f' {pattern!r}' if isinstance(value, dict) else ''}: {action}"
            if action not in LANES:
                remarks.append(Remark(NAME, file, at, text=shown, why="must be ask, allow or deny", ignored=True))
                continue
            tests, what = _tests(name, _home(pattern, where), where, action)
            if not tests and not what:
                remarks.append(Remark(NAME, file, at, text=shown, why="is about what our rules have no call for"))
                continue
            rules.append(Rule(NAME, file, at, text=shown, lane=action, tests=tests, partly=what))
    return rules[::-1], remarks


def _home(pattern: str, where: Where) -> str:
    for mark in ("~", "$HOME"):
        if pattern == mark or pattern.startswith(mark + "/"):
            return where.home + pattern[len(mark) :]
    return pattern


def _tests(name: str, pattern: str, where: Where, lane: str) -> tuple[tuple[Test, ...], str]:
    if name == STAR:
        kinds = tuple(everything(kind, lane, where) for kind in (SHELL, READ, WRITE, FETCH, MCP))
        return kinds, "" if pattern == STAR else f"the pattern {pattern}"
    kind = _KINDS.get(name)
    if kind is None:
        if name in _OWN:
            return (), ""
        if "*" in name:
            return (Server(STAR, STAR),), f"the names {name}"
        server, _, tool = name.partition("_")
        return (Server(server, tool or STAR),), ""
    if pattern == STAR:
        return (everything(kind, lane, where),), ""
    if kind == SHELL:
        return (command(pattern),), ""
    if kind == FETCH:
        return (Everything(FETCH),), f"the pattern {pattern}"
    return (_path(kind, pattern, where, lane),), ""


def command(pattern: str) -> Test:
    """A pattern of commands."""
    if "?" in pattern:
        text = "".join({"*": "[\\s\\S]*", "?": "[\\s\\S]"}.get(each, re.escape(each)) for each in pattern)
        return Expression("^" + text.replace("\\ ", " ") + "$")
    more = pattern.endswith(" *")
    pieces = tuple(each for each in re.split(r"(\*)", pattern[:-2] if more else pattern) if each)
    if more and (not pieces or STAR in pieces):
        return Command((*pieces, " ", STAR)) if not pieces else Command(pieces, more=True)
    return Command(pieces, more=more)


def _path(kind: str, pattern: str, where: Where, lane: str) -> Path:
    expression = "".join({"*": ".*", "?": "."}.get(each, re.escape(each)) for each in pattern)
    if pattern.startswith("/"):  # it is compared with the way from the project's root, which never begins so
        ours = "~" + pattern[len(where.home) :] if pattern.startswith(where.home + "/") else "/" + pattern
        return Path(kind, expression, (), denies=(ours,) if "*" not in pattern else (), samples=samples("", pattern))
    ours = spanning(pattern)
    mine = (f"./{ours}",) if ours else ()
    inside = re.escape(where.project) + "/" + expression
    if lane == ALLOW or not pattern.startswith("*"):  # beyond the project opencode asks, whatever is allowed
        return Path(kind, inside, mine, denies=mine, samples=samples(where.project, pattern), alone=True)
    anywhere = (f"//**/{ours.removeprefix('*/').removeprefix('**/')}",) if ours else ()
    found = samples(where.project, pattern)
    return Path(
        kind, f"{inside}|{expression}", (), denies=anywhere, samples=(*found, *samples("", pattern)), alone=True
    )


__all__ = ["NAME", "PATH_PROGRAMS", "TITLE", "WAY", "command", "places", "read"]
