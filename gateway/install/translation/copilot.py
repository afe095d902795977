"""GitHub Copilot CLI: its flags (`--allow-tool`, `--deny-tool`, `--allow-url`, `--deny-url`), as they stand in a script
or an alias, the addresses of its settings, and what a person approved for a folder. Deny stands above allow.

`shell(x)` is the command x with whatever follows, of git and gh a first subcommand, too; `shell(x:*)` is every command
that begins with x; `write(path)` files, a relative path by its last components; `server(tool)`; `url(host)`, which is
https where no scheme is said. No matcher of Copilot's can be called: this is what `copilot help permissions` says.
"""

from __future__ import annotations

import os
import re
import shlex

from gateway.core.errors import ConfigError, Problem
from gateway.install.copilot import NAME, TITLE
from gateway.install.jsonc import MISSING, JsonDocument
from gateway.install.translation.claude import PATH_PROGRAMS
from gateway.install.translation.common_call import FETCH, SHELL, WRITE
from gateway.install.translation.deciding import STRICTEST
from gateway.install.translation.globs_of_paths import ignore_expression, samples
from gateway.install.translation.matching import Command, Everything
from gateway.install.translation.matching_targets import Host, Path, Server, everything
from gateway.install.translation.places import Place, json_line
from gateway.install.translation.rules import ALLOW, DENY, Remark, Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gateway.install.base import Site
    from gateway.install.translation.common_call import Where
    from gateway.install.translation.matching import Test

WAY = STRICTEST
_FLAGS = {"--allow-tool": ALLOW, "--deny-tool": DENY, "--allow-url": ALLOW, "--deny-url": DENY}
_ALL = {
    "--allow-all-tools": (SHELL, WRITE), "--allow-all": (SHELL, WRITE, FETCH), "--yolo": (SHELL, WRITE, FETCH),
    "--allow-all-urls": (FETCH,),
}  # fmt: skip
_BY_SUBCOMMAND = ("git", "gh")


def places(site: Site) -> tuple[Place, ...]:
    """Where Copilot takes its permissions from on this machine."""
    from gateway.install import copilot
    from gateway.install.base import USER

    folder = copilot.folder(site.replace(level=USER))
    return (
        Place(os.path.join(folder, "settings.json"), "user"),
        Place(os.path.join(folder, "permissions-config.json"), "user"),
    )


def read(text: str, file: str, _level: str, where: Where) -> tuple[list[Rule], list[Remark]]:
    """A file that does not end in `.json` is read as command lines. Raises ConfigError for what cannot be read."""
    if not file.endswith(".json"):
        return _flags(text, file, where)
    document = JsonDocument(text, file)
    rules: list[Rule] = []
    remarks: list[Remark] = []
    for key, lane in (("allowedUrls", ALLOW), ("deniedUrls", DENY)):
        found = document.get((key,))
        rules += [
            Rule(NAME, file, json_line(document, text, each), text=f"{key} {each}", lane=lane, tests=_url(each, lane))
            for each in (found if isinstance(found, list) else ())
            if isinstance(each, str)
        ]
    approved = document.get(("locations",))
    for location, said in approved.items() if isinstance(approved, dict) else ():
        line = json_line(document, text, location)
        if os.path.normpath(location) != (where.here or where.project):
            remarks.append(Remark(NAME, file, line, text=location, why="is another folder"))
            continue
        for each in said.get("tool_approvals", ()) if isinstance(said, dict) else ():
            tests = _approved(each, where) if isinstance(each, dict) else ()
            rules.append(
                Rule(
                    NAME,
                    file,
                    line,
                    text=f"approved {each}",
                    lane=ALLOW,
                    tests=tests,
                    partly="" if tests else "what was approved",
                )
            )
    return rules, remarks


def _approved(entry: dict[str, object], where: Where) -> tuple[Test, ...]:
    kind = entry.get("kind")
    if kind == "commands":
        named = entry.get("commandIdentifiers")
        return tuple(_shell(str(each), ALLOW) for each in named) if isinstance(named, list) else ()
    if kind == "write":
        return (everything(WRITE, ALLOW, where),)
    if kind == "mcp" and isinstance(entry.get("serverName"), str):
        return (Server(str(entry["serverName"]), str(entry.get("toolName") or "*")),)
    return ()


def _flags(text: str, file: str, where: Where) -> tuple[list[Rule], list[Remark]]:
    rules: list[Rule] = []
    remarks: list[Remark] = []
    for number, line in enumerate(text.replace("\\\n", "  ").splitlines(), 1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise ConfigError(Problem("must be command lines", file=file, line=number)) from error
        at = 0
        while at < len(words):
            flag, equals, value = words[at].partition("=")
            at += 1
            if flag in _ALL:
                kinds = tuple(everything(kind, ALLOW, where) for kind in _ALL[flag])
                rules.append(Rule(NAME, file, number, text=flag, lane=ALLOW, tests=kinds))
            if flag not in _FLAGS:
                continue
            if not equals:
                value, at = (words[at], at + 1) if at < len(words) else ("", at)
            lane = _FLAGS[flag]
            for each in re.findall(r"[^,(]+(?:\([^)]*\))?", value):
                tests, idle = (_url(each, lane), "") if flag.endswith("url") else _tests(each.strip(), lane, where)
                rules.append(Rule(NAME, file, number, text=f"{flag} {each.strip()}", lane=lane, tests=tests, idle=idle))
    return rules, remarks


def _tests(text: str, lane: str, where: Where) -> tuple[tuple[Test, ...], str]:
    found = re.fullmatch(r"([^()]+)(?:\((.*)\))?", text, re.DOTALL)
    if not found:
        return (), "must be a kind, or one with something in parentheses"
    name, inner = found[1].strip(), (found[2] or "").strip()
    if name == "shell":
        return (_shell(inner, lane) if inner else Everything(SHELL),), ""
    if name == "write":
        return (_path(inner, where) if inner else everything(WRITE, lane, where),), ""
    if name == "url":
        return (_url(inner, lane) if inner else (Everything(FETCH),)), ""
    return (Server(name, inner or "*"),), ""


def _shell(inner: str, lane: str) -> Test:
    if inner.endswith(":*"):
        return Command((inner[:-2].strip(),), more=True)
    words = inner.split()
    if lane == ALLOW and len(words) > (2 if words[0] in _BY_SUBCOMMAND else 1):
        return Command((inner,))
    return Command((inner,), more=True)


def _path(inner: str, where: Where) -> Path:
    if inner.startswith("/"):
        return Path(
            WRITE,
            ignore_expression(inner),
            (f"/{inner}",),
            denies=(f"/{inner}",),
            samples=samples("", inner),
            alone=True,
        )
    expression = "(?:.*)/" + ignore_expression(inner)
    return Path(
        WRITE,
        expression,
        (f"**/{inner}",),
        denies=(f"//**/{inner}",),
        samples=samples(where.project, inner),
        alone=True,
    )


def _url(text: str, lane: str) -> tuple[Test, ...]:
    scheme, _, rest = text.rpartition("://")
    host, _, path = rest.partition("/")
    if path.strip("*/") or ":" in host:
        return (Host(host.partition(":")[0], scheme or "https"),) if lane == DENY else ()
    return (Host(host, (scheme or "https") if lane == ALLOW else scheme),)


__all__ = ["MISSING", "NAME", "PATH_PROGRAMS", "TITLE", "WAY", "places", "read"]
