"""Claude Code: `permissions` of its settings files. Deny stands above ask, ask above allow, whatever file they are in.

Patterns of commands are compared with the text of each simple command: `x:*` is a prefix, `*` any text, a last ` *`
that is the only star holds for nothing behind, too; all else is the exact text. Patterns of paths are those of
`.gitignore`: `//x` from the root of the file system, `~/x` from home, `/x` from the folder of the settings file (of a
project's, the project), anything else from the working folder. `Write(…)`, `NotebookEdit(…)`, `Glob(…)` and `Grep(…)`
are never asked about.
"""

from __future__ import annotations

import os
import re

from gateway.install.claude import NAME, TITLE
from gateway.install.jsonc import MISSING, JsonDocument
from gateway.install.translation.common_call import FETCH, MCP, READ, SHELL, WRITE
from gateway.install.translation.deciding import STRICTEST
from gateway.install.translation.globs_of_paths import ignore_expression, samples
from gateway.install.translation.matching import STAR, Command, Everything
from gateway.install.translation.matching_targets import Host, Path, Server
from gateway.install.translation.places import Place, json_line, managed, user_and_project
from gateway.install.translation.rules import LANES, Remark, Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.install.base import Site
    from gateway.install.translation.common_call import Where
    from gateway.install.translation.matching import Test

WAY = STRICTEST
# Of these it asks whenever they name what lies outside of the folders it works in, whatever rule allows them.
PATH_PROGRAMS = frozenset(
    [
        "cd",
        "ls",
        "find",
        "mkdir",
        "touch",
        "rm",
        "rmdir",
        "mv",
        "cp",
        "cat",
        "head",
        "tail",
        "sort",
        "uniq",
        "wc",
        "cut",
        "paste",
        "column",
        "tr",
        "file",
        "stat",
        "diff",
        "awk",
        "strings",
        "hexdump",
        "od",
        "base64",
        "nl",
        "grep",
        "rg",
        "sed",
        "jq",
        "sha256sum",
        "sha1sum",
        "md5sum",
    ]
)
_NEVER_ASKED = {"Write": "Edit", "NotebookEdit": "Edit", "MultiEdit": "Edit", "Glob": "Read", "Grep": "Read"}
_BARE = {
    "Bash": (SHELL,), "Read": (READ,), "Edit": (WRITE,), "Write": (WRITE,), "WebFetch": (FETCH,),
}  # fmt: skip
_SETTINGS = (
    "defaultMode", "additionalDirectories", "disableBypassPermissionsMode", "disableAutoMode",
    "blockReadsOutsideWorkingDirectories", "blockWritesOutsideWorkingDirectories", "denyInsteadOfPrompting",
)  # fmt: skip


def places(site: Site) -> tuple[Place, ...]:
    """The settings that Claude Code takes its permissions from on this machine, managed ones first."""
    from gateway.install import claude

    user, project = user_and_project(claude, site)
    return (
        Place(os.path.join(managed(claude, site), "managed-settings.json"), "managed"),
        Place(os.path.join(user, "settings.json"), "user"),
        Place(os.path.join(project, "settings.json"), "project"),
        Place(os.path.join(project, "settings.local.json"), "project"),
    )


def read(text: str, file: str, level: str, where: Where) -> tuple[list[Rule], list[Remark]]:
    """Raises ConfigError for a text that is no JSON."""
    document = JsonDocument(text, file)
    rules: list[Rule] = []
    remarks: list[Remark] = []
    for lane in LANES:
        entries = document.get(("permissions", lane))
        if entries is MISSING:
            continue
        if not isinstance(entries, list):
            remarks.append(
                Remark(
                    NAME,
                    file,
                    json_line(document, text, lane),
                    text=f"permissions.{lane}",
                    why="is no list",
                    ignored=True,
                )
            )
            continue
        for entry in entries:
            line = json_line(document, text, entry)
            if not isinstance(entry, str):
                remarks.append(Remark(NAME, file, line, text=repr(entry), why="is no text", ignored=True))
                continue
            tests, idle, partly = _tests(entry.strip(), lane, file, level, where)
            rules.append(Rule(NAME, file, line, text=entry, lane=lane, tests=tests, idle=idle, partly=partly))
    for key in _SETTINGS:
        value = document.get(("permissions", key))
        if value is not MISSING:
            remarks.append(
                Remark(
                    NAME,
                    file,
                    json_line(document, text, key),
                    text=f"permissions.{key}: {value}",
                    why="is a setting, no rule",
                )
            )
    return rules, remarks


def _tests(text: str, lane: str, file: str, level: str, where: Where) -> tuple[tuple[Test, ...], str, str]:
    """The tests of a rule; why there are none; what of it cannot be said."""
    name, opening, rest = text.partition("(")
    name, inner = name.strip(), rest[:-1].strip() if rest.endswith(")") else rest
    if opening and not rest.endswith(")"):
        return (), "has no closing parenthesis", ""
    if name.startswith("mcp__"):
        server, _, tool = name[5:].partition("__")
        if "*" in name and lane == "allow" and ("*" in server or not tool):
            return (), "a pattern in an allow rule must follow a literal mcp__server__", ""
        tests: tuple[Test, ...] = (Server(server, tool or STAR),)
        return tests, "", f"its `({inner})`" if opening and inner not in ("", STAR) else ""
    if "*" in name:
        if lane == "allow":
            return (), "a pattern over tools is not taken in an allow rule", ""
        return (
            tuple(Everything(kind) for kind in (SHELL, READ, WRITE, FETCH, MCP)),
            "",
            "the names of tools" if name != STAR else "",
        )
    if not opening or inner in ("", STAR):
        kinds = _BARE.get(name)
        if kinds is None:
            return (), "", f"the tool {name}"
        return tuple(Everything(kind) for kind in kinds), "", ""
    if name == "Bash":
        return _command(inner)
    if name in _NEVER_ASKED:
        return (), f"`{name}(…)` is never asked about: `{_NEVER_ASKED[name]}({inner})` is", ""
    if name in ("Read", "Edit"):
        kind = READ if name == "Read" else WRITE
        return (path(kind, inner, lane, file, level, where),), "", ""
    if name == "WebFetch":
        key, _, host = inner.partition(":")
        if key.strip() == "domain" and host.strip():
            return (Host(host.strip()),), "", ""
        return (), "only `WebFetch(domain:…)` is known", ""
    return (), "", f"the tool {name}"


def _command(inner: str) -> tuple[tuple[Test, ...], str, str]:
    field = re.fullmatch(r"([a-z_]+):(?!\*$)(.+)", inner)
    if field and field[1] in ("run_in_background", "timeout", "description", "dangerouslyDisableSandbox"):
        return (Everything(SHELL),), "", f"the field {field[1]}"
    if inner.endswith(":*"):
        prefix = inner[:-2].rstrip()
        return ((Command((prefix,), more=True),), "", "") if prefix else ((Everything(SHELL),), "", "")
    return (wildcard(inner),), "", ""


def wildcard(text: str) -> Command:
    """A pattern in which `*` is any text, and a last ` *` that is the only one may stand for nothing."""
    pieces = tuple(each for part in re.split(r"(?<!\\)(\*)", text) if (each := part))
    pieces = tuple(piece if piece == STAR else piece.replace("\\*", "*") for piece in pieces)
    if pieces.count(STAR) == 1 and text.endswith(" *"):
        return Command((pieces[0][:-1],), more=True)
    return Command(pieces)


def path(kind: str, pattern: str, lane: str, file: str, level: str, where: Where) -> Path:
    """A path of a rule: which files it names, and the patterns of ours for it."""
    base, rest = where.project, pattern
    ours: tuple[str, ...]
    if pattern.startswith("//"):
        base, rest, ours = "", pattern[2:], (pattern,)
    elif pattern.startswith("~/"):
        base, rest, ours = where.home, pattern[2:], (pattern,)
    elif pattern.startswith("/"):
        rest = pattern[1:]
        base = where.project if level == "project" else os.path.dirname(file)
        ours = (f"./{rest}",) if level == "project" else (f"/{base}/{rest}",)
    else:
        rest = pattern.removeprefix("./")
        ours = (pattern,)
    anchored = pattern.startswith(("/", "~")) or "/" in rest.rstrip("/") or (pattern[:2] == "./" and lane == "allow")
    # `dir/**` with one name in front holds at any depth where it forbids, and for the one folder where it allows.
    if lane != "allow" and not pattern.startswith(("/", "~", "./")) and re.fullmatch(r"[^/*]+/\*\*", rest):
        anchored = False
    if pattern.startswith("./"):
        ours = (f"./{rest}",) if anchored else (rest,)
    expression = re.escape(base) + "/" + ("" if anchored else "(?:.*/)?") + ignore_expression(rest)
    return Path(kind, expression, ours, denies=ours, samples=samples(base, rest))


__all__ = ["MCP", "NAME", "PATH_PROGRAMS", "TITLE", "WAY", "places", "read"]
