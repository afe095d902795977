"""Codex CLI: `rules/*.rules` (Starlark), and `requirements.toml`. The strictest rule that matches counts.

A rule is the first words of a command, each one word or one of several, after quotes are taken off. Only texts of plain
words joined by `&&`, `||`, `;` and `|` are taken apart. Allow means: outside of Codex's own sandbox. One file that
cannot be read makes Codex drop all rules of the user and the project.
"""

from __future__ import annotations

import ast
import os

from gateway.core.errors import ConfigError, Problem
from gateway.install.codex import NAME, TITLE
from gateway.install.translation.common_call import READ
from gateway.install.translation.deciding import STRICTEST
from gateway.install.translation.globs_of_paths import ignore_expression, samples
from gateway.install.translation.matching import Words
from gateway.install.translation.matching_targets import Host, Path
from gateway.install.translation.places import Place, managed, user_and_project
from gateway.install.translation.rules import ALLOW, ASK, DENY, Remark, Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gateway.install.base import Site
    from gateway.install.translation.common_call import Where

WAY = STRICTEST
PATH_PROGRAMS: frozenset[str] = frozenset()
_LANES = {"allow": ALLOW, "prompt": ASK, "forbidden": DENY}
_REMEDY = "write it as literal calls of `prefix_rule(pattern=[…], decision=…)`"


def places(site: Site) -> tuple[Place, ...]:
    """Where Codex takes its requirements and its rules from on this machine, managed ones first."""
    from gateway.install import codex

    user, project = user_and_project(codex, site)
    return (
        Place(os.path.join(managed(codex, site), "requirements.toml"), "managed"),
        Place(os.path.join(user, "rules"), "user", ".rules"),
        Place(os.path.join(project, "rules"), "project", ".rules"),
    )


def read(text: str, file: str, _level: str, where: Where) -> tuple[list[Rule], list[Remark]]:
    """Raises ConfigError for a file whose rules cannot be told."""
    if file.endswith(".toml"):
        return _requirements(text, file, where)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 0) or 1
        raise ConfigError(Problem("rules must be Starlark", file=file, line=line, remedy=_REMEDY)) from error
    rules: list[Rule] = []
    remarks: list[Remark] = []
    for statement in tree.body:
        if not isinstance(statement, ast.Expr) or isinstance(statement.value, ast.Constant):
            if isinstance(statement, ast.Expr):
                continue
            raise ConfigError(Problem("rules must be calls alone", file=file, line=statement.lineno, remedy=_REMEDY))
        shown = ast.get_source_segment(text, statement) or ""
        name, given = _call(statement.value, file)
        shown = " ".join(shown.split())
        if name == "prefix_rule":
            rules.append(_prefix(given, file, statement.lineno, shown))
        elif name == "network_rule":
            rules.append(_network(given, file, statement.lineno, shown))
        else:
            remarks.append(
                Remark(NAME, file, statement.lineno, text=shown, why="says where programs lie, and decides nothing")
            )
    return rules, remarks


def _call(node: ast.expr, file: str) -> tuple[str, dict[str, Any]]:
    names = {
        "prefix_rule": ("pattern", "decision"),
        "network_rule": ("host", "protocol", "decision"),
        "host_executable": ("name", "paths"),
    }
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
        try:
            given = dict(zip(names[node.func.id], map(ast.literal_eval, node.args), strict=False))
            given |= {each.arg or "": ast.literal_eval(each.value) for each in node.keywords}
        except (ValueError, TypeError, RecursionError) as error:
            problem = Problem("arguments of rules must be literal", file=file, line=node.lineno, remedy=_REMEDY)
            raise ConfigError(problem) from error
        return node.func.id, given
    raise ConfigError(Problem("a rule must be a known call", file=file, line=node.lineno, remedy=_REMEDY))


def _lane(given: dict[str, Any], file: str, line: int) -> str:
    decision = given.get("decision", "allow")
    if decision not in _LANES:
        raise ConfigError(
            Problem(f"decision must be allow, prompt or forbidden (got `{decision}`)", file=file, line=line)
        )
    return _LANES[decision]


def _prefix(given: dict[str, Any], file: str, line: int, shown: str) -> Rule:
    pattern = given.get("pattern")
    words = tuple((each,) if isinstance(each, str) else each for each in pattern) if isinstance(pattern, list) else ()
    if not words or not all(each and all(isinstance(word, str) for word in each) for each in words):
        raise ConfigError(Problem("pattern must be a list of words, or of lists of words", file=file, line=line))
    test = Words(tuple(tuple(each) for each in words))
    return Rule(
        NAME,
        file,
        line,
        text=shown,
        lane=_lane(given, file, line),
        tests=(test,),
        because=str(given.get("justification") or ""),
    )


def _network(given: dict[str, Any], file: str, line: int, shown: str) -> Rule:
    host, scheme = given.get("host"), str(given.get("protocol", ""))
    if not isinstance(host, str) or not host:
        raise ConfigError(Problem("host must be a text", file=file, line=line))
    decision = {"deny": "forbidden"}.get(str(given.get("decision")), given.get("decision", "allow"))
    lane = _lane({"decision": decision}, file, line)
    return Rule(
        NAME,
        file,
        line,
        text=shown,
        lane=lane,
        tests=(Host(host, "https" if scheme == "https" and lane == ALLOW else ""),),
    )


def _requirements(text: str, file: str, where: Where) -> tuple[list[Rule], list[Remark]]:
    import tomllib

    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(Problem(f"must be TOML: {error}", file=file)) from error
    rules: list[Rule] = []
    for each in (found.get("rules") or {}).get("prefix_rules", ()):
        try:
            words = tuple(
                tuple(entry["any_of"]) if "any_of" in entry else (entry["token"],) for entry in each["pattern"]
            )
            lane = _LANES[each["decision"]]
        except (KeyError, TypeError) as error:
            raise ConfigError(Problem("prefix_rules must have a pattern and a decision", file=file)) from error
        shown = " ".join("|".join(choices) for choices in words)
        rules.append(
            Rule(
                NAME,
                file,
                _line(text, words[0][0]),
                text=f"{each['decision']} {shown}",
                lane=lane,
                tests=(Words(words),),
            )
        )
    filesystem = (found.get("permissions") or {}).get("filesystem") or {}
    rules += [
        Rule(NAME, file, _line(text, pattern), text=f"deny_read {pattern}", lane=DENY, tests=(_denied(pattern, where),))
        for pattern in filesystem.get("deny_read", ())
    ]
    known = ("rules", "permissions", "hooks", "features")
    return rules, [
        Remark(NAME, file, _line(text, key), text=key, why="is a setting, no rule") for key in found if key not in known
    ]


def _denied(pattern: str, where: Where) -> Path:
    if pattern.startswith("~/"):
        base, rest, ours = where.home, pattern[2:], pattern
    elif pattern.startswith("/"):
        base, rest, ours = "", pattern[1:], "/" + pattern
    else:
        base, rest, ours = "", "**/" + pattern.removeprefix("**/"), "//**/" + pattern.removeprefix("**/")
    return Path(
        READ, base + "/" + ignore_expression(rest), (), denies=(ours,), samples=samples(base or where.project, rest)
    )


def _line(text: str, word: str) -> int:
    at = text.find(word)
    return text.count("\n", 0, at) + 1 if at >= 0 else 1


__all__ = ["NAME", "PATH_PROGRAMS", "TITLE", "WAY", "places", "read"]
